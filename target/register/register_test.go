package register_test

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/register"
	"github.com/lockstep-go/lockstep/trace"
)

// rough is a walk with every kind of fault.
var rough = strategy.Walk{Deliver: 20, Drop: 1, Duplicate: 1, Alarm: 3, Request: 2, Crash: 1, Restart: 2, Cut: 1, Heal: 2, Steps: 400}

// With reads by quorum the register is linearizable, under every strategy and every kind
// of fault; and the property is put to the test.
func TestQuorumReadsAreLinearizable(t *testing.T) {
	for _, k := range append(strategy.All(), strategy.Kind{Name: "rough", Default: rough}) {
		for _, nodes := range []int{3, 5} {
			result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: register.Cluster{Nodes: nodes, Reads: register.Quorum},
				Strategy: k.Default, Spec: register.Linearizability, Runs: 300, Steps: 400, Seed: 3, KeepGoing: true})
			if err != nil {
				t.Fatal(err)
			}
			if result.Verdict() != trace.Pass || result.Judged[0].N == 0 {
				t.Errorf("%s on %d nodes: %v %v judged %v", k.Name, nodes, result.Verdicts, result.First(), result.Judged)
			}
		}
	}
}
