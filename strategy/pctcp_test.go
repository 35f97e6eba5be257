package strategy_test

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// starving is a spec that fails if a run ends with a message in flight.
type starving struct{ noFinding }

func (starving) Properties() []string                 { return []string{"delivery"} }
func (s starving) New(lockstep.Info) lockstep.Monitor { return s }
func (s starving) End(run *lockstep.Run) *lockstep.Finding {
	if left := run.FreeMessages(); len(left) > 0 {
		return &lockstep.Finding{Property: "delivery", Text: fmt.Sprint(len(left), " messages were never delivered")}
	}
	return nil
}

// TestNothingStarves executes 10,000 runs of strategies that lose no message, on systems that run indefinitely and on
// systems that become quiescent.
func TestNothingStarves(t *testing.T) {
	tier.NotShort(t)
	systems := []lockstep.System{
		smr.Cluster{Nodes: 3},
		smr.Cluster{Nodes: 5, Requests: 2},
		tree(3, 20),
		chain(1, 1, 1, 6),
	}
	for _, s := range []lockstep.Strategy{
		strategy.PCTCP{Depth: 4, Steps: 60},
		strategy.PCTCP{Depth: 2, Steps: 60, Races: true},
		strategy.POS{Steps: 60},
	} {
		for _, system := range systems {
			result := enginetest.Explore(t, lockstep.Plan{System: system, Strategy: s, Spec: starving{}, Runs: 2500})
			if first := result.First(); first != nil {
				t.Errorf("%s: run %d: %s", s, first.Run, first.Finding)
			}
		}
	}
}

func ExamplePCTCP() {
	result, err := lockstep.Explore(t0, lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix,
		Strategy: strategy.PCTCP{Depth: 3, Steps: 100}, Runs: 1000})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Strategy)
	fmt.Println(result.First().Finding)
	fmt.Println(result.Guarantee)
	// Output:
	// pctcp:depth=3,events=114,steps=100
	// prefix: node 1 outputs g, but node 1 had output cd
	// one run hits a given order of 3 of the first 114 events with probability at least 4.55e-07
}

func ExamplePOS() {
	result, err := lockstep.Explore(t0, lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix,
		Strategy: strategy.POS{Steps: 100}, Runs: 1000})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.First().Finding)
	// Output:
	// prefix: node 1 outputs acdeh, but node 1 had output acdf
}
