package zookeeper

import (
	"fmt"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// Schedule is a scenario in which it is fixed who is isolated in each step of a harness. All
// servers are down between steps and in the end, and nothing is left to the strategy.
type Schedule struct {
	// Title names it.
	Title string
	// Away has an entry for each step of the harness.
	Away []Away
}

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
		Build: func() lockstep.Scenario { return Schedule{name, away} }}
}

// Name is the title.
func (s Schedule) Name() string { return s.Title }

// Fit reports what is wrong with the schedule for a system.
func (s Schedule) Fit(info lockstep.Info) (*lockstep.Budget, error) {
	for i, a := range s.Away {
		if beyond := (a.Start | a.Request) &^ trace.AllNodes(info.Nodes); beyond != 0 {
			return nil, fmt.Errorf("%s: step %d isolates server %d of %d", s.Title, i+1, beyond.First(), info.Nodes)
		}
	}
	return nil, info.Require(s.Title, trace.KindsOf(trace.Crash, trace.Restart, trace.Request, trace.Wait))
}

// New makes a director.
func (s Schedule) New(lockstep.Info) lockstep.Director { return &director{Schedule: s} }

// director takes the steps of a schedule, one after the other.
type director struct {
	Schedule
	left  []lockstep.Step
	taken int
}

// Reset begins a new run.
func (d *director) Reset(*rand.Rand) { d.left, d.taken = nil, 0 }

// Look takes the next step that is possible.
func (d *director) Look(run *lockstep.Run, hand *lockstep.Hand) {
	if run.Last().Kind == trace.Start {
		d.left = d.steps(run)
	}
	for len(d.left) > 0 {
		next := d.left[0]
		d.left = d.left[1:]
		if run.Possible(next) {
			d.taken++
			hand.Do(next)
			return
		}
	}
	hand.Finish()
}

// calm is how much longer than other stretches of time the one after a request is, so that servers
// have logged it.
const calm = 5

// steps are those of the schedule, and some that will turn out to be impossible.
func (d *director) steps(run *lockstep.Run) (steps []lockstep.Step) {
	each := func(kind lockstep.Kind, nodes lockstep.Nodes, request int) {
		for n := range nodes.All() {
			steps = append(steps, lockstep.Step{Kind: kind, Node: n, Request: int32(request)})
		}
	}
	for i, away := range d.Away {
		each(trace.Crash, run.All(), 0)
		each(trace.Restart, run.All()&^away.Start, 0)
		steps = append(steps, run.Wait())
		each(trace.Crash, away.Request, 0)
		each(trace.Request, run.All(), i+1) // only one of them may have it
		after := run.Wait()
		after.For *= calm
		steps = append(steps, after)
	}
	each(trace.Crash, run.All(), 0)
	return steps
}

// Idle has nothing left to do when the strategy has not.
func (d *director) Idle(*lockstep.Run, *lockstep.Hand) bool { return false }

// End judges nothing.
func (d *director) End(*lockstep.Run, *lockstep.Hand) {}

// Tell counts the steps.
func (d *director) Tell() lockstep.Effects {
	return lockstep.Effects{Counts: []lockstep.Count{{Name: "steps of the schedule", N: d.taken}}}
}
