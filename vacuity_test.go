package lockstep_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// Test fails when a part of a scenario never took effect in any run, unless it is told
// that this is as it should be.
func TestVacuousPartsFailTest(t *testing.T) {
	t.Chdir(t.TempDir())
	sc := scenario.New("half idle")
	sc.If(scenario.Round("Ack")).Named("acks").First(1).Then(scenario.Deliver())
	sc.If(scenario.Round("Ack"), scenario.Phase(-1)).Named("no such phase").Then(scenario.Drop())
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultWalk, Scenario: sc, Spec: smr.Prefix, Runs: 50}
	f := inTest(&fakeT{name: "TestHalf"}, plan)
	if !f.failed || !strings.Contains(f.log.String(), "never took effect: filter 2 (no such phase) acted") {
		t.Errorf("the idle filter is not named:\n%s", f.log.String())
	}
	plan.AllowVacuous = true
	if f := inTest(&fakeT{name: "TestHalf"}, plan); f.failed {
		t.Errorf("it fails although it is told not to:\n%s", f.log.String())
	}
}

func ExampleResult_VacuousParts() {
	sc := scenario.New("half idle")
	sc.If(scenario.Round("Ack")).Named("first ack").First(1).Then(scenario.Deliver())
	sc.If(scenario.Round("Ack"), scenario.Phase(-1)).Named("no such phase").Then(scenario.Drop())
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: smr.Cluster{Nodes: 3},
		Strategy: strategy.DefaultWalk, Scenario: sc, Spec: smr.Prefix, Runs: 50})
	fmt.Println(result.Verdict(), result.VacuousParts(), err)
	// Output: pass [filter 2 (no such phase) acted] <nil>
}

// A run in which more nodes crash than the protocol promises to survive is no finding.
func ExampleBudget() {
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: smr.Cluster{Nodes: 3}, Spec: smr.Prefix, Runs: 20,
		Strategy: strategy.Walk{Deliver: 5, Alarm: 1, Crash: 1, Restart: 2, Steps: 100},
		Budget:   &lockstep.Budget{Crashes: 1}})
	fmt.Println(result.Verdict(), result.Reasons, err)
	// Output: unknown map[fault budget exceeded: 2 nodes crashed, 1 allowed:20] <nil>
}
