package strategy_test

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/strategy"
)

// By default a walk leaves a majority of the nodes up: of four nodes one may be down.
func TestWalkLeavesAMajority(t *testing.T) {
	system := toy.Cluster(nil)
	system.Nodes = 4
	most := 0
	enginetest.Explore(t, lockstep.Plan{System: system, Runs: 20, Workers: 1,
		Strategy: strategy.Walk{Deliver: 1, Timer: 1, Crash: 5, Restart: 1, Steps: 100},
		Spec: toy.Checker{OnStep: func(r *lockstep.Run) *lockstep.Finding {
			most = max(most, system.Nodes-r.Up().Len())
			return nil
		}}})
	if most != 1 {
		t.Errorf("%d of %d nodes were down", most, system.Nodes)
	}
}

// The partitions of a sequence differ from one to the next.
func TestPartitionsOfASequenceDiffer(t *testing.T) {
	result := enginetest.Explore(t, lockstep.Plan{System: toy.Cluster(nil), Runs: 50, KeepGoing: true, Keep: 50,
		Strategy: strategy.Partition{Sequence: "1|2 then 1|2 then 1|2", Stages: 1, Steps: 1}, Spec: toy.AtEnd})
	if len(result.Failures) != 50 {
		t.Fatalf("%d of 50 runs were recorded", len(result.Failures))
	}
	for _, f := range result.Failures {
		drawn := strings.Fields(f.Trace.Header.Drawn["partitions"])
		if len(drawn) != 3 || drawn[0] == drawn[1] || drawn[1] == drawn[2] {
			t.Errorf("run %d draws the partitions %q", f.Run, drawn)
		}
	}
}
