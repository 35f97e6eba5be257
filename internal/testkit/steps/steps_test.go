package steps_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/steps"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// The steps are taken in every run, and one that is impossible is an error.
func TestList(t *testing.T) {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Runs: 5}
	plan.Strategy = steps.List{{Kind: trace.Timer, Node: 1}, {Kind: trace.Deliver, Msg: 2}}
	if result, err := lockstep.Explore(t.Context(), plan); err != nil || result.Steps != 2*5 {
		t.Errorf("%+v, %v", result, err)
	}
	plan.Strategy = steps.List{{Kind: trace.Deliver, Msg: 2}}
	if _, err := lockstep.Explore(t.Context(), plan); err == nil ||
		!strings.Contains(err.Error(), "step 1 (deliver message 2) is impossible") {
		t.Errorf("a message that was not sent: %v", err)
	}
}

func ExampleList() {
	plan := lockstep.Plan{
		System:   smr.Cluster{Nodes: 3},
		Strategy: steps.List{{Kind: trace.Timer, Node: 1}, {Kind: trace.Drop, Msg: 3}},
	}
	t, err := lockstep.Record(context.Background(), plan, 0)
	fmt.Println(t.Records[2].Step.Kind, t.Records[2].Text, err)
	// Output: drop 1->3 Prepare phase=1 <nil>
}
