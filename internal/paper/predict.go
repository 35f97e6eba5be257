package main

import (
	"context"
	"fmt"
	"io"
	"math/big"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/compare"
	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/internal/pool"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/report/chart"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/register"
)

type predictCmd struct {
	Campaigns int    `default:"200" placeholder:"N" help:"Campaigns with each system (${default})."`
	Seed      uint64 `default:"1" placeholder:"X" help:"Seed of the first campaign (${default})."`
	Workers   int    `placeholder:"W" help:"Campaigns at once; 0 is one for each processor. Results do not depend on it."`
	SVG       string `name:"svg" placeholder:"FILE" help:"Draw the shares of campaigns with a finding."`
	JSON      bool   `name:"json" help:"Print one JSON object."`
}

// Help returns the longer help.
func (predictCmd) Help() string {
	return `Five nodes are cut into two and three, then two operations follow, each drawn from read,
write 0 and write 1 at any node: a test of Examples 3.3 and 4.21 of "Why Is Random Testing
Effective for Partition Tolerance Bugs?". Every campaign makes such tests up to the first
history that is not linearizable, on the register and on etcd's raft, with reads answered
by the node asked (Fig. 1 left) and by the leader that it knows (Fig. 1 right).

Example:
  lockstep paper predict --svg predict.svg`
}

// Limits of a prediction.
const (
	predictTests      = 5000 // the maximum for a campaign; one in e^50 campaigns needs more
	predictCampaigns  = 100_000
	predictConfidence = 0.8 // the confidence of the paper's examples
)

// predictStrategy makes one test a run.
var predictStrategy = strategy.Partition{Criterion: strategy.MinorityIsolation, Balanced: true, Stages: 1,
	During: 2, Steps: 60}

// prediction is the outcome of the command.
type prediction struct {
	Strategy  string    `json:"strategy"`
	Nodes     int       `json:"nodes"`
	Seed      uint64    `json:"seed"`
	Campaigns int       `json:"campaigns"`
	Rows      []predRow `json:"systems"`
	// Interrupted reports that some systems are missing.
	Interrupted bool `json:"interrupted"`
}

// predRow compares one system with its prediction.
type predRow struct {
	System string `json:"system"`
	Reads  string `json:"reads"`
	Figure string `json:"figure"`
	// The paper's predictions: the probability of one test, and two numbers of tests. The first covers all goals with
	// probability 0.8. The second hits the one goal that counts in a run.
	P         float64 `json:"p_predicted"`
	PFraction string  `json:"p_predicted_fraction"`
	Goals     int     `json:"goals"`
	Paper     int     `json:"tests_paper"`
	OneGoal   int     `json:"tests_one_goal"`
	// The measurements.
	Found      int              `json:"found"` // campaigns with a finding
	Tests      int              `json:"tests"` // of all campaigns
	PMeasured  float64          `json:"p_measured"`
	PInterval  compare.Interval `json:"p_interval"` // exact, confidence 0.95
	Agrees     bool             `json:"agrees"`     // the prediction is in the interval
	Mean       float64          `json:"mean_tests"`
	Median     int              `json:"median_tests"`
	MedianLow  int              `json:"median_tests_low,omitempty"`
	MedianHigh int              `json:"median_tests_high,omitempty"`
	// Quantile is the number of tests after which a share of 0.8 of the campaigns had a finding; 0: never.
	Quantile  int     `json:"tests_measured"`
	WithPaper float64 `json:"share_within_paper"`
	First     []int   `json:"tests_to_first"` // of each campaign; 0: no finding

	system lockstep.System
	spec   lockstep.Spec
}

// Run makes the table.
func (c *predictCmd) Run(e *cli.Env) error {
	if c.Campaigns < 1 || c.Campaigns > predictCampaigns {
		return fmt.Errorf("--campaigns is %d, allowed are 1..%d", c.Campaigns, predictCampaigns)
	}
	if c.Workers < 0 {
		return fmt.Errorf("--workers is negative, allowed is 0 and more")
	}
	rows, err := predRows()
	if err != nil {
		return err
	}
	show := e.Progress(0, 0)
	defer func() { _ = show.Done() }()
	for i := range rows {
		err := c.measure(e.Ctx, i, &rows[i], show)
		if e.Interrupted() { // the table has the systems measured until then
			rows = rows[:i]
			break
		}
		if err != nil {
			return err
		}
	}
	_ = show.Done()
	p := prediction{
		Strategy:    predictStrategy.String(),
		Nodes:       5,
		Seed:        c.Seed,
		Campaigns:   c.Campaigns,
		Rows:        rows,
		Interrupted: e.Interrupted(),
	}
	if c.SVG != "" && len(rows) > 0 {
		if err := e.Chart(c.SVG, p.chart()); err != nil {
			return err
		}
	}
	if c.JSON {
		return e.JSON(p)
	}
	return p.write(e.Out)
}

// predRows lists the systems with the paper's predictions.
func predRows() ([]predRow, error) {
	left := predRow{Figure: "1 left"}
	// Example 3.3: amalgamated operations, 10 partitions by 15 by 15 operations. The hits are 10 by 3 writes of the
	// other value in the larger side by 2 reads in the smaller side.
	sequences := cover.Sequences{Operations: 10 * 15 * 15, Length: 1, Targets: 10 * 2 * 3}
	chance, err := sequences.Probability()
	if err != nil {
		return nil, err
	}
	rules, err := sequences.Rules()
	if err != nil {
		return nil, err
	}
	if err := left.predict(chance, rules); err != nil {
		return nil, err
	}
	// Example 4.21: the leader in the minority, and the same operations.
	right := predRow{Figure: "1 right"}
	isolate, err := cover.ProbabilityOf(cover.Isolate{}, cover.Balanced(5, 2))
	if err != nil {
		return nil, err
	}
	operations, err := cover.Sequences{Operations: 15 * 15, Length: 1, Targets: 2 * 3}.Probability()
	if err != nil {
		return nil, err
	}
	if chance, err = cover.Combine(isolate, operations); err != nil {
		return nil, err
	}
	if rules, err = chance.Rules(); err != nil {
		return nil, err
	}
	if err := right.predict(chance, rules); err != nil {
		return nil, err
	}
	raft := etcdraft.Cluster{Nodes: 5, Clients: 3, Keys: 1, Mix: kv.Binary}
	row := func(r predRow, name, reads string, s lockstep.System, spec lockstep.Spec) predRow {
		r.System, r.Reads, r.system, r.spec = name, reads, s, spec
		return r
	}
	local, leader := raft, raft
	local.Reads, leader.Reads = etcdraft.Local, etcdraft.Leader
	return []predRow{
		row(left, "register", "local", register.Cluster{Nodes: 5, Reads: register.Local}, register.Linearizability),
		row(left, "etcdraft", "local", local, etcdraft.Linearizability),
		row(right, "register", "leader", register.Cluster{Nodes: 5, Reads: register.Leader}, register.Linearizability),
		row(right, "etcdraft", "leader", leader, etcdraft.Linearizability),
	}, nil
}

// predict sets the predictions for a probability and the paper's rules about it.
func (p *predRow) predict(chance cover.Probability, rules []cover.Rule) error {
	p.P, _ = chance.P.Float64()
	p.PFraction, p.Goals = chance.P.RatString(), int(chance.Goals.Int64())
	for _, rule := range rules {
		tests, err := rule.Enough(predictConfidence)
		if err != nil {
			return err
		}
		if p.Paper == 0 || tests < p.Paper {
			p.Paper = tests
		}
	}
	var err error
	p.OneGoal, err = cover.Union{P: chance.P, Goals: big.NewInt(1)}.Enough(predictConfidence)
	return err
}

// measure runs the campaigns of one system. No two systems share a seed, so that their results are independent.
func (c *predictCmd) measure(ctx context.Context, row int, r *predRow, show *campaign.Progress) error {
	type outcome struct {
		first int // tests up to and including the first finding
		tests int
		err   error
	}
	workers := c.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var failed error
	pool.Ordered(workers, c.Campaigns, func(_, i int) outcome {
		result, err := lockstep.Explore(ctx, lockstep.Plan{System: r.system, Strategy: predictStrategy, Spec: r.spec,
			Seed: lockstep.RunSeed(c.Seed, row*predictCampaigns+i), Runs: predictTests, Workers: 1})
		if err == nil && result.Interrupted {
			err = fmt.Errorf("interrupted: %w", ctx.Err())
		}
		if err != nil {
			return outcome{err: err}
		}
		o := outcome{tests: result.Runs}
		if f := result.First(); f != nil {
			o.first = f.Run + 1
		}
		return o
	}, func(i int, o outcome) bool {
		failed = o.err
		r.First = append(r.First, o.first)
		r.Tests += o.tests
		if o.first > 0 {
			r.Found++
		}
		_ = show.Show(func(time.Duration) string {
			return fmt.Sprintf("%s with reads=%s: %d of %d campaigns", r.System, r.Reads, i+1, c.Campaigns)
		})
		return failed == nil
	})
	if failed == nil {
		r.sumUp()
	}
	return failed
}

// sumUp computes the results from the tests of the campaigns.
func (p *predRow) sumUp() {
	p.PMeasured = float64(p.Found) / float64(p.Tests)
	if p.Found > 0 {
		p.Mean = float64(p.Tests) / float64(p.Found)
		// The last test is a hit by definition. The tests before it have one hit less, and all tests have all hits.
		// This is the interval of the negative binomial.
		p.PInterval = compare.Interval{Low: compare.Share(p.Found, p.Tests, 0.95).Low, High: 1}
		if p.Tests > p.Found {
			p.PInterval.High = compare.Share(p.Found-1, p.Tests-1, 0.95).High
		}
	}
	p.Agrees = p.PInterval.Low <= p.P && p.P <= p.PInterval.High
	p.Median, p.MedianLow, p.MedianHigh = compare.Median(p.First, 0.95)
	sorted := p.sorted()
	if need := (4*len(p.First) + 4) / 5; len(sorted) >= need {
		p.Quantile = sorted[need-1]
	}
	within, _ := slices.BinarySearch(sorted, p.Paper+1)
	p.WithPaper = float64(within) / float64(len(p.First))
}

// sorted lists the tests to the first finding in ascending order.
func (p *predRow) sorted() []int {
	var list []int
	for _, n := range p.First {
		if n > 0 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

// write writes the table.
func (p prediction) write(w io.Writer) error {
	fmt.Fprintf(w, "%d campaigns with each system, seed %d, each up to its first history that is not linearizable\n",
		p.Campaigns, p.Seed)
	fmt.Fprintf(w, "one test is one run of %s on %d nodes\n\n", p.Strategy, p.Nodes)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(
		t,
		"system\treads\tFig.\tpredicted p\tmeasured p (95 %)\tpredicted mean\tmean\tmedian (95 %)\tpredicted for 80 "+
			"%\t80 % found after\tpaper's number\tfound within it",
	)
	for _, r := range p.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s = %.4f\t%.4f (%.4f to %.4f)\t%.1f\t%.1f\t%s (%s to %s)\t%d\t%s\t%d\t%.0f %%\n",
			r.System, r.Reads, r.Figure, r.PFraction, r.P, r.PMeasured, r.PInterval.Low, r.PInterval.High, 1/r.P,
			r.Mean, testsText(r.Median), testsText(r.MedianLow), testsText(r.MedianHigh), r.OneGoal,
			testsText(r.Quantile), r.Paper, 100*r.WithPaper)
	}
	if err := t.Flush(); err != nil || !p.Interrupted {
		return err
	}
	_, err := fmt.Fprintln(w, "interrupted: these are the systems measured until then")
	return err
}

// testsText formats a number of tests to a finding: 0 stands for more than a campaign has.
func testsText(n int) string {
	if n == 0 {
		return fmt.Sprintf(">%d", predictTests)
	}
	return fmt.Sprint(n)
}

// chart draws the shares of campaigns with a finding over the number of tests, and the predictions as broken lines.
func (p prediction) chart() chart.Chart {
	const most = 400
	c := chart.Chart{Title: "Tests to the first stale read", X: "tests", Y: "share of campaigns with a finding", Top: 1}
	figures := map[string]int{} // number of the line of a figure's prediction
	for _, r := range p.Rows {
		if figures[r.Figure] == 0 {
			line := chart.Line{Name: "predicted, Fig. " + r.Figure, Dashed: true}
			one := lockstep.Guarantee{PerRun: r.P}
			for n := 0; n <= most; n += 5 {
				line.Points = append(line.Points, chart.Point{X: float64(n), Y: one.After(n)})
			}
			c.Lines = append(c.Lines, line)
			figures[r.Figure] = len(c.Lines)
		}
		line := chart.Line{Name: r.System + ", reads=" + r.Reads, Steps: true, Points: []chart.Point{{}}}
		for i, n := range r.sorted() {
			if n <= most {
				line.Points = append(line.Points, chart.Point{X: float64(n), Y: float64(i+1) / float64(len(r.First))})
			}
		}
		last := line.Points[len(line.Points)-1]
		line.Points = append(line.Points, chart.Point{X: most, Y: last.Y})
		c.Lines = append(c.Lines, line)
	}
	return c
}
