package raftscenarios_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/raftscenarios"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/trace"
)

// runs are few here; the command in the folder table makes a thousand of each.
const runs = 40

// TestCases: each scenario succeeds at least as often as published, no part of it is
// vacuous, and nothing is found that should not be.
func TestCases(t *testing.T) {
	for _, c := range raftscenarios.Cases {
		t.Run(c.Name, func(t *testing.T) {
			r, err := c.Measure(context.Background(), raftscenarios.Strategy, runs, 1)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Holds() {
				t.Errorf("%d of %d succeed, published %d%%; never %q; %d findings (%s); unknown %v",
					r.Successes, r.Runs, r.Outcome, r.Never, r.Findings, r.Finding, r.Reasons)
			}
			if r.Ours.Lines == 0 || r.Ours.Filters == 0 || r.Ours.States == 0 {
				t.Errorf("size %+v", r.Ours)
			}
		})
	}
}

// TestSafe: with PreVote and CheckQuorum the liveness bugs are not there.
func TestSafe(t *testing.T) {
	for _, c := range raftscenarios.Cases[:3] {
		t.Run(c.Name, func(t *testing.T) {
			plan := c.Plan(raftscenarios.Strategy, runs, 1)
			plan.System, plan.Steps = raftscenarios.Safe, 4000
			result, err := lockstep.Explore(context.Background(), plan)
			if err != nil {
				t.Fatal(err)
			}
			if f := result.First(); f != nil {
				t.Errorf("run %d: %s", f.Run, f.Finding)
			}
			if n := scenario.Successes(result); n > 0 {
				t.Errorf("the bug shows in %d of %d runs", n, result.Runs)
			}
			if c.Name == "NoLiveness" && reached(result, "stepped down by itself") < runs {
				t.Errorf("the leader without a quorum steps down in %d of %d runs", reached(result, "stepped down by itself"), runs)
			}
		})
	}
}

func reached(r *lockstep.Result, state string) int {
	for _, e := range r.Effects {
		if strings.HasPrefix(e.Name, "state "+state+" of ") {
			return e.N
		}
	}
	return 0
}

// TestConfChangeLibrary: etcd's raft is not affected. A change takes effect there when it
// is applied, so that 2 and 4 alone cannot remove 3, and the scenario goes no further.
func TestConfChangeLibrary(t *testing.T) {
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: raftscenarios.Unhasty, Spec: etcdraft.Safety,
		Scenario: raftscenarios.ConfChangeLibrary(), Strategy: raftscenarios.Strategy, Steps: 4000, Runs: runs, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if f := result.First(); f != nil {
		t.Errorf("run %d: %s", f.Run, f.Finding)
	}
	for _, want := range []string{"filter 3 (1 removes 4) acted", "filter 4 (2 or 4 removes 3) acted", "state one leads of machine ConfChangeBug reached"} {
		if slices.Contains(result.VacuousParts(), want) {
			t.Errorf("never: %s", want)
		}
	}
	if n := reached(result, "3 removed"); n > 0 {
		t.Errorf("3 was removed without itself and 1 in %d runs", n)
	}
}

// TestConfChangeRemedy: nor is the Raft of our own with the published remedy.
func TestConfChangeRemedy(t *testing.T) {
	remedied := raftscenarios.Hasty
	remedied.Hasty = false
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: remedied, Spec: raft.Agreement,
		Scenario: raft.ConfChange(), Strategy: raftscenarios.Strategy, Steps: 4000, Runs: runs, Seed: 1, KeepGoing: true})
	if err != nil || result.Verdicts[trace.Fail] > 0 {
		t.Errorf("%v, %v", result.Verdicts, err)
	}
}

// TestTable: the table has a line for every case, and its clock is the caller's.
func TestTable(t *testing.T) {
	var b strings.Builder
	now := 0.0
	if _, err := raftscenarios.Table(context.Background(), &b, raftscenarios.Strategy, 3, 1, func() float64 { now++; return now }); err != nil {
		t.Fatal(err)
	}
	for _, c := range raftscenarios.Cases {
		if !strings.Contains(b.String(), fmt.Sprintf("\n%-14s  ", c.Name)) {
			t.Errorf("no line for %s in\n%s", c.Name, b.String())
		}
	}
	if !strings.Contains(b.String(), "33 iterations in 23.0 s") {
		t.Errorf("the last line is missing in\n%s", b.String())
	}
}

// TestAblations: there is a table for every scenario on etcd's raft.
func TestAblations(t *testing.T) {
	var b strings.Builder
	if err := raftscenarios.Ablations(context.Background(), &b, raftscenarios.Strategy, 2, 300, 1); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "2 runs each"); n != len(raftscenarios.Cases)-1 {
		t.Errorf("%d tables in\n%s", n, b.String())
	}
}
