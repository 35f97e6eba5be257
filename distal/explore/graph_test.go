package explore_test

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
)

// The paths cover what the exhaustive search of as many rounds reaches, by another algorithm.
func TestCoverPaths(t *testing.T) {
	for _, c := range []struct {
		name   string
		phases int
	}{{"paxos_fixed", 2}, {"raft_fixed", 2}, {"twophase_fixed", 1}, {"benor_fixed", 2}, {"lastvoting_fixed", 1}} {
		m, _ := example(t, c.name, distal.Options{Timeouts: "free"})
		kind := func(s *machine.State) string { return m.Program.Kind(s, nil) }
		all, err := explore.Exhaustive(m, explore.Options{Phases: c.phases, Kind: kind, Whole: true})
		if err != nil {
			t.Fatal(err)
		}
		if all.Verdict == explore.Fail {
			t.Fatalf("%s: %s", c.name, all.Verdict)
		}
		out, err := explore.CoverPaths(t.Context(), m,
			explore.CoverOptions{Cover: explore.CoverKinds, Rounds: c.phases * m.Rounds()})
		if err != nil {
			t.Fatal(err)
		}
		covered := map[string]bool{}
		for _, p := range out.Paths {
			for i, start := range p.Start {
				before := start
				for _, row := range p.Rows {
					cell := row.Nodes[i]
					if a := cell.Began; a != nil {
						covered[fmt.Sprintln(a.Rule.Index, kind(before), kind(cell.Begun))] = true
					}
					if a := cell.Rule; a != nil {
						covered[fmt.Sprintln(a.Rule.Index, kind(cell.Begun), kind(cell.State))] = true
					}
					before = cell.State
				}
			}
		}
		for _, r := range all.Reached {
			if !covered[fmt.Sprintln(r.Rule, r.Before, r.After)] {
				t.Errorf("%s: no path has %v", c.name, r)
			}
		}
		if len(covered) != len(all.Reached) || out.Items != len(all.Reached) {
			t.Errorf("%s: %d covered, %d to cover, %d reached", c.name, len(covered), out.Items, len(all.Reached))
		}
		t.Logf("%s: %d paths cover %d transitions of %d states", c.name, len(out.Paths), out.Items, out.States)
	}
}

// The search collects the transitions that a search without any cleverness makes.
func TestReached(t *testing.T) {
	for _, c := range []struct {
		name   string
		phases int
	}{{"paxos_fixed", 2}, {"twophase_fixed", 1}, {"lastvoting_fixed", 1}} {
		m, _ := example(t, c.name, distal.Options{Timeouts: "free"})
		kind := func(s *machine.State) string { return m.Program.Kind(s, nil) }
		all, err := explore.Exhaustive(m, explore.Options{Phases: c.phases, Kind: kind, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		made := map[machine.Transition]bool{}
		current := map[string][]*machine.State{}
		start := make([]*machine.State, m.Program.N)
		for i := range start {
			start[i] = m.Initial(i + 1)[0].State
		}
		current[globalKey(start)] = start
		for k := range c.phases * m.Rounds() {
			next := map[string][]*machine.State{}
			for _, nodes := range current {
				naiveTransitions(m, m.Tag(k), nodes, nil, kind, made)
				naiveRound(m, m.Tag(k), nodes, next)
			}
			current = next
		}
		for _, r := range all.Reached {
			if !made[r] {
				t.Errorf("%s: %v is not made", c.name, r)
			}
		}
		if len(made) != len(all.Reached) || len(made) < 4 {
			t.Errorf("%s: %d transitions are made, %d reached", c.name, len(made), len(all.Reached))
		}
	}
}

// naiveTransitions collects what nodes do in a round, once some of them have begun it.
func naiveTransitions(m *sequential.Model, tag machine.Tag, nodes []*machine.State, begun []sequential.Step,
	kind func(*machine.State) string, made map[machine.Transition]bool) {
	note := func(st sequential.Step, before *machine.State) {
		if st.Action != nil {
			made[machine.Transition{Rule: st.Action.Rule.Index, Before: kind(before), After: kind(st.State)}] = true
		}
	}
	if at := len(begun); at < len(nodes) {
		for _, st := range m.Send(at+1, nodes[at], tag) {
			note(st, nodes[at])
			naiveTransitions(m, tag, nodes, append(begun[:at:at], st), kind, made)
		}
		return
	}
	for mode := range m.Network.Modes {
		for q := range nodes {
			for _, box := range mailboxes(m, mode, begun, q, tag) {
				for _, st := range m.Update(q+1, begun[q].State, tag, box) {
					note(st, begun[q].State)
				}
			}
		}
	}
}
