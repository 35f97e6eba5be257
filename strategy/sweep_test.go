package strategy_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/enginetest"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/pbft"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/target/smr"
)

// Leaving the messages of rounds to the engine makes the same runs as choosing each: the same
// steps and digests, up to a bound on steps in the middle of a round and into the settling stage.
func TestSweepsAreTheSameRuns(t *testing.T) {
	for _, system := range []lockstep.System{smr.Cluster{Nodes: 3}, smr.Cluster{Nodes: 5, Requests: 2}, pbft.Cluster{}, raft.Cluster{Requests: 2}} {
		for _, u := range []strategy.Uniform{{Isolations: 4, Rounds: 16}, {Period: 3, Isolations: 6, Rounds: 12, Isolated: strategy.CutOff}, {Isolations: 4, Rounds: 12, Isolated: strategy.Held}} {
			for _, steps := range []int{0, 17} {
				plan := lockstep.Plan{System: system, Strategy: u, Runs: 300, Seed: 7, Steps: steps, Settle: 40}
				swept, one := deeds{}, deeds{}
				plan.Observers = []lockstep.Observer{swept}
				a := enginetest.Explore(t, plan)
				plan.Strategy, plan.Observers = stepwise{u}, []lockstep.Observer{one}
				b := enginetest.Explore(t, plan)
				if a.Digest != b.Digest || a.Steps != b.Steps {
					t.Errorf("%T, %s: digest %x after %d steps, and %x after %d when each is chosen", system, u, a.Digest, a.Steps, b.Digest, b.Steps)
				}
				for what := range one {
					if swept[what] != one[what] {
						t.Fatalf("%T, %s: a run is made %d times, and %d when each step is chosen: %s", system, u, swept[what], one[what], what)
					}
				}
			}
		}
	}
}

// stepwise is a strategy that chooses each step.
type stepwise struct{ strategy.Uniform }

func (s stepwise) New(info lockstep.Info) lockstep.Scheduler {
	return struct{ lockstep.Scheduler }{s.Uniform.New(info)}
}
