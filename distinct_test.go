package lockstep_test

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// Walking twice through a space of 73 schedules shows 73 different ones; states do not
// depend on the workers; without the option nothing is counted.
func TestDistinct(t *testing.T) {
	s := strategy.Uniform{Period: 2, Isolations: 2, Rounds: 4, Sampler: strategy.Exact}
	var states []int
	for workers := 1; workers <= 2; workers++ {
		result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: s, Spec: smr.Prefix,
			Runs: 2000, Workers: workers, Distinct: true})
		if err != nil {
			t.Fatal(err)
		}
		if result.Schedules < 10 || result.Schedules > 73 || result.States < 10 {
			t.Errorf("%d schedules, %d states", result.Schedules, result.States)
		}
		states = append(states, result.States*1000+result.Schedules)
	}
	if states[0] != states[1] {
		t.Errorf("with one and two workers: %v", states)
	}
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: s, Runs: 10})
	if err != nil || result.Schedules != 0 || result.States != 0 {
		t.Errorf("%+v, %v", result, err)
	}
}
