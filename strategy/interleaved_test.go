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

// beater sends a message to everyone whenever its alarm fires, and sets it again.
type beater struct{}

func (beater) Start(c *sim.Context[int])                     { c.SetAlarm(1) }
func (beater) Receive(*sim.Context[int], lockstep.Node, int) {}
func (beater) Request(*sim.Context[int], int32, string)      {}
func (beater) Alarm(c *sim.Context[int])                     { c.Broadcast(1); c.SetAlarm(1) }

// TestStepsInBetween: a scenario takes a step of its own after each alarm, so that the
// step that the strategy chose is not the last when it is asked again. It must notice all
// the same that its alarm has rung, or it lets that alarm ring for ever.
func TestStepsInBetween(t *testing.T) {
	system := sim.Cluster[int]{Name: "beaters", Nodes: 3, New: func(lockstep.Node, int) sim.Node[int] { return beater{} }}
	for _, s := range []lockstep.Strategy{strategy.PCTCP{Depth: 1, Events: 100, Steps: 400}, strategy.POS{Steps: 400}} {
		rang := make([]int, 4)
		sc := scenario.New("drop everything")
		sc.If(scenario.Did(trace.Alarm)).Then(scenario.Do("count", func(m *scenario.Moment, _ *lockstep.Hand) { rang[m.Node]++ }))
		sc.If(scenario.IsSend()).Then(scenario.Drop())
		if _, err := lockstep.Explore(context.Background(), lockstep.Plan{System: system, Strategy: s, Scenario: sc, Runs: 10, Workers: 1}); err != nil {
			t.Fatal(err)
		}
		if min(rang[1], rang[2], rang[3]) < 200 { // of about 1000
			t.Errorf("%s: the alarms rang %v times", s, rang[1:])
		}
	}
}
