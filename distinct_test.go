package lockstep_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// A walk through a space of 73 schedules counts exactly 73 distinct ones. So does drawing 2000 times from it:
// isolations that hit no message make no difference. States, counted in some of the runs, do not depend on the
// workers; without the option nothing is counted.
func TestDistinct(t *testing.T) {
	s := strategy.Uniform{Period: 2, Isolations: 2, Rounds: 4}
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Spec: smr.Prefix, Runs: 2000}
	every := s
	every.Sampler = strategy.Every
	plan.Strategy = every
	different := map[string]bool{}
	for run := range 73 {
		tr, err := lockstep.Record(t.Context(), plan, run)
		if err != nil {
			t.Fatal(err)
		}
		steps := ""
		for _, r := range tr.Records {
			steps += r.Step.Kind.String() + " " + r.Text + ";"
		}
		different[steps] = true
	}
	if len(different) < 20 || len(different) > 73 {
		t.Fatalf("%d different schedules: the test says little", len(different))
	}
	plan.Distinct = true
	for _, c := range []lockstep.Strategy{every, s} {
		var states []int
		for workers := 1; workers <= 2; workers++ {
			plan.Strategy, plan.Workers = c, workers
			result, err := lockstep.Explore(t.Context(), plan)
			if err != nil {
				t.Fatal(err)
			}
			if result.Schedules != len(different) || result.States < 10 {
				t.Errorf("%s: %d schedules, want %d; %d states", c, result.Schedules, len(different), result.States)
			}
			if want := 8 + (result.Runs-1)/256; result.StateRuns != want {
				t.Errorf("%s: states counted in %d of %d runs, want %d", c, result.StateRuns, result.Runs, want)
			}
			states = append(states, result.States)
		}
		if states[0] != states[1] {
			t.Errorf("%s: states with one and two workers: %v", c, states)
		}
	}
	plan.Distinct = false
	if result, err := lockstep.Explore(t.Context(), plan); err != nil || result.Schedules != 0 || result.States != 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

// A campaign that ends with a finding has counted the runs up to it.
func TestDistinctUpToTheFinding(t *testing.T) {
	r := enginetest.Explore(
		t,
		lockstep.Plan{
			System:   smr.Cluster{Nodes: 3, Bug: true},
			Strategy: strategy.DefaultWalk,
			Spec:     smr.Prefix,
			Runs:     3000,
			Workers:  1,
			Distinct: true,
		},
	)
	if r.First() == nil || r.Runs > 64 || r.Schedules != r.Runs || r.StateRuns < 8 || r.States < r.Runs {
		t.Errorf("%d runs: %d schedules, %d states of %d runs", r.Runs, r.Schedules, r.States, r.StateRuns)
	}
}
