package scenario

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Synchronous is the strategy for runs without faults. [Distances] measures in such runs. Messages arrive in the order
// of sending. When none is in flight, the waiting requests are given to the nodes in turn; when none waits, the timer
// that is due first fires. A request may wait again after it was given, because the node could not serve it. It is
// given again after the next timer: otherwise retrying clients would stop the clock. Synchronous draws nothing.
type Synchronous struct {
	// Steps is the length of a run; 0 means as long as a step is possible.
	Steps int
}

// String is the strategy as written on the command line.
func (s Synchronous) String() string { return fmt.Sprintf("synchronous:steps=%d", s.Steps) }

// Fit returns the terms on which the strategy explores the system.
func (s Synchronous) Fit(info lockstep.Info) (lockstep.Terms, error) {
	if s.Steps < 0 {
		return lockstep.Terms{}, fmt.Errorf("synchronous: steps is %d, it must not be negative", s.Steps)
	}
	return lockstep.Terms{
			Guarantee: lockstep.Guarantee{
				Class:   "a given execution",
				Assumes: []string{"there is only one synchronous run"},
			},
		},
		info.Require("synchronous", trace.KindsOf(trace.Deliver))
}

// New makes a scheduler.
func (s Synchronous) New(lockstep.Info) lockstep.Scheduler { return &inOrder{steps: s.Steps} }

type inOrder struct {
	steps int
	given int
	since map[int32]bool // the requests given since a timer last fired
}

// Reset begins a new run.
func (i *inOrder) Reset(*lockstep.Start) { i.given, i.since = 0, map[int32]bool{} }

// Report returns empty statistics.
func (i *inOrder) Report(bool) lockstep.SchedulerStats { return lockstep.SchedulerStats{} }

// Next chooses the next step.
func (i *inOrder) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if i.steps > 0 && turn.Steps() >= i.steps {
		return false
	}
	if flying := turn.FreeMessages(); len(flying) > 0 {
		next.Kind, next.Msg = trace.Drop, flying[0]
		if turn.Up().Has(turn.Message(flying[0]).To) {
			next.Kind = trace.Deliver
		}
		return true
	}
	timer := i.timer(turn)
	for _, p := range turn.Pending() {
		if to := p.To & turn.Up(); to != 0 && (timer == 0 || !i.since[p.ID]) {
			i.given++
			i.since[p.ID] = true
			next.Kind, next.Request, next.Node = trace.Request, p.ID, to.Nth((i.given-1)%to.Len())
			return true
		}
	}
	clear(i.since)
	next.Kind, next.Node = trace.Timer, timer
	return timer != 0
}

// timer is the node whose timer is due first, or 0.
func (i *inOrder) timer(turn *lockstep.Turn) (first lockstep.Node) {
	for n := range turn.Timers().All() {
		if first == 0 || turn.TimerAt(n) < turn.TimerAt(first) {
			first = n
		}
	}
	return first
}
