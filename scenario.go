package lockstep

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep/trace"
)

// Scenario guides a run: it sees the effects of each step before the strategy does and makes some of the choices. All
// other choices are the strategy's. It is an immutable value.
type Scenario interface {
	// Name is the scenario's name in traces and reports.
	Name() string
	// Fit returns an error if the scenario does not fit a system with this description. Otherwise it returns the fault
	// model that the scenario declares for its runs: nil if any fault is allowed.
	Fit(Info) (*Budget, error)
	// New makes a director, which serves many runs of one worker.
	New(Info) Director
}

// Director carries out a scenario in one run after the other.
type Director interface {
	// Reset begins a new run. The source is the run's own and may be kept until the next Reset.
	Reset(*rand.Rand)
	// Observe is called after the start of a run and after every step. It sees the step (run.Last), the messages it
	// sent (run.Sent) and its events (run.Events), and acts through the control. While run.Settling reports true, the
	// control has no effect.
	Observe(run *Run, control *Control)
	// Idle is called when the strategy has no step to take. A director that makes a step possible, by releasing or
	// doing something, reports true, and the run continues. Otherwise the exploring stage ends.
	Idle(run *Run, control *Control) bool
	// End is called when the run ends without a finding, and may fail it.
	End(run *Run, control *Control)
	// Report says what the scenario did in the run just ended. If the scenario took no effect, vacuous says why;
	// otherwise it is empty. The counts say how often each part of the scenario took effect, always in the same order.
	// They are valid until the next run.
	Report() (vacuous string, counts []Count)
}

// Count is a named number in a [Result]. It counts events by type, failing runs by property, checks by property, or
// effects by part of the scenario. The fields after N are for some of these only.
type Count struct {
	// Name is the type, the property, or the part of the scenario.
	Name string
	// N is the number, or NotCounted.
	N int
	// Runs is for checks of a property: the number of runs that have checked it at least once.
	Runs int
	// Optional is for properties and parts of the scenario. It says that a campaign in which N stays zero is no
	// problem, because the property or part is about something that need not happen.
	Optional bool
	// Sometimes is for properties. It says that the property is a goal, which must happen at least once in a campaign:
	// N is how often it happened.
	Sometimes bool
}

// NotCounted is the number of something that has no counter. It is not zero.
const NotCounted = -1

// Control is a director's means to act on a run. In a replay, the director's steps come from the trace. The director
// still observes the run and may fail it, but the methods that steer the run have no effect ([Control.Active]).
type Control struct {
	turn *Turn
	run  *Run // of turn
	mute bool
}

// Hold takes a free message away from the strategy until [Control.Release], or until a step queued with [Control.Do]
// delivers or drops it. On a FIFO link it also blocks the messages sent after it.
func (c *Control) Hold(id trace.ID) {
	r := c.run
	if c.Active() && r.messages[id-1].Fate == trace.InFlight {
		r.hold(id)
	}
}

// Release makes a held message free again, so that the strategy may deliver or drop it.
func (c *Control) Release(id trace.ID) {
	r := c.run
	if c.Active() && r.messages[id-1].Fate == trace.Held {
		r.release(id)
	}
}

// Do queues a step that the engine takes before it asks the strategy again. A step that is impossible when its turn
// comes is skipped.
func (c *Control) Do(s Step) {
	if c.Active() {
		c.run.queue = append(c.run.queue, s)
	}
}

// Forge makes a Replace step, for [Control.Do]: it gives a message in flight another body, as a Byzantine sender would.
// The body is in the text format that the system parses ([Outbox.Forged]).
func (c *Control) Forge(id trace.ID, body string) Step { return c.run.forge(id, body) }

// Replay asks a player for the next action of its script that is possible now, and writes it to next as a step. It
// reports false at the end of the script. It does not take the step: the director gives it to [Control.Do]. It is a
// method of Control because a player needs the run's [Turn], which a director does not have.
func (c *Control) Replay(p *Player, next *Step) bool { return p.Next(c.turn, next) }

// Active reports whether the methods that steer the run have an effect: those that hold, release, reserve and take
// steps. They have none in a replay, in the settling stage, and in a [Control.Muted] control.
func (c *Control) Active() bool { return !c.mute && !c.run.settling }

// Muted is a control of the same run that is not [Control.Active], for observing what a director would do.
func (c *Control) Muted() *Control { return &Control{turn: c.turn, run: c.run, mute: true} }

// HoldTimers keeps the strategy from firing the timers of nodes until [Control.ReleaseTimers]. [Control.Do] can still
// fire them.
func (c *Control) HoldTimers(nodes Nodes) {
	if c.Active() {
		c.run.heldTimers |= nodes
	}
}

// ReleaseTimers lets the strategy fire the timers of nodes again.
func (c *Control) ReleaseTimers(nodes Nodes) {
	if c.Active() {
		c.run.heldTimers &^= nodes
	}
}

// Reserve takes a waiting request away from the strategy, so that only a step queued with [Control.Do] gives it to a
// node.
func (c *Control) Reserve(id int32) {
	if c.Active() {
		if p, ok := c.run.takePending(id); ok {
			c.run.reserved = append(c.run.reserved, p)
		}
	}
}

// Abort ends the campaign with an error: the scenario itself is wrong.
func (c *Control) Abort(err error) {
	if c.run.broken == nil {
		c.run.broken = err
	}
}

// Fail ends the run with a finding.
func (c *Control) Fail(f Finding) {
	if c.run.finding == nil {
		c.run.finding = &f
	}
}

// Finish ends the run: the scenario has reached its goal. The settling stage still follows.
func (c *Control) Finish() {
	if r := c.run; !r.settling {
		r.ended, r.left = true, 0
	}
}
