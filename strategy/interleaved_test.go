package strategy_test

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// beater broadcasts a message whenever its timer fires, and sets the timer again.
type beater struct{}

func (beater) Start(c *sim.Context[int])                     { c.SetTimeout(1) }
func (beater) Receive(*sim.Context[int], lockstep.Node, int) {}
func (beater) Request(*sim.Context[int], int32, string)      {}
func (beater) Timeout(c *sim.Context[int])                   { c.Broadcast(1); c.SetTimeout(1) }

// TestStepsInBetween uses a scenario that takes a step of its own after each timer. The strategy's step is then not the
// latest one at its next choice. The strategy must still notice that its timer has fired; otherwise it fires that timer
// indefinitely.
func TestStepsInBetween(t *testing.T) {
	system := sim.Cluster[int]{
		Name:  "beaters",
		Nodes: 3,
		New:   func(lockstep.Node, int) sim.Node[int] { return beater{} },
	}
	for _, s := range []lockstep.Strategy{strategy.PCTCP{Depth: 1, Events: 100, Steps: 400}, strategy.POS{Steps: 400}} {
		fired := make([]int, 4)
		sc := scenario.New("drop everything")
		sc.If(scenario.Did(trace.Timer)).
			Then(scenario.Do("count", func(m *scenario.Moment, _ *lockstep.Control) { fired[m.Node]++ }))
		sc.If(scenario.IsSend()).Then(scenario.Drop())
		if _, err := lockstep.Explore(context.Background(),
			lockstep.Plan{System: system, Strategy: s, Scenario: sc, Runs: 10, Workers: 1}); err != nil {
			t.Fatal(err)
		}
		if min(fired[1], fired[2], fired[3]) < 200 { // of about 1000
			t.Errorf("%s: the timers fired %v times", s, fired[1:])
		}
	}
}
