package sim

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/timers"
	"github.com/lockstep-go/lockstep/trace"
)

// Context is the interface of a node to its environment: its number, network, timers and storage.
type Context[M any] struct {
	self       lockstep.Node
	node       Node[M]
	can        Capabilities[M] // of the node
	deployment *Deployment[M]
	disk       any
	wipe       func()
	alive      bool // the program has started and has not been stopped
	timer      timer
	timers     timers.Timers // the named timers
	chance     lockstep.Source
	rand       *rand.Rand
}

// Self returns the node's number.
func (c *Context[M]) Self() lockstep.Node { return c.self }

// Nodes returns the number of nodes.
func (c *Context[M]) Nodes() int { return c.deployment.cluster.Nodes }

// Now returns the virtual time.
func (c *Context[M]) Now() trace.Time {
	if c.deployment.out == nil {
		return 0
	}
	return c.deployment.out.Now()
}

// Source returns the node's own source of random numbers, seeded for each run. A crash does not reset it. Draws belong
// to the current step.
func (c *Context[M]) Source() *lockstep.Source { return &c.chance }

// Rand returns [Context.Source] as a rand.Rand, for code that needs one.
func (c *Context[M]) Rand() *rand.Rand { return c.rand }

// Send sends a message to a node, which may be the sender itself.
func (c *Context[M]) Send(to lockstep.Node, m M) {
	d := c.deployment
	if d.out == nil { // without an engine, see Bare
		d.bodies = append(d.bodies, m)
		d.senders = append(d.senders, link{c.self, to})
		return
	}
	kind, tag := d.envelope(m)
	body := d.out.Send(c.self, to, kind, tag)
	d.bodies = append(d.bodies, m)
	if d.out.Texts() {
		d.describe(body)
	}
}

// Broadcast sends a message to every node, the sender included.
func (c *Context[M]) Broadcast(m M) {
	d := c.deployment
	if d.out == nil { // without an engine, see Bare
		for n := range d.cluster.Nodes {
			c.Send(lockstep.Node(n+1), m)
		}
		return
	}
	kind, tag := d.envelope(m)
	body := d.out.Broadcast(c.self, kind, tag)
	d.bodies = append(d.bodies, m)
	if d.out.Texts() {
		d.describe(body)
	}
}

// Emit reports an observable event. The value may be a pointer into the program's state, which costs no allocation:
// specs read it before the next step.
func (c *Context[M]) Emit(event string, value any) {
	if d := c.deployment; d.out != nil {
		d.out.Event(lockstep.Event{Node: c.self, Type: event, Value: value})
	} else {
		d.events = append(d.events, lockstep.Event{Node: c.self, Type: event, Value: value})
	}
}

// renew gives the node a program in its initial state.
func (c *Context[M]) renew() {
	c.stop()
	c.timer, c.timers = timer{}, c.timers[:0]
	if c.can.Reset != nil {
		c.can.Reset()
		return
	}
	c.build()
}

// build creates the program.
func (c *Context[M]) build() {
	c.node, c.can = c.deployment.cluster.New(c.self, c.deployment.cluster.Nodes), Capabilities[M]{}
	if p, ok := c.node.(*capable[M]); ok {
		c.node, c.can = p.Node, p.can
	}
}

// start starts the program.
func (c *Context[M]) start() {
	c.alive = true
	c.node.Start(c)
}

// stop notifies the program that its incarnation has ended.
func (c *Context[M]) stop() {
	if c.alive && c.can.Stop != nil {
		c.can.Stop()
	}
	c.alive = false
}

// Shared returns the result of the cluster's Begin.
func (c *Context[M]) Shared() any { return c.deployment.shared }

// crash ends the current incarnation of the node. Storage that can lose data draws what it loses.
func (c *Context[M]) crash() {
	c.renew()
	if d, ok := c.disk.(interface {
		Crash(draw func(n int) int) (kept, of int)
	}); ok {
		d.Crash(c.chance.IntN)
	}
}

// DurableOwner is what has [Durable] storage: the [*Context] or the [*Process] of a node. No other type implements it.
type DurableOwner interface {
	storage() (disk *any, wipe *func())
}

func (c *Context[M]) storage() (*any, *func()) { return &c.disk, &c.wipe }

// Durable returns a node's stable storage: a value of type D that survives crashes. It is zero when the node first
// starts in a run. Writes are durable at once.
//
// Two methods of *D change this. With Crash(draw func(n int) int) (kept, of int), writes may be lost: the cluster calls
// the method when the node crashes, and it undoes what was not synced. An example is kit/storage.Disk. With Reset(),
// the cluster calls that method at the start of a run instead of setting the value to zero.
func Durable[D any](p DurableOwner) *D {
	disk, wipe := p.storage()
	if d, ok := (*disk).(*D); ok {
		return d
	}
	d := new(D)
	*disk = d
	*wipe = func() { *d = *new(D) }
	if r, ok := any(d).(interface{ Reset() }); ok {
		*wipe = r.Reset
	}
	return d
}
