package bftscenarios

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target/tendermint"
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
