package explore_test

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/machine"
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
