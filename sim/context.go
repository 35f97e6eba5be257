package sim

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/timers"
	"github.com/lockstep-go/lockstep/trace"
)

// Context is a node's hold on the world: its name, its network, its alarm, its storage.
type Context[M any] struct {
	self       lockstep.Node
	node       Node[M]
	deployment *Deployment[M]
	disk       any
	wipe       func()
	alive      bool // the program has started and has not been stopped
	alarm      alarm
	timers     timers.Timers // those with a name
	chance     lockstep.Chance
	rand       *rand.Rand
}

// Self is the node's number.
func (c *Context[M]) Self() lockstep.Node { return c.self }

// Nodes is the number of nodes.
func (c *Context[M]) Nodes() int { return c.deployment.cluster.Nodes }

// Now is the virtual time.
func (c *Context[M]) Now() trace.Time {
	if c.deployment.out == nil {
		return 0
	}
	return c.deployment.out.Now()
}

// Chance is the node's own source of random numbers, seeded anew for each run. It goes on
// after a crash. What is drawn from it belongs to the step under way.
func (c *Context[M]) Chance() *lockstep.Chance { return &c.chance }

// Rand is the same source for code that wants one of math/rand/v2.
func (c *Context[M]) Rand() *rand.Rand { return c.rand }

// Send sends a message to a node, which may be the sender itself.
func (c *Context[M]) Send(to lockstep.Node, m M) {
	d := c.deployment
	if d.out == nil { // no engine: see Bare
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
	if d.out == nil { // no engine: see Bare
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

// Emit reports something observable. The value may point into the node: it is looked
// at before the next step. A pointer costs no allocation.
func (c *Context[M]) Emit(event string, value any) {
	if d := c.deployment; d.out != nil {
		d.out.Event(lockstep.Event{Node: c.self, Type: event, Value: value})
	} else {
		d.events = append(d.events, lockstep.Event{Node: c.self, Type: event, Value: value})
	}
}

// renew gives the node a program that remembers nothing.
func (c *Context[M]) renew() {
	c.stop()
	c.alarm, c.timers = alarm{}, c.timers[:0]
	if r, ok := c.node.(interface{ Reset() }); ok {
		r.Reset()
		return
	}
	c.node = c.deployment.cluster.New(c.self, c.deployment.cluster.Nodes)
}

// start starts the program.
func (c *Context[M]) start() {
	c.alive = true
	c.node.Start(c)
}

// stop tells the program that its life is over.
func (c *Context[M]) stop() {
	if s, ok := c.node.(interface{ Stop() }); ok && c.alive {
		s.Stop()
	}
	c.alive = false
}

// Shared is what the cluster's Begin returned.
func (c *Context[M]) Shared() any { return c.deployment.shared }

// crash ends the life of the node. Storage that can lose something draws what.
func (c *Context[M]) crash() {
	c.renew()
	if d, ok := c.disk.(interface {
		Crash(draw func(n int) int) (kept, of int)
	}); ok {
		d.Crash(c.chance.IntN)
	}
}

// Storage is what Durable needs of a node's context: a *Context or a *Process.
type Storage interface {
	storage() (disk *any, wipe *func())
}

func (c *Context[M]) storage() (*any, *func()) { return &c.disk, &c.wipe }

// Durable is a node's stable storage: a value of type D that survives crashes. It is
// zero when the node first starts in a run. What is written to it is durable at once, unless D
// has a method Crash like that of a storage.Disk, which is called at a crash. If D has a method
// Reset(), that makes it zero again instead of an assignment.
func Durable[D any](p Storage) *D {
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
