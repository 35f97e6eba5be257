package lockstep

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep/trace"
)

// Scenario guides a run: it sees the effects of each step before the strategy does and controls some of the choices.
// All other choices are the strategy's. It is an immutable value.
type Scenario interface {
	// Name is the scenario's name in traces and reports.
	Name() string
	// Fit reports why the scenario does not fit such a system. Otherwise it returns the fault model that it declares
	// for its runs: nil if any fault is allowed.
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
	// Idle is called when the strategy has no step left. A director that makes a step possible, by releasing or doing
	// something, reports true and the run continues.
	Idle(run *Run, control *Control) bool
	// End is called when the run ends without a finding, and may fail it.
	End(run *Run, control *Control)
	// Report says what the scenario did in the run just ended. If the scenario never took effect, vacuous says why
	// the run does not count; otherwise it is empty. The counts say how often each part of the scenario took effect,
	// always in the same order. They are valid until the next run.
	Report() (vacuous string, counts []Count)
}

// Count is a named number in a [Result]: of events, failing runs, checks of a property, or effects of a part of the
// scenario.
type Count struct {
	Name string
	// N is the number, or NotCounted.
	N int
	// Runs is the number of runs that have checked the property at least once; only for properties.
	Runs int
	// Optional says that a count of zero is fine: the part guards against an event that need not happen.
	Optional bool
	// Sometimes says that the property is one that must hold at least once: N is how often it held.
	Sometimes bool
}

// NotCounted is the number of something without a counter. It is not zero.
const NotCounted = -1

// Control is a director's means to act on a run. In a replay, the director's steps come from the trace. There the
// director still checks the run, but the control has no effect on it.
type Control struct {
	turn *Turn
	run  *Run // of turn
	mute bool
}

// Hold takes a message in flight away from the strategy until it is released, or delivered or dropped by Do. On a
// FIFO link it blocks the messages sent after it.
func (c *Control) Hold(id trace.ID) {
	r := c.run
	if c.Active() && r.messages[id-1].Fate == trace.InFlight {
		r.hold(id)
	}
}

// Release gives a held message back to the strategy.
func (c *Control) Release(id trace.ID) {
	r := c.run
	if c.Active() && r.messages[id-1].Fate == trace.Held {
		r.release(id)
	}
}

// Do queues a step to take before the strategy is asked again. A step that is impossible at its turn is skipped.
func (c *Control) Do(s Step) {
	if c.Active() {
		c.run.queue = append(c.run.queue, s)
	}
}

// Forge makes the step that gives a message in flight another body, as a Byzantine sender would. The body is in the
// format that the system reads.
func (c *Control) Forge(id trace.ID, body string) Step { return c.run.forge(id, body) }

// Replay writes the next step of a player's script to next and reports true, or reports false at the end of the
// script. It does not take the step: see Do.
func (c *Control) Replay(p *Player, next *Step) bool { return p.Next(c.turn, next) }

// Moves reports whether the control has an effect. It has none in a replay, and none while the run settles.
func (c *Control) Active() bool { return !c.mute && !c.run.settling }

// Muted is a control of the same run without any effect, for checking what a director would do.
func (c *Control) Muted() *Control { return &Control{turn: c.turn, run: c.run, mute: true} }

// HoldTimers keeps the timers of nodes from the strategy until they are released. Do can still fire them.
func (c *Control) HoldTimers(nodes Nodes) {
	if c.Active() {
		c.run.heldTimers |= nodes
	}
}

// ReleaseTimers gives the timers of nodes back to the strategy.
func (c *Control) ReleaseTimers(nodes Nodes) {
	if c.Active() {
		c.run.heldTimers &^= nodes
	}
}

// Reserve takes a waiting request away from the strategy, so that only Do can give it.
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
