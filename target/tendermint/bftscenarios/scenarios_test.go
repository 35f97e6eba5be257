package bftscenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target/tendermint"
	"github.com/lockstep-go/lockstep/trace"
)

// The fifteen scenarios succeed without vacuous parts and without findings; but a polka for nil unlocks no validator
// in CometBFT 1.0. "lockstep paper tendermint" measures the scenarios. -run 'Scenarios/(Expect|Lag)' selects some of
// them.
func TestScenarios(t *testing.T) {
	for _, c := range Cases {
		t.Run(c.Name, func(t *testing.T) {
			result, err := lockstep.Explore(t.Context(), Plan(c.Build(true), 1, 1))
			if err != nil {
				t.Fatal(err)
			}
			if f := result.First(); f != nil {
				t.Errorf("found %s", f.Finding)
			}
			want := 1
			if c.Name == "ExpectUnlock" && !deviates() {
				want = 0
			}
			if got := scenario.Successes(result); got != want {
				t.Errorf("%d successes, want %d; never: %v", got, want, result.VacuousParts())
			}
		})
	}
}

// A validator that is behind waits for the timeouts of all rounds in between: the more rounds, the longer.
func TestCatchUp(t *testing.T) {
	last := AtOnce
	for _, rounds := range []int32{2, Rounds} {
		times, err := CatchUp(t.Context(), rounds, 1, 1)
		if err != nil || len(times) != 1 {
			t.Fatalf("%d rounds behind: %v, %v", rounds, times, err)
		}
		if t.Logf("%d rounds behind: %s", rounds, times[0]); times[0] <= last {
			t.Errorf("%d rounds behind: %s, want more than %s", rounds, times[0], last)
		}
		last = 2 * times[0]
	}
}

// LaggingReplica fails on a validator that skips to the round of the others, which is the control of its success. The
// others believe that h is in their round already, and send it their votes of that round. With more than two thirds of
// them the library skips, as the algorithm does with f+1.
func TestSkippingReplica(t *testing.T) {
	sc := LaggingReplica(true).Faults(lockstep.Budget{Byzantine: 2, Losses: lockstep.Unlimited})
	forger := tendermint.Forger{Faulty: trace.NodesOf(h), Nodes: all}
	sc.If(scenario.Type(tendermint.NewRoundStep), scenario.From(h),
		scenario.Body("an earlier round", func(m *tendermint.Message) bool { return m.Height == 1 && m.Round < Rounds })).
		Named("h seems to be in the round of the others").
		Then(scenario.Forge("move h", func(m *scenario.Moment) string {
			forged, err := forger.Move(h, m.Body().(*tendermint.Message), Rounds)
			if err != nil {
				m.Abort(err)
				return ""
			}
			return forged.String()
		}))
	c := &catching{rounds: Rounds}
	plan := Plan(sc, 2, 1)
	plan.Observers = []lockstep.Observer{c}
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if n := scenario.Successes(result); n != 0 || result.First() != nil {
		t.Errorf("%d of 2 runs succeed, found %v", n, result.First())
	}
	if len(c.times) != 2 || slices.Max(c.times) > AtOnce {
		t.Errorf("h catches up after %s, want two times of at most %s", c.times, AtOnce)
	}
}

// The scenarios cover every rule of the algorithm, as those of the paper do, but for the one that the library's gossip
// rules out: a validator gets no messages of later rounds, so that it cannot skip to them. See [LaggingReplica].
func TestClauses(t *testing.T) {
	covered := map[int]string{}
	for _, c := range Cases {
		lines, err := Coverage(t.Context(), c, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		for line := range lines {
			covered[line] += " " + c.Name
		}
	}
	for _, c := range Clauses {
		if t.Logf("line %d, %s:%s", c.Line, c.Text, covered[c.Line]); (covered[c.Line] == "") != (c.Line == 55) {
			t.Errorf("line %d, %s: covered by%s", c.Line, c.Text, covered[c.Line])
		}
	}
}

// deviates reports whether the library unlocks on a polka for nil.
func deviates() bool { return !strings.HasPrefix(tendermint.Version(), "v1.") }

// The published rule for locks, and the libraries that deviate from it.
func TestStrictLocking(t *testing.T) {
	plan := Plan(ExpectUnlock(true), 2, 1)
	plan.Spec = tendermint.StrictLocking
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if f := result.First(); deviates() != (f != nil) {
		t.Errorf("%s: found %+v", tendermint.Version(), f)
	} else if f != nil {
		t.Log(f.Finding)
	}
}
