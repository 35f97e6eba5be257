package raftscenarios_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/raftscenarios"
	"github.com/lockstep-go/lockstep/target/etcdraft/raftscenarios/versions"
	v35 "github.com/lockstep-go/lockstep/target/etcdraft/v35"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/trace"
)

// runs is small here; 'lockstep paper scenarios' makes a thousand of each.
const runs = 30

// easy are the scenarios that happen without filters, too: elections succeed, late votes arrive, and a node that
// others hear becomes a follower as well.
var easy = []string{"DropVotes", "DropFVotes", "ReVote"}

// TestCases checks on every version that each scenario succeeds at least as often as published, that no part of it is
// vacuous, and that it has no other findings.
func TestCases(t *testing.T) {
	for _, v := range versions.All {
		for _, c := range raftscenarios.Cases {
			t.Run(v.Name+"/"+c.Name, func(t *testing.T) {
				r, err := c.Measure(context.Background(), v, raftscenarios.Strategy, runs, 1)
				if err != nil {
					t.Fatal(err)
				}
				if !r.Holds() {
					t.Errorf("%d of %d succeed, published %d%%; never %q; %d findings (%s); unknown %v",
						r.Successes, r.Runs, r.Outcome, r.Never, r.Findings, r.Finding, r.Reasons)
				}
				if r.Control*2 > r.Successes && !slices.Contains(easy, c.Name) {
					t.Errorf("%d of %d succeed without the filters, %d with them", r.Control, r.Runs, r.Successes)
				}
				if r.Ours.Lines == 0 || r.Ours.Filters == 0 || r.Ours.States == 0 || r.Share == 0 {
					t.Errorf("size %+v, share %v", r.Ours, r.Share)
				}
				t.Logf("plain %d ours %d control %d share %.2f", r.Plain, r.Successes, r.Control, r.Share)
			})
		}
	}
}

// TestHolds covers the comparison with published rates. One run without success does not contradict a published rate
// of 100 of 100; many such runs do. No rate compensates for a part that never took effect, or for an unexpected
// finding.
func TestHolds(t *testing.T) {
	for _, c := range []struct {
		published, successes, runs int
		want                       bool
	}{
		{100, 300, 300, true}, {100, 299, 300, true}, {100, 999, 1000, true}, // 100 of 100 is at least 96.4 %
		{100, 280, 300, false}, {100, 940, 1000, false}, {100, 28, 30, true},
		{55, 550, 1000, true}, {55, 480, 1000, true}, {55, 400, 1000, false}, {15, 0, 30, true}, {15, 0, 300, false},
	} {
		r := raftscenarios.Row{Case: raftscenarios.Case{Outcome: c.published}, Successes: c.successes, Runs: c.runs}
		if r.Holds() != c.want {
			t.Errorf("%d of %d, published %d of 100: %t", c.successes, c.runs, c.published, !c.want)
		}
		for _, wrong := range []func(*raftscenarios.Row){
			func(r *raftscenarios.Row) { r.Never = []string{"filter 1"} },
			func(r *raftscenarios.Row) { r.Findings = 1 },
			func(r *raftscenarios.Row) { r.NotRepeated = []string{"run 4 passed and differed"} },
			func(r *raftscenarios.Row) { r.Reasons = map[string]int{"too long": 1} },
		} {
			other := r
			if wrong(&other); other.Holds() {
				t.Errorf("%+v holds", other)
			}
		}
	}
}

// TestControls checks runs whose clocks run at the same speed. Unless messages are lost, no node campaigns for lack
// of a heartbeat, and the leader does not change.
func TestControls(t *testing.T) {
	cases, err := raftscenarios.Find("DropHeartbeat", "Liveness")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions.All {
		for _, c := range cases {
			plan := c.Plan(v, raftscenarios.Strategy, runs, 20261)
			plan.Scenario = c.Build(true).ControlGroup()
			if n := c.Successes(enginetest.Explore(t, plan)); n > 0 {
				t.Errorf("%s %s: %d of %d runs succeed without a fault", v.Name, c.Name, n, runs)
			}
		}
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

// TestSafe checks that PreVote and CheckQuorum prevent the liveness bugs.
func TestSafe(t *testing.T) {
	for _, v := range versions.All {
		for _, c := range raftscenarios.Cases[:2] {
			t.Run(v.Name+"/"+c.Name, func(t *testing.T) {
				plan := c.Plan(v, raftscenarios.Strategy, 10, 1)
				plan.System = v.On(raftscenarios.Safe)
				result := enginetest.Explore(t, plan)
				if f := result.First(); f != nil {
					t.Errorf("run %d: %s", f.Run, f.Finding)
				}
				if n := scenario.Successes(result); n > 0 {
					t.Errorf("the bug shows in %d of %d runs", n, result.Runs)
				}
				if n := reached(result, "leadership is stable"); n < result.Runs {
					t.Errorf("leadership is stable in %d of %d runs", n, result.Runs)
				}
			})
		}
	}
}

// TestNoLivenessOptions checks that the bug of NoLiveness needs PreVote without CheckQuorum. With the other settings
// a write commits.
func TestNoLivenessOptions(t *testing.T) {
	for _, v := range versions.All {
		for option := range 4 {
			c := raftscenarios.Cluster
			c.PreVote, c.CheckQuorum = option&1 != 0, option&2 != 0
			t.Run(fmt.Sprintf("%s/pre-vote=%t,check-quorum=%t", v.Name, c.PreVote, c.CheckQuorum), func(t *testing.T) {
				result := enginetest.Explore(
					t,
					lockstep.Plan{System: v.On(c), Spec: etcdraft.Safety, Scenario: raftscenarios.NoLiveness(true),
						Strategy: raftscenarios.Strategy, Runs: runs, Seed: 1, KeepGoing: true},
				)
				none, some := reached(result, "no write commits"), reached(result, "a write commits")
				if c == raftscenarios.PreVote {
					none, some = some, none
				}
				if none > runs/10 || some < runs*8/10 { // some take longer; in some, 4 never leads
					t.Errorf("%d of %d runs as expected, %d otherwise; %v", some, result.Runs, none, result.Verdicts)
				}
			})
		}
	}
}

// TestDeadStates checks that runs can reach the states that end them without success, if the filter that prevents
// these states is omitted.
func TestDeadStates(t *testing.T) {
	for _, c := range raftscenarios.Cases {
		if c.Name != "DropVotes" && c.Name != "MultiReVote" {
			continue
		}
		plan := c.Plan(versions.All[0], raftscenarios.Strategy, runs, 1)
		if n := reached(enginetest.Explore(t, plan), "4 is heard"); n > 0 {
			t.Errorf("%s: 4 is heard in %d runs", c.Name, n)
		}
		plan.Scenario = c.Build(true).ControlGroup()
		if n := reached(enginetest.Explore(t, plan), "4 is heard"); n == 0 {
			t.Errorf("%s: 4 is never heard without the filters", c.Name)
		}
	}
}

// TestConfChangeLibrary checks that etcd's raft is not affected. A change takes effect there when a node applies it.
// Nodes 2 and 4 alone therefore cannot remove 3, and the scenario ends there.
func TestConfChangeLibrary(t *testing.T) {
	for _, v := range versions.All {
		result := enginetest.Explore(t, lockstep.Plan{System: v.On(raftscenarios.LibraryChanges), Spec: etcdraft.Safety,
			Scenario: raftscenarios.ConfChangeLibrary(), Strategy: raftscenarios.Strategy, Steps: 4000, Runs: runs,
			Seed: 1})
		if f := result.First(); f != nil {
			t.Errorf("%s: run %d: %s", v.Name, f.Run, f.Finding)
		}
		for _, want := range []string{"filter 1 (1 removes 4) acted", "filter 2 (2 or 4 removes 3) acted",
			"state one leads of machine ConfChangeBug reached"} {
			if slices.Contains(result.VacuousParts(), want) {
				t.Errorf("%s: never: %s", v.Name, want)
			}
		}
		if n := reached(result, "3 removed"); n > 0 {
			t.Errorf("%s: 3 was removed without itself and 1 in %d runs", v.Name, n)
		}
	}
}

// TestChangesLibrary checks that the scenarios for mutants find nothing in the unmodified library, and proceed as far
// as the library allows.
func TestChangesLibrary(t *testing.T) {
	for _, v := range versions.All {
		for _, sc := range []*scenario.Scenario{raftscenarios.TwoChanges(), raftscenarios.PendingChange()} {
			result := enginetest.Explore(t, lockstep.Plan{System: v.On(raftscenarios.Changing), Spec: etcdraft.Safety,
				Scenario: sc, Strategy: raftscenarios.Strategy, Steps: 3000, Runs: runs, Seed: 1, KeepGoing: true})
			if f := result.First(); f != nil {
				t.Errorf("%s %s: run %d: %s", v.Name, sc.Name(), f.Run, f.Finding)
			}
			if n := reached(result, "leads"); n < runs/2 {
				t.Errorf("%s %s: a leader makes the changes in %d of %d runs", v.Name, sc.Name(), n, runs)
			}
			if n := reached(result, "apart"); n > 0 {
				t.Errorf("%s %s: both changes take effect at once in %d runs", v.Name, sc.Name(), n)
			}
		}
	}
}

// TestConfChangeRemedy checks that Lockstep's own Raft with the published remedy is not affected either.
func TestConfChangeRemedy(t *testing.T) {
	remedied := raftscenarios.EarlyChanges
	remedied.EarlyChanges = false
	result := enginetest.Explore(t, lockstep.Plan{System: remedied, Spec: raftspec.StateMachineSafety,
		Scenario: raft.ConfChange(true), Strategy: raftscenarios.Strategy, Steps: 4000, Runs: runs, Seed: 1,
		KeepGoing: true})
	if result.Verdicts[trace.Fail] > 0 {
		t.Errorf("%v", result.Verdicts)
	}
}

// TestTable checks that the table has a line for every case, and that it uses the caller's clock.
func TestTable(t *testing.T) {
	var b strings.Builder
	now := 0.0
	if _, err := raftscenarios.Table(context.Background(), &b, raftscenarios.Cases, versions.All[1],
		raftscenarios.Strategy, 3, 1, func() float64 { now++; return now }); err != nil {
		t.Fatal(err)
	}
	for _, c := range raftscenarios.Cases {
		if !strings.Contains(b.String(), fmt.Sprintf("\n%-14s  ", c.Name)) {
			t.Errorf("no line for %s in\n%s", c.Name, b.String())
		}
	}
	if !strings.Contains(b.String(), "99 iterations in 1.0 s") {
		t.Errorf("the last line is missing in\n%s", b.String())
	}
}

// TestFind checks that Find returns cases by name, in the order of the paper.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{nil, "Liveness LivenessNoCQ NoLiveness ConfChangeBug DropHeartbeat DropVotes DropFVotes DropAppend ReVote " +
			"ManyReVote MultiReVote"},
		{[]string{"ReVote", "Liveness"}, "Liveness ReVote"},
	} {
		found, err := raftscenarios.Find(c.names...)
		var names []string
		for _, f := range found {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != c.want {
			t.Errorf("%q: %s, %v", c.names, got, err)
		}
	}
	if _, err := raftscenarios.Find("ReVote", "Revote"); err == nil ||
		!strings.Contains(err.Error(), `unknown scenario "Revote": one of Liveness, `) {
		t.Errorf("%v", err)
	}
}

// TestAblations checks that there is a table for every scenario, with the paper's line first if the paper has one.
func TestAblations(t *testing.T) {
	var b strings.Builder
	if err := raftscenarios.Ablations(context.Background(), &b, raftscenarios.Cases, versions.All[1],
		raftscenarios.Strategy, 2, 1); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "2 runs each"); n != len(raftscenarios.Cases) {
		t.Errorf("%d tables in\n%s", n, b.String())
	}
	if n := strings.Count(b.String(), "published: "); n != 6 {
		t.Errorf("%d lines of the paper, Table 4 has 6 for Raft:\n%s", n, b.String())
	}
}

// TestGuided checks that every scenario that a target offers fits the target with its options, and runs under its
// declared name.
func TestGuided(t *testing.T) {
	for _, target := range raftscenarios.Guided(slices.Concat(etcdraft.Targets, v35.Targets)) {
		for _, s := range target.Scenarios {
			system, err := target.Build(s.Set)
			if err != nil {
				t.Fatal(err)
			}
			info, err := system.Describe()
			if err != nil {
				t.Fatal(err)
			}
			sc := s.Build()
			if _, err := sc.Fit(info); err != nil || sc.Name() != s.Name {
				t.Errorf("%s, called %s: %v", s.Name, sc.Name(), err)
			}
		}
	}
}
