package replay_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

func recorded(t *testing.T) (lockstep.Plan, *trace.Trace) {
	t.Helper()
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Spec: smr.Prefix, Strategy: strategy.DefaultWalk, Seed: 7}
	run, err := lockstep.Record(t.Context(), plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	return plan, run
}

// A run replayed up to a step has the steps of the trace up to there, whichever the step is, and stops before it once.
func TestUntil(t *testing.T) {
	plan, run := recorded(t)
	for step := 1; step < len(run.Records); step += 1 + step/3 {
		stops := 0
		again, err := replay.Until(t.Context(), plan, run, step, func() { stops++ })
		if err != nil {
			t.Fatal(err)
		}
		want := trace.Trace{Records: run.Records[:step+1]}
		if d := trace.Difference(&want, &trace.Trace{Records: again.Records}); d != "" || stops != 1 {
			t.Errorf("up to step %d: %d stops, %s", step, stops, d)
		}
	}
	for _, step := range []int{-1, 0, len(run.Records)} {
		if _, err := replay.Until(t.Context(), plan, run, step, nil); err == nil ||
			!strings.Contains(err.Error(), "allowed are 1..") {
			t.Errorf("up to step %d: %v", step, err)
		}
	}
}

func ExampleUntil() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Spec: smr.Prefix, Strategy: strategy.DefaultWalk, Seed: 7}
	run, err := lockstep.Record(context.Background(), plan, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := replay.Until(context.Background(), plan, run, 5, func() { fmt.Println("before step 5") })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(again.Records)-1, "steps")
	// Output:
	// before step 5
	// 5 steps
}
