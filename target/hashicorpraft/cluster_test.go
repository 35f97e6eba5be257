package hashicorpraft

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/lockstep-go/lockstep/target/hashicorpraft_test.wait"))
}

// Three nodes start and elect a leader, requests are answered, the test injects a fault, and nothing is left behind.
func TestFirst(t *testing.T) {
	answered, crashed := 0, 0
	count := spec.OnEvent(
		"answered",
		spec.EventReturn,
		func(_ *struct{}, run *lockstep.Run, _ *lockstep.Event) *lockstep.Finding {
			answered++
			if run.EverCrashed() != 0 {
				crashed++
			}
			return nil
		},
	)
	walk := strategy.Walk{Deliver: 20, Wait: 10, Request: 3, Crash: 1, Restart: 2, Steps: 400}
	result := enginetest.Explore(t,
		lockstep.Plan{System: Cluster{}, Strategy: walk, Spec: spec.All(Everything, count), Runs: 20, Settle: 200})
	if f := result.First(); f != nil {
		t.Fatalf("%s\n%s", f.Finding, f.Finding.Stack)
	}
	if answered == 0 || crashed == 0 || result.Verdicts[trace.Pass] != 20 {
		t.Errorf("%d answers, %d of them after a crash; %v %v", answered, crashed, result.Verdicts, result.Reasons)
	}
	t.Log(result.Steps, result.Messages, result.Checked, answered)
}
