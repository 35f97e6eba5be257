package zookeeper

import (
	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// Away says who is isolated in a step, as the paper draws it: servers that are not started, and
// those that are killed when the others have agreed, just before the request.
type Away struct{ Start, Request lockstep.Nodes }

// Scenarios are the runs that reports of defects describe, with the harness of each.
var Scenarios = []target.Scenario{
	scheduled("ZOOKEEPER-2832", "servers diverge: what only a leader without followers had logged is never taken back (3.4.9)", Div, Schedule2832),
	scheduled("ZOOKEEPER-3875", "a state that no order of the writes explains (3.5.8)", Sc, Schedule3875),
}

// Schedule2832 is what the report of ZOOKEEPER-2832 describes, with servers 1, 2, 3 for its A, B, C.
// 2 leads 1, loses it, and logs a write that nobody else gets. 1 and 3 agree on a later epoch
// without it. 2 and 3 agree, and 2 should take it back. There is another write, and all come
// back.
var Schedule2832 = []Away{
	{Start: trace.NodesOf(3), Request: trace.NodesOf(1)},
	{Start: trace.NodesOf(2)},
	{Start: trace.NodesOf(1)},
}

// Schedule3875 is the run that the paper found: 2 logs a write that nobody else gets, and commits it
// with 1 when both come back; 3, which knows nothing of it, comes back with 1 alone.
var Schedule3875 = []Away{
	{Start: trace.NodesOf(3), Request: trace.NodesOf(1)},
	{Start: trace.NodesOf(3)},
	{Start: trace.NodesOf(2)},
	{},
}

func scheduled(name, help, harness string, away []Away) target.Scenario {
	return target.Scenario{Name: name, Help: help, Set: []string{"harness=" + harness},
		Build: func() lockstep.Scenario { return Schedule(name, away...) }}
}

// Schedule is a scenario in which it is fixed who is isolated in each step of a harness. All
// servers are down between steps and in the end, and nothing is left to the strategy.
func Schedule(name string, away ...Away) *Scenario {
	sc := New(name)
	passed := Count("stretches of time")
	sc.If(Did(trace.Start)).Named("the schedule").Then(Do("isolate servers step by step", func(m *Moment, hand *lockstep.Hand) {
		for _, s := range steps(m.Run, away) {
			hand.Do(s)
		}
	}))
	sc.If(Did(trace.Wait)).Named("time passes").Then(passed.Incr())
	sc.If(Did(trace.Crash), passed.Ge(2*len(away)), Cond("all are down", func(m *Moment) bool { return m.Run.Up() == 0 })).Named("the end").Then(Finish())
	return sc
}

// calm is how much longer than other stretches of time the one after a request is, so that servers
// have logged it.
const calm = 5

// steps are those of a schedule, and some that will turn out to be impossible and are skipped.
func steps(run *lockstep.Run, away []Away) (steps []lockstep.Step) {
	each := func(kind lockstep.Kind, nodes lockstep.Nodes, request int) {
		for n := range nodes.All() {
			steps = append(steps, lockstep.Step{Kind: kind, Node: n, Request: int32(request)})
		}
	}
	for i, a := range away {
		each(trace.Crash, run.All(), 0)
		each(trace.Restart, run.All()&^a.Start, 0)
		steps = append(steps, run.Wait())
		each(trace.Crash, a.Request, 0)
		each(trace.Request, run.All(), i+1) // only one of them may have it
		after := run.Wait()
		after.For *= calm
		steps = append(steps, after)
	}
	each(trace.Crash, run.All(), 0)
	return steps
}
