package lockstep_test

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
)

// bouncer forwards every message to the next node without allocating.
type bouncer struct{}

func (bouncer) Start(c *sim.Context[int]) {
	c.Send(lockstep.Node(int(c.Self())%c.Nodes()+1), 1)
	c.SetTimeout(10)
}
func (bouncer) Receive(c *sim.Context[int], _ lockstep.Node, m int) {
	c.Send(lockstep.Node(int(c.Self())%c.Nodes()+1), m)
}
func (bouncer) Timeout(c *sim.Context[int])              { c.SetTimeout(10) }
func (bouncer) Request(*sim.Context[int], int32, string) {}

// Once warm, the engine and the strategies allocate nothing per step. Further runs of a campaign cost at most a few
// allocations each, however long they are.
func TestNoAllocationPerStep(t *testing.T) {
	tier.NotShort(t)
	system := sim.Cluster[int]{Name: "bouncer", Nodes: 3, New: func(lockstep.Node, int) sim.Node[int] {
		return sim.With(bouncer{}, sim.Capabilities[int]{Reset: func() {}})
	}}
	for _, s := range []lockstep.Strategy{
		strategy.Walk{Deliver: 10, Timer: 1, Steps: 2000}, strategy.Baseline{Steps: 2000},
		strategy.Partition{Stages: 5, Steps: 200}, strategy.Lossy{Rounds: 500},
		strategy.Uniform{Rounds: 500, Period: 4, Isolations: 8},
		strategy.Uniform{Rounds: 500, Period: 4, Isolations: 8, Sampler: strategy.Paper},
		strategy.PCTCP{Depth: 4, Events: 2000, Steps: 2000}, strategy.POS{Steps: 2000},
		strategy.Queues{Swarm: true, Drops: 1, Dups: 2, Distance: 2, Steps: 2000},
		strategy.Delay{Swarm: true, Steps: 2000},
	} {
		var steps int64
		count := func(runs int) float64 {
			return testing.AllocsPerRun(3, func() {
				result, err := lockstep.Explore(context.Background(),
					lockstep.Plan{System: system, Strategy: s, Runs: runs, Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				steps = result.Steps
			})
		}
		const few, many = 16, 64
		base := count(few)
		perStep := (count(many) - base) / (float64(steps) * (many - few) / many)
		if perStep > 0.01 {
			t.Errorf("%s: %.4f allocations a step, %d steps a run", s, perStep, steps/many)
		}
	}
}
