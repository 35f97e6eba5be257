package kafka

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// Scenarios are the run described in section 2.2 of the paper, with the unclean settings of the paper and with safe
// ones.
var Scenarios = []target.Scenario{
	{
		Name: "unclean",
		Help: "a partition isolates the leader with the controller, then the leader alone: records that it " +
			"acknowledged are lost",
		Set: []string{
			"controllers=1",
			"insync=1",
			"unclean=true",
		},
		Build: func() lockstep.Scenario { return TwoPartitions() },
	},
	{Name: "safe", Help: "the same with safe settings: the leader alone acknowledges nothing",
		Set: []string{"controllers=1"}, Build: func() lockstep.Scenario { return TwoPartitions() }},
}

// TwoPartitions is a scenario for three brokers and a controller, in which broker 1 leads. A first partition isolates
// broker 1 together with the controller, and a second isolates it alone. Records are written before the partitions and
// during each. The strategy decides nothing.
func TwoPartitions() *scenario.Scenario {
	sc := scenario.New("two partitions in a row")
	leader, controller, others := trace.NodesOf(1), trace.NodesOf(4), trace.NodesOf(2, 3)
	write := func(producer, number int, at lockstep.Node) lockstep.Step {
		return lockstep.Step{Kind: trace.Request, Request: int32(producer*perProducer + number), Node: at}
	}
	sc.If(scenario.Did(trace.Start)).
		Named("the sequence").
		Then(scenario.Do("cut the leader off, with the controller and then alone", func(
			m *scenario.Moment, hand *lockstep.Control) {
			wait, last := m.Run.Wait(), m.Run.Wait()
			last.For++
			for _, s := range []lockstep.Step{
				write(1, 1, 1), wait,
				{Kind: trace.Cut, From: leader | controller, To: others}, wait,
				write(2, 1, 1), write(1, 2, 1), wait,
				{Kind: trace.Cut, From: leader, To: others | controller},
				{Kind: trace.Heal, From: others | controller, To: others | controller}, wait,
				write(2, 2, 2), last,
			} {
				hand.Do(s)
			}
		}))
	sc.If(
		scenario.Did(trace.Wait),
		scenario.Cond("it is the last",
			func(m *scenario.Moment) bool { return m.Run.Last().For == m.Run.Wait().For+1 }),
	).
		Named("the end").
		Then(scenario.Finish())
	return sc
}
