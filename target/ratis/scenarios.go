package ratis

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// Scenarios are runs that show a defect.
var Scenarios = []target.Scenario{{Name: "old-leader", Help: "the leader is cut off with a request that nobody else gets, and comes back to another leader: it applies the request (1.0.0)",
	Set: []string{"control=time", "phases=1"}, Build: func() lockstep.Scenario { return OldLeader() }}}

// OldLeader is a scenario in which the leader is cut off, then gets a request, and comes back when the others have another leader. Nothing is
// left to the strategy.
func OldLeader() *scenario.Scenario {
	sc := scenario.New("old-leader")
	sc.If(scenario.Did(trace.Start)).Named("the story").Then(scenario.Do("cut the leader off", func(m *scenario.Moment, hand *lockstep.Hand) {
		leader := m.Run.Playing(roleLeader)
		wait := m.Run.Wait()
		for _, s := range []lockstep.Step{
			{Kind: trace.Cut, From: leader, To: m.Run.All() &^ leader}, {Kind: trace.Request, Request: 1, Node: leader.First()}, wait, wait, wait, wait,
			{Kind: trace.Heal, From: m.Run.All(), To: m.Run.All()}, last(wait),
		} {
			hand.Do(s)
		}
	}))
	sc.If(scenario.Did(trace.Wait), scenario.Cond("it is the last", func(m *scenario.Moment) bool { return m.Run.Last().For == last(m.Run.Wait()).For })).Named("the end").Then(scenario.Finish())
	return sc
}

// last is a wait of a length that no other has.
func last(wait lockstep.Step) lockstep.Step {
	wait.For++
	return wait
}
