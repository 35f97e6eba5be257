// Package ticks turns the virtual time of a run into ticks, for systems whose nodes count ticks. A tick is a unit of
// virtual time.
//
// Every node has its own clock, which advances only when the node's timer fires. The clock then catches up with the
// virtual time of the run. If it has already caught up, the firing advances the virtual time. The time advances by one
// tick while messages are in flight. Otherwise it jumps to the next tick at which a node acts, because nothing can
// happen before.
//
// A lock-step strategy fires the timers of all nodes in turn. With these clocks, only the node with the shortest
// timeout acts, and a run spends no steps on ticks without an effect.
package ticks

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Timers is what a system reports of its nodes.
type Timers interface {
	// Ticking reports whether a node has a clock: it is up and was not retired.
	Ticking(n lockstep.Node) bool
	// Left is the number of ticks, at least 1, up to the one at which a node acts on its own;
	// 0: it never does.
	Left(n lockstep.Node) int
	// Tick lets a node's time continue by one tick and reports whether its timer was due.
	Tick(n lockstep.Node) bool
}

// Clocks are the clocks of the nodes of one system.
type Clocks struct {
	timers Timers
	at     []trace.Time // by node: the virtual time up to which it was ticked
	// What the timers were last set for: the run's time, and the next moment for the nodes
	// that are there.
	now, next trace.Time
	stale     bool           // a clock moved, started or stopped since
	changed   bool           // a node started or stopped since
	ticking   lockstep.Nodes // those that have a clock
}

// New makes the clocks of so many nodes.
func New(nodes int, t Timers) *Clocks { return &Clocks{timers: t, at: make([]trace.Time, nodes+1)} }

// Start sets the clock of a node that starts.
func (c *Clocks) Start(n lockstep.Node, now trace.Time) {
	c.at[n], c.stale, c.changed = now, true, true
}

// Changed says that a node stopped or was retired.
func (c *Clocks) Changed() { c.stale, c.changed = true, true }

// Fire lets a node's clock catch up. A node that slept through several time-outs wakes up to
// one of them, as a process whose ticker drops ticks.
func (c *Clocks) Fire(n lockstep.Node, now trace.Time) {
	c.stale = true
	for c.at[n] < now {
		c.at[n]++
		if c.timers.Tick(n) {
			c.at[n] = now
		}
	}
}

// Set sets the timers of all nodes after a step, where something about them changed.
func (c *Clocks) Set(out *lockstep.Outbox) {
	if c.stale || out.InFlight() == 0 || out.Now() != c.now || c.next != c.now+1 {
		c.set(out)
	}
}

func (c *Clocks) set(out *lockstep.Outbox) {
	if c.changed {
		c.observe()
	}
	now := out.Now()
	next := now + 1
	if out.InFlight() == 0 {
		next = c.soonest(now)
	}
	if c.stale || now != c.now || next != c.next {
		c.now, c.next, c.stale = now, next, false
		c.setTimers(out)
	}
}

func (c *Clocks) setTimers(out *lockstep.Outbox) {
	for i := range c.at[1:] {
		n := lockstep.Node(i + 1)
		switch {
		case !c.ticking.Has(n):
			out.StopTimer(n)
		case c.at[n] < c.now:
			out.SetTimer(n, c.now)
		default:
			out.SetTimer(n, c.next)
		}
	}
}

// observe looks which nodes have a clock.
func (c *Clocks) observe() {
	c.changed, c.ticking = false, 0
	for i := range c.at[1:] {
		if n := lockstep.Node(i + 1); c.timers.Ticking(n) {
			c.ticking = c.ticking.With(n)
		}
	}
}

// soonest is the next moment at which a node acts whose clock is not behind.
func (c *Clocks) soonest(now trace.Time) trace.Time {
	var next trace.Time
	for i := range c.at[1:] {
		n := lockstep.Node(i + 1)
		if c.at[n] < now || !c.ticking.Has(n) {
			continue
		}
		if left := c.timers.Left(n); left > 0 && (next == 0 || now+trace.Time(left) < next) {
			next = now + trace.Time(left)
		}
	}
	return max(next, now+1)
}
