package zookeeper

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// Away lists the isolated servers of a step, as drawn in the paper. Servers in Start do not start. Servers in Request
// are killed when the others have agreed, just before the request.
type Away struct{ Start, Request lockstep.Nodes }

// Scenarios are the runs described in bug reports, with the harness of each.
var Scenarios = []target.Scenario{
	scheduled("ZOOKEEPER-2832",
		"servers diverge: what only a leader without followers had logged is never taken back (3.4.9)", Div,
		Schedule2832),
	scheduled("divergence",
		"servers diverge, in another way: what was committed while one was away is not everywhere (3.5.8)", Div,
		ScheduleDivergence),
	scheduled("ZOOKEEPER-3875", "a state that no order of the writes explains (3.5.8)", Sc, Schedule3875),
	scheduled("client-dropped", "a client is left over: two have seen epochs of which nothing was logged", Seen,
		ScheduleDropped),
	{
		Name:  "baseline",
		Help:  "the paper's baseline: a step of the harness every 5 seconds, a crash or restart every 2 on average",
		Set:   []string{"free=true"},
		Build: func() lockstep.Scenario { return Baseline() },
	},
}

// Schedule2832 is the run described in ZOOKEEPER-2832, with servers 1, 2, 3 for its A, B, C. Server 2 leads 1, loses
// it, and logs a write that no other server receives. Servers 1 and 3 agree on a later epoch without it. Servers 2 and
// 3 agree, and 2 should truncate it. Another write follows, and all come back.
var Schedule2832 = []Away{
	{Start: trace.NodesOf(3), Request: trace.NodesOf(1)},
	{Start: trace.NodesOf(2)},
	{Start: trace.NodesOf(1)},
}

// ScheduleDivergence is a run of the paper's harness in which servers diverge in versions with the fix of
// ZOOKEEPER-2832. Server 2 logs a write that no other server receives, and commits it with 3 when both come back. 1 and
// 3 continue without 2. When all are back, some servers have the write and others have not.
var ScheduleDivergence = []Away{
	{Start: trace.NodesOf(3), Request: trace.NodesOf(1)},
	{Start: trace.NodesOf(1)},
	{Start: trace.NodesOf(2)},
}

// Schedule3875 is the run that the paper found. Server 2 logs a write that no other server receives, and commits it
// with 1 when both come back. Server 3, which does not have it, comes back with 1 alone.
var Schedule3875 = []Away{
	{Start: trace.NodesOf(3), Request: trace.NodesOf(1)},
	{Start: trace.NodesOf(3)},
	{Start: trace.NodesOf(2)},
	{},
}

// ScheduleDropped is a run without writes. Server 3 leads 2, and its client reads, and thereby sees the beginning of
// the epoch. Then 2 leads 1, and its client does the same. When all are back, one leads, and the last transaction of
// the others is earlier than what the two clients have seen.
var ScheduleDropped = []Away{
	{Start: trace.NodesOf(1)},
	{Start: trace.NodesOf(3)},
}

func scheduled(name, help, harness string, away []Away) target.Scenario {
	return target.Scenario{Name: name, Help: help, Set: []string{"harness=" + harness},
		Build: func() lockstep.Scenario { return Schedule(name, away...) }}
}

// Schedule returns a scenario with fixed isolations in each step of a harness. All servers are down between steps and
// in the end, and the strategy decides nothing.
func Schedule(name string, away ...Away) *Scenario {
	sc := New(name)
	passed := Count("periods of time")
	sc.If(Did(trace.Start)).
		Named("the schedule").
		Then(Do("isolate servers step by step", func(m *Moment, hand *lockstep.Control) {
			for _, s := range steps(m.Run, away) {
				hand.Do(s)
			}
		}))
	sc.If(Did(trace.Wait)).Named("time passes").Then(passed.Incr())
	sc.If(Did(trace.Crash), passed.Ge(2*len(away)),
		Cond("all are down", func(m *Moment) bool { return m.Run.Up() == 0 })).
		Named("the end").
		Then(Finish())
	return sc
}

// The baseline of the paper: the duration of a harness step, and the average time between crashes or restarts.
const (
	baselineStep = 5 * time.Second
	baselineGap  = 2 * time.Second
)

// Baseline is the scenario of the paper's baseline. Harness steps come at regular intervals. In between, after
// exponentially distributed gaps, a random server crashes, or restarts if it is down. The strategy decides nothing.
func Baseline() *Scenario {
	sc := New("baseline")
	sc.If(Did(trace.Start)).
		Named("the baseline").
		Then(Do("crash and restart servers now and then", func(m *Moment, hand *lockstep.Control) {
			for _, s := range baseline(m.Rand(), m.Run.Pending(), m.Run.Up()) {
				hand.Do(s)
			}
			hand.Do(lockstep.Step{Kind: trace.Wait, For: lastWait})
		}))
	sc.If(Did(trace.Wait), Cond("it is the last", func(m *Moment) bool { return m.Run.Last().For == lastWait })).
		Named("the end").
		Then(Finish())
	return sc
}

// lastWait is a duration that no other wait has.
const lastWait = trace.Time(time.Second) + 1

// baseline draws the steps of a baseline. The numbers of requests are those of the steps of the harness, from 1.
func baseline(r *rand.Rand, requests []trace.Pending, up lockstep.Nodes) (steps []lockstep.Step) {
	all, end := up, time.Duration(0)
	for _, p := range requests {
		end = max(end, time.Duration(p.ID)*baselineStep)
	}
	fault := func() time.Duration { return time.Duration(r.ExpFloat64() * float64(baselineGap)) }
	wait := func(d time.Duration) { steps = append(steps, lockstep.Step{Kind: trace.Wait, For: trace.Time(d)}) }
	now, next := time.Duration(0), fault()
	for i := range requests {
		p := &requests[i]
		for at := time.Duration(p.ID-1) * baselineStep; ; {
			if next >= at {
				wait(at - now)
				now = at
				break
			}
			wait(next - now)
			now = next
			steps = append(steps, toggle(r, all, &up))
			next += fault()
		}
		steps = append(steps, lockstep.Step{Kind: trace.Request, Request: p.ID, Node: p.To.First()})
	}
	for ; next < end; next += fault() {
		wait(next - now)
		now = next
		steps = append(steps, toggle(r, all, &up))
	}
	wait(end - now)
	return slices.DeleteFunc(steps, func(s lockstep.Step) bool { return s.Kind == trace.Wait && s.For <= 0 })
}

// toggle crashes a server, or restarts one that is down.
func toggle(r *rand.Rand, all lockstep.Nodes, up *lockstep.Nodes) lockstep.Step {
	n := all.Nth(r.IntN(all.Len()))
	if up.Has(n) {
		*up = up.Without(n)
		return lockstep.Step{Kind: trace.Crash, Node: n}
	}
	*up = up.With(n)
	return lockstep.Step{Kind: trace.Restart, Node: n}
}

// calm is the factor by which the time step after a request is longer than others, so that servers have logged the
// request.
const calm = 5

// steps returns the steps of a schedule. Some of them are impossible in a run and are skipped.
func steps(run *lockstep.Run, away []Away) (steps []lockstep.Step) {
	each := func(kind trace.Kind, nodes lockstep.Nodes, request int) {
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
