package strategy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
)

// echoes has two nodes: the first sends a number of messages, the second sends each one back.
type echoes int

func (e echoes) Start(c *sim.Context[int]) {
	for i := range int(e) {
		if c.Self() == 1 {
			c.Send(2, i)
		}
	}
}

func (e echoes) Receive(c *sim.Context[int], from lockstep.Node, m int) {
	if c.Self() == 2 {
		c.Send(from, m)
	}
}

func (e echoes) Timeout(*sim.Context[int])                {}
func (e echoes) Request(*sim.Context[int], int32, string) {}

// spied is Systematic with access to the choices of each run that was not truncated.
type spied struct {
	Systematic
	run func([]choice)
}

type spying struct {
	*search
	run func([]choice)
}

func (s spied) New(info lockstep.Info) lockstep.Scheduler {
	return &spying{search: s.Systematic.New(info).(*search), run: s.run}
}

func (s *spying) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if s.search.Next(turn, next) {
		return true
	}
	if s.end != endPruned {
		var list []choice
		for i := range s.stack {
			list = append(list, s.stack[i].choice())
		}
		s.run(list)
	}
	return false
}

// projections names a class of equivalent sequences of shadow actions: the actions on the network of each link, and at
// each node, in order. Two sequences are equivalent if and only if their projections are equal.
func projections(list []choice) string {
	at := map[string][]string{}
	for _, c := range list {
		where := fmt.Sprint("link ", c.link)
		if c.node != 0 {
			where = fmt.Sprint("node ", c.node)
		}
		at[where] = append(at[where], fmt.Sprint(c.act, c.link))
	}
	var parts []string
	for where, what := range at {
		parts = append(parts, where+": "+strings.Join(what, " "))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

// TestSleepSetsOnShadowQueues compares the classes of action sequences that sleep sets generate with those of all
// sequences: each occurs exactly once.
func TestSleepSetsOnShadowQueues(t *testing.T) {
	for _, c := range []struct {
		messages int
		search   Systematic
	}{
		{2, Systematic{}}, {1, Systematic{Losses: 2, Duplicates: 1, Distance: 1}}, {2, Systematic{Losses: 1}},
		{2, Systematic{Losses: 2}}, {2, Systematic{Distance: 1}}, {3, Systematic{}},
	} {
		c.search.Network, c.search.Steps, c.search.Delays = QueueNetwork, 100, Unbounded
		visit := func(reduce Reduction) map[string]int {
			s, classes := c.search, map[string]int{}
			s.Reduce = reduce
			system := sim.Cluster[int]{
				Name:  "echo",
				Nodes: 2,
				New:   func(lockstep.Node, int) sim.Node[int] { return echoes(c.messages) },
			}
			result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: system, Runs: 200_000,
				Strategy: spied{s, func(list []choice) { classes[projections(list)]++ }}})
			if err != nil || !strings.HasPrefix(result.Reached, "complete") {
				t.Fatalf("%s: %v %v", s, result, err)
			}
			return classes
		}
		all, few := visit(NoReduction), visit(SleepSets)
		for class := range all {
			if few[class] != 1 {
				t.Errorf("%s: %q was made %d times", c.search, class, few[class])
			}
		}
		if len(few) != len(all) {
			t.Errorf("%s: %d classes, without reduction %d", c.search, len(few), len(all))
		}
		t.Logf("%d messages, %s: %d classes", c.messages, c.search, len(all))
	}
}
