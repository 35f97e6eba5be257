package lockstep_test

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

func ExampleResult_VacuousParts() {
	sc := scenario.New("half idle")
	sc.If(scenario.Round("Ack")).Named("first ack").First(1).Then(scenario.Deliver())
	sc.If(scenario.Round("Ack"), scenario.Phase(-1)).Named("no such phase").Then(scenario.Drop())
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: smr.Cluster{Nodes: 3},
		Strategy: strategy.DefaultWalk, Scenario: sc, Spec: smr.Prefix, Runs: 50})
	fmt.Println(result.Verdict(), result.VacuousParts(), err)
	// Output: pass [filter 2 (no such phase) acted] <nil>
}

// A run with more crashed nodes than the protocol promises to survive is no finding.
func ExampleBudget() {
	result, err := lockstep.Explore(
		context.Background(),
		lockstep.Plan{System: smr.Cluster{Nodes: 3}, Spec: smr.Prefix, Runs: 20,
			Strategy: strategy.Walk{Deliver: 5, Timer: 1, Crash: 1, Restart: 2, Steps: 100},
			Budget:   &lockstep.Budget{Crashes: 1}},
	)
	fmt.Println(result.Verdict(), result.Reasons, err)
	// Output: unknown map[fault budget exceeded: 2 nodes crashed, 1 allowed:20] <nil>
}
