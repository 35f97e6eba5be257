package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/strategy"
)

// meter makes the plan measure its runs, if the user asked for it. It measures how many nodes were split, separated and
// isolated. With operations given, it also measures which operations followed each other.
func (c *runCmd) meter(plan *lockstep.Plan) (*coverage.Meter, error) {
	if !c.Coverage {
		if len(c.Operations) > 0 || c.CoverCrashes || c.PartitionSequence != "" {
			return nil, fmt.Errorf("--operations, --partition-sequence and --cover-crashes go with --coverage")
		}
		return nil, nil
	}
	info, err := plan.System.Describe()
	if err != nil {
		return nil, err
	}
	watches, err := watchesFor(info, plan.Strategy, c.Operations)
	if err != nil {
		return nil, err
	}
	sequences, err := c.sequences(info, plan.Strategy)
	if err != nil {
		return nil, err
	}
	meter, err := coverage.NewMeter(append(watches, sequences...)...)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(c.Operations)
	for _, w := range sequences {
		names = append(names, w.Goals[0].(cover.PartitionSequence).Operations()...)
	}
	operation := func(text string) string { return nameOf(text, names) }
	plan.Observers = []lockstep.Observer{
		&coverage.Observer{Meter: meter, Operation: operation, Crashes: c.CoverCrashes},
	}
	return meter, nil
}

// sequences returns the partition sequences to measure: the given one, and that of a strategy which has one. Theory is
// set for the latter if the sequence has no operations or names all of them.
func (c *runCmd) sequences(info lockstep.Info, s lockstep.Strategy) ([]coverage.Watch, error) {
	var watches []coverage.Watch
	p, ok := s.(strategy.Partition)
	if ok && p.Sequence != "" {
		sequence, err := cover.ParsePartitionSequence(p.Sequence)
		if err != nil {
			return nil, err
		}
		sampling := cover.Sampling{Nodes: info.Nodes, Balanced: p.Balanced, Operations: c.Operations, During: p.During}
		watch, err := coverage.WatchPartitionSequence(sequence, sampling)
		if err != nil || p.Seek || len(sequence.Operations()) > 0 && len(c.Operations) == 0 {
			watch = coverage.Watch{Name: "the partition sequence " + sequence.String(), Goals: []cover.Goal{sequence},
				Often: true}
		}
		watches = append(watches, watch)
	}
	if c.PartitionSequence == "" {
		return watches, nil
	}
	sequence, err := cover.ParsePartitionSequence(c.PartitionSequence)
	if err != nil {
		return nil, fmt.Errorf("--partition-sequence: %w", err)
	}
	for _, role := range sequence.Roles() {
		if !slices.Contains(info.Roles, role) {
			return nil, fmt.Errorf("--partition-sequence: %s has no role %q, its roles are: %s", info.Name, role,
				strings.Join(info.Roles, ", "))
		}
	}
	name := "the partition sequence " + sequence.String()
	if len(watches) > 0 && watches[0].Name == name {
		return watches, nil
	}
	return append(watches, coverage.Watch{Name: name, Goals: []cover.Goal{sequence}, Often: true}), nil
}

// nameOf returns the first of the operations that a request's text contains, or the text itself.
func nameOf(text string, operations []string) string {
	for _, name := range operations {
		if strings.Contains(text, name) {
			return name
		}
	}
	return text
}

// watchesFor returns the criteria to measure on a system. These are the usual ones, that of a strategy which makes
// partitions, every role in a minority, and pairs of operations.
func watchesFor(info lockstep.Info, s lockstep.Strategy, operations []string) ([]coverage.Watch, error) {
	if info.Nodes < 2 {
		return nil, fmt.Errorf("--coverage: %s has %d node, which cannot be partitioned", info.Name, info.Nodes)
	}
	criteria := []cover.Criterion{cover.Split{K: 2}, cover.Separate{K: 1, L: 2}, cover.Isolate{}}
	spaces := []cover.Space{cover.Uniform(info.Nodes, 2)}
	if p, ok := s.(strategy.Partition); ok && p.Sequence == "" {
		if criterion, space, err := p.Tested(info.Nodes); err == nil {
			criteria = append([]cover.Criterion{criterion}, criteria...)
			spaces = append([]cover.Space{space}, spaces...)
		}
	}
	var watches []coverage.Watch
	seen := map[string]bool{}
	for _, criterion := range criteria {
		if seen[criterion.String()] {
			continue
		}
		seen[criterion.String()] = true
		for _, space := range spaces { // the first space that can cover a goal
			if w, err := coverage.WatchGoals(criterion, space); err == nil {
				watches = append(watches, w)
				break
			}
		}
	}
	for _, role := range info.Roles {
		watches = append(watches, coverage.Watch{Name: role + " in a minority", WhenMet: true,
			Goals: []cover.Goal{cover.RoleGoal{Kind: cover.Isolates, A: role}}})
	}
	watches = append(watches, coverage.WatchIrregular(info.Nodes)...)
	if len(operations) > 0 {
		var ops []cover.Op
		for _, name := range operations {
			ops = append(ops, cover.Op{Name: name})
		}
		w, err := coverage.WatchSequences(2, ops...)
		if err != nil {
			return nil, err
		}
		watches = append(watches, w)
	}
	return watches, nil
}

// coverageLines returns a line for each reading.
func coverageLines(readings []coverage.Reading) (lines []string) {
	for _, r := range readings {
		line := fmt.Sprintf("coverage of %s: %d of %d (%.4g %%) in %d tests", r.Name, r.Covered, r.Goals,
			100*r.Fraction, r.Tests)
		if r.Hits > 0 {
			line += fmt.Sprintf(", hit in %d of %d runs", r.Hits, r.Runs)
		}
		if t := r.Theory; t != nil {
			line += fmt.Sprintf(
				"; as many random ones: %.4g %% expected, all with probability at least %s (Theorem 3.1: %s)",
				100*t.Fraction, roundedDown(t.Probability), roundedDown(t.Bound))
		}
		lines = append(lines, line)
	}
	return lines
}

// roundedDown rounds a lower bound down, so that it remains a lower bound. It writes 1 only for certainty.
func roundedDown(p float64) string {
	if p < 1 {
		p = min(math.Floor(1e4*p)/1e4, 0.9999)
	}
	return fmt.Sprintf("%.4g", p)
}
