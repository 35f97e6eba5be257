package cli

import (
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/report/chart"
)

// planCmd computes how many tests are enough.
type planCmd struct {
	Criterion         string   `arg:"" enum:"split,separate,isolate,sequence,partition-sequence" help:"split (k nodes apart), separate (k nodes from l others), isolate (a minority), sequence (k operations in a row), partition-sequence (partitions one after the other)."`
	Nodes             int      `required:"" placeholder:"N" help:"Number of nodes."`
	K                 int      `placeholder:"K" help:"Nodes to split (2), nodes on one side (1), or length of the sequence (1)."`
	L                 int      `placeholder:"L" help:"Nodes on the other side when separating (1)."`
	Balanced          bool     `help:"Partitions whose sides differ by at most one node."`
	Bridge            int      `placeholder:"B" help:"Nodes that see both sides."`
	Operations        int      `placeholder:"N" help:"Different operations, for sequences; 0 is three for each node."`
	Targets           int      `placeholder:"N" help:"Sequences of which one is to occur; 0 is 1."`
	PartitionSequence string   `placeholder:"SEQUENCE" help:"A sequence of partitions, e.g. '2|2 then 1|3' or 'leader(minority)|*: write@2; read@1'."`
	Role              []string `sep:"none" placeholder:"NAME=NODES" help:"The nodes that play a role of the partition sequence, e.g. mesos=2+3; otherwise one node of its own."`
	Op                []string `sep:"none" placeholder:"NAME" help:"Operations that are drawn in a partition sequence; otherwise those that it names."`
	During            int      `placeholder:"N" help:"Operations drawn under each partition; 0 is as many as it wants."`
	Confidence        float64  `placeholder:"C" xor:"question" help:"Wanted probability, in (0,1): how many tests?"`
	Tests             int      `placeholder:"T" xor:"question" help:"Number of tests: what is reached?"`
	SVG               string   `name:"svg" placeholder:"FILE" help:"Draw the probability over the number of tests."`
	JSON              bool     `name:"json" help:"Print one JSON object."`
}

// Help returns the longer help.
func (planCmd) Help() string {
	return `A goal is covered by a test whose partition, or sequence of operations, has what the criterion asks for.
Theorems and corollaries are those of "Why Is Random Testing Effective for Partition Tolerance Bugs?" (POPL 2018).

Examples:
  lockstep plan split --nodes 5 --k 2 --confidence 0.95
  lockstep plan separate --nodes 5 --k 2 --l 2 --tests 40
  lockstep plan isolate --nodes 5 --balanced --confidence 0.86 --json
  lockstep plan sequence --nodes 5 --k 1 --confidence 0.8 --svg sequence.svg
  lockstep plan partition-sequence --nodes 4 --partition-sequence 'leader+zookeeper(2)|2 then leader(1)|*' --confidence 0.8`
}

// Run prints the answer.
func (p *planCmd) Run(e *Env) error {
	if p.Confidence == 0 && p.Tests == 0 {
		return errors.New("plan needs --confidence (how many tests?) or --tests (what is reached?)")
	}
	params := cover.Params{
		Criterion:  p.Criterion,
		Nodes:      p.Nodes,
		K:          p.K,
		L:          p.L,
		Balanced:   p.Balanced,
		Bridge:     p.Bridge,
		Operations: p.Operations,
		Targets:    p.Targets,
		Confidence: p.Confidence,
		Tests:      p.Tests,
	}
	if err := p.parse(&params); err != nil {
		return err
	}
	answer, err := cover.Plan(params)
	if err != nil {
		return err
	}
	if p.SVG != "" {
		picture, err := curveChart(params, answer)
		if err != nil {
			return err
		}
		if err := e.Chart(p.SVG, picture); err != nil {
			return err
		}
	}
	if p.JSON {
		return e.JSON(answer)
	}
	_, err = fmt.Fprint(e.Out, answer)
	return err
}

// parse reads the partition sequence and its roles into the question.
func (p *planCmd) parse(params *cover.Params) (err error) {
	if (p.PartitionSequence == "") == (p.Criterion == "partition-sequence") {
		return errors.New(
			"--partition-sequence requires plan partition-sequence, and plan partition-sequence needs it")
	}
	if p.PartitionSequence != "" {
		if params.PartitionSequence, err = cover.ParsePartitionSequence(p.PartitionSequence); err != nil {
			return err
		}
	}
	for _, text := range p.Role {
		role, err := cover.ParseRole(text)
		if err != nil {
			return err
		}
		params.Roles = append(params.Roles, role)
	}
	params.Ops, params.During = p.Op, p.During
	return nil
}

// curvePoints is the largest number of points of a curve.
const curvePoints = 300

// curveChart draws the probabilities of an answer over the number of tests. The curve extends half as far again as the
// answer.
func curveChart(p cover.Params, a cover.Answer) (chart.Chart, error) {
	end := max(a.Tests, a.TestsBound, a.TestsTrue)
	end += end/2 + 1
	stride := (end + curvePoints - 1) / curvePoints
	points, err := cover.CurveAt(p, func(yield func(int) bool) {
		for n := 1; n <= end && yield(n); n += stride {
		}
	})
	if err != nil {
		return chart.Chart{}, err
	}
	unit := "random tests"
	if a.Criterion == "sequence" {
		unit = "random operations"
	}
	picture := chart.Chart{Title: fmt.Sprintf("%s: %v goals, %s", a.Criterion, a.Goals, a.Space), X: unit,
		Y: "probability that every goal is covered", Top: 1}
	for _, l := range []struct {
		name  string
		value func(cover.CurvePoint) float64
	}{
		{"exact", func(p cover.CurvePoint) float64 { return p.True }},
		{"at least, by the union bound", func(p cover.CurvePoint) float64 { return p.Probability }},
		{"at least, by the paper's rule", func(p cover.CurvePoint) float64 { return p.Bound }},
	} {
		line := chart.Line{Name: l.name}
		known := false
		for _, point := range points {
			v := l.value(point)
			known = known || v > 0
			line.Points = append(line.Points, chart.Point{X: float64(point.Tests), Y: v})
		}
		if known { // a probability that cannot be computed stays 0
			picture.Lines = append(picture.Lines, line)
		}
	}
	if a.Confidence > 0 {
		picture.Lines = append(picture.Lines, chart.Line{Name: "wanted", Dashed: true,
			Points: []chart.Point{{X: 0, Y: a.Confidence}, {X: float64(end), Y: a.Confidence}}})
	}
	return picture, nil
}
