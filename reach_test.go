package lockstep_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/novelty"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// A campaign reaches the same with any number of workers, and in batches.
func TestNextRun(t *testing.T) {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultWalk, Runs: 60, Seed: 3,
		KeepGoing: true}
	var sets []novelty.Set
	for _, workers := range []int{1, 3} {
		plan.Workers = workers
		r, err := lockstep.Explore(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, r.Novelty)
		if e, ok := r.NextRun(); !ok || e.Runs != 60 || e.Reached < 3 || e.Criterion == "" {
			t.Errorf("%+v, %v", e, ok)
		}
	}
	runner, err := lockstep.NewBatchRunner(plan)
	if err != nil {
		t.Fatal(err)
	}
	var sum lockstep.Result
	for first := 0; first < 60; first += 20 {
		r, err := runner.Make(t.Context(), first, first+20, 0)
		if err != nil {
			t.Fatal(err)
		}
		sum.Add(r, 100)
	}
	sets = append(sets, sum.Novelty)
	if err := runner.Close(); err != nil {
		t.Error(err)
	}
	if !sets[0].Equal(sets[1]) || !sets[0].Equal(sets[2]) || sets[0].Runs() != 60 {
		t.Errorf("one worker %v, three %v, batches %v", sets[0], sets[1], sets[2])
	}
}

func ExampleResult_NextRun() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultPOS, Runs: 200, Seed: 1}
	result, err := lockstep.Explore(context.Background(), plan)
	next, ok := result.NextRun()
	fmt.Println(err, ok, next.Runs == result.Runs, next.Probability <= next.Upper)
	fmt.Println("new is " + next.Criterion)
	// Output:
	// <nil> true true true
	// new is a pair of consecutive steps and events at a node
}
