package strategy_test

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/pbft"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/watchdog"
)

// If the engine handles the messages of rounds, runs are the same as if the strategy chooses each message. Steps and
// digests agree, up to a bound on steps in the middle of a round and into the settling stage.
func TestSweepsAreTheSameRuns(t *testing.T) {
	tier.NotShort(t)
	strategies := []lockstep.Strategy{
		strategy.Uniform{Isolations: 4, Rounds: 16},
		strategy.Uniform{Period: 3, Isolations: 6, Rounds: 12, Isolated: strategy.CutOff},
		strategy.Uniform{Isolations: 4, Rounds: 12, Isolated: strategy.Held},
		strategy.Uniform{Isolations: 3, Rounds: 16, Phases: 1},
		strategy.Lossy{Rounds: 16, Loss: 0.2},
		strategy.Lossy{Rounds: 12, Period: 3, Losses: 5},
	}
	for _, system := range []lockstep.System{
		smr.Cluster{Nodes: 3},
		smr.Cluster{Nodes: 5, Requests: 2},
		pbft.Cluster{},
		raft.Cluster{Requests: 2},
	} {
		for _, s := range strategies {
			for _, steps := range []int{0, 17} {
				plan := lockstep.Plan{System: system, Strategy: s, Runs: 300, Seed: 7, Steps: steps, Settle: 40}
				swept := enginetest.Explore(t, plan)
				plan.Strategy = stepwise{s}
				chosen := enginetest.Explore(t, plan)
				plan.Strategy = s
				plan.Observers = []lockstep.Observer{deeds{}} // which observe each step
				watched := enginetest.Explore(t, plan)
				plan.Observers, plan.Watchdog = nil, watchdog.After(time.Hour)
				timed := enginetest.Explore(t, plan)
				for what, other := range map[string]*lockstep.Result{
					"chosen":  chosen,
					"watched": watched,
					"timed":   timed,
				} {
					if other.Digest != swept.Digest || other.Steps != swept.Steps {
						t.Errorf("%T, %s: digest %x after %d steps, and %x after %d when each is %s", system, s,
							swept.Digest, swept.Steps, other.Digest, other.Steps, what)
					}
				}
			}
		}
	}
}

// stepwise is a strategy that chooses each step.
type stepwise struct{ lockstep.Strategy }

func (s stepwise) Fit(info lockstep.Info) (lockstep.Terms, error) {
	terms, err := s.Strategy.Fit(info)
	terms.Sweeps = false
	return terms, err
}

func (s stepwise) New(info lockstep.Info) lockstep.Scheduler {
	return struct{ lockstep.Scheduler }{s.Strategy.New(info)}
}
