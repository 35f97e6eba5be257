package kafka

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// Scenarios are the run that section 2.2 of the paper tells, with the settings that it is about and with those that stand it.
var Scenarios = []target.Scenario{
	{Name: "unclean", Help: "the leader and the controller are cut off from the others, then the leader from everybody: what it acknowledged alone is lost",
		Set: []string{"controllers=1", "insync=1", "unclean=true"}, Build: func() lockstep.Scenario { return TwoPartitions() }},
	{Name: "safe", Help: "the same with settings under which nothing is acknowledged by one alone",
		Set: []string{"controllers=1"}, Build: func() lockstep.Scenario { return TwoPartitions() }},
}

// TwoPartitions is a scenario for three brokers and a controller, in which broker 1 leads: it is cut off with the controller, and
// then alone. Records are written before, under each partition, and nothing is left to the strategy.
func TwoPartitions() *scenario.Scenario {
	sc := scenario.New("two partitions in a row")
	leader, controller, others := trace.NodesOf(1), trace.NodesOf(4), trace.NodesOf(2, 3)
	write := func(producer, number int, at lockstep.Node) lockstep.Step {
		return lockstep.Step{Kind: trace.Request, Request: int32(producer*perProducer + number), Node: at}
	}
	sc.If(scenario.Did(trace.Start)).Named("the story").Then(scenario.Do("cut the leader off, with the controller and then alone", func(m *scenario.Moment, hand *lockstep.Hand) {
		wait, last := m.Run.Wait(), m.Run.Wait()
		last.For++
		for _, s := range []lockstep.Step{
			write(1, 1, 1), wait,
			{Kind: trace.Cut, From: leader | controller, To: others}, wait,
			write(2, 1, 1), write(1, 2, 1), wait,
			{Kind: trace.Cut, From: leader, To: others | controller}, {Kind: trace.Heal, From: others | controller, To: others | controller}, wait,
			write(2, 2, 2), last,
		} {
			hand.Do(s)
		}
	}))
	sc.If(scenario.Did(trace.Wait), scenario.Cond("it is the last", func(m *scenario.Moment) bool { return m.Run.Last().For == m.Run.Wait().For+1 })).Named("the end").Then(scenario.Finish())
	return sc
}
