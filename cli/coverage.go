package cli

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/strategy"
)

// meter makes the plan's runs measured, where that was asked for: how many nodes were
// split, separated and isolated, and with operations given, which followed each other.
func (c *runCmd) meter(plan *lockstep.Plan) (*cover.Meter, error) {
	if !c.Coverage {
		if len(c.Operations) > 0 || c.CoverCrashes {
			return nil, fmt.Errorf("--operations and --cover-crashes go with --coverage")
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
	meter, err := cover.NewMeter(watches...)
	if err != nil {
		return nil, err
	}
	plan.Observers = []lockstep.Observer{&cover.Observer{Meter: meter, Operation: c.operation, Crashes: c.CoverCrashes}}
	return meter, nil
}

// operation is the first of the operations given whose name a request's text has in it.
func (c *runCmd) operation(text string) string {
	for _, name := range c.Operations {
		if strings.Contains(text, name) {
			return name
		}
	}
	return text
}

// watchesFor lists what is measured on a system: the usual notions, that of a strategy
// which makes partitions, every role in a minority, and pairs of operations.
func watchesFor(info lockstep.Info, s lockstep.Strategy, operations []string) ([]cover.Watch, error) {
	if info.Nodes < 2 {
		return nil, fmt.Errorf("--coverage: %s has %d node, there is nothing to divide", info.Name, info.Nodes)
	}
	notions := []cover.Notion{cover.Split{K: 2}, cover.Separate{K: 1, L: 2}, cover.Isolate{}}
	spaces := []cover.Space{cover.Uniform(info.Nodes, 2)}
	if p, ok := s.(strategy.Partition); ok {
		if notion, space, err := p.Tested(info.Nodes); err == nil {
			notions = append([]cover.Notion{notion}, notions...)
			spaces = append([]cover.Space{space}, spaces...)
		}
	}
	var watches []cover.Watch
	seen := map[string]bool{}
	for _, notion := range notions {
		if seen[notion.String()] {
			continue
		}
		seen[notion.String()] = true
		for _, space := range spaces { // the first one that can cover a goal
			if w, err := cover.WatchGoals(notion, space); err == nil {
				watches = append(watches, w)
				break
			}
		}
	}
	for _, role := range info.Roles {
		watches = append(watches, cover.Watch{Name: role + " in a minority", Aims: []cover.Aim{cover.RoleGoal{Kind: cover.Isolates, A: role}}})
	}
	if len(operations) > 0 {
		var ops []cover.Op
		for _, name := range operations {
			ops = append(ops, cover.Op{Name: name})
		}
		w, err := cover.WatchSequences(2, ops...)
		if err != nil {
			return nil, err
		}
		watches = append(watches, w)
	}
	return watches, nil
}

// writeCoverage writes a line for each reading.
func writeCoverage(w io.Writer, readings []cover.Reading) {
	for _, r := range readings {
		fmt.Fprintf(w, "coverage of %s: %d of %d (%.4g %%) in %d tests", r.Name, r.Covered, r.Goals, 100*r.Fraction, r.Tests)
		if t := r.Theory; t != nil {
			fmt.Fprintf(w, "; as many random ones: %.4g %% expected, all with probability at least %s (Theorem 3.1: %s)",
				100*t.Fraction, roundedDown(t.Probability), roundedDown(t.Bound))
		}
		fmt.Fprintln(w)
	}
}

// roundedDown writes a lower bound so that it stays one, and 1 only for certainty.
func roundedDown(p float64) string {
	if p < 1 {
		p = min(math.Floor(1e4*p)/1e4, 0.9999)
	}
	return fmt.Sprintf("%.4g", p)
}
