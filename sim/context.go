package sim

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
)

// Context is a node's hold on the world: its name, its network, its alarm, its storage.
type Context[M any] struct {
	self       lockstep.Node
	node       Node[M]
	deployment *Deployment[M]
	disk       any
	wipe       func()
	chance     lockstep.Chance
	rand       *rand.Rand
}

// Self is the node's number.
func (c *Context[M]) Self() lockstep.Node { return c.self }

// Nodes is the number of nodes.
func (c *Context[M]) Nodes() int { return c.deployment.cluster.Nodes }

// Now is the virtual time.
func (c *Context[M]) Now() lockstep.Time {
	if c.deployment.out == nil {
		return 0
	}
	return c.deployment.out.Now()
}

// Draw draws a number from 0 to n-1, from the node's own source. The draw belongs to the step
// under way, see [lockstep.Chance].
func (c *Context[M]) Draw(n int) int { return c.chance.IntN(n) }

// Rand is the node's own source, seeded anew for each run. It goes on after a crash. Draw
// reads better in a trace.
func (c *Context[M]) Rand() *rand.Rand { return c.rand }

// Send sends a message to a node, which may be the sender itself.
func (c *Context[M]) Send(to lockstep.Node, m M) {
	d := c.deployment
	d.bodies = append(d.bodies, m)
	if d.out == nil { // no engine: see Bare
		d.senders = append(d.senders, link{c.self, to})
		return
	}
	kind, tag := d.envelope()
	d.describe(d.out.Send(c.self, to, kind, tag))
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
	d.bodies = append(d.bodies, m)
	kind, tag := d.envelope()
	d.describe(d.out.Broadcast(c.self, kind, tag))
}

// SetAlarm arms the node's alarm to fire after the given virtual time; an alarm that
// was armed before is replaced.
func (c *Context[M]) SetAlarm(after lockstep.Time) {
	if d := c.deployment; d.out != nil {
		d.out.SetAlarm(c.self, d.out.Now()+after)
	} else {
		d.alarms = d.alarms.With(c.self)
	}
}

// StopAlarm disarms the node's alarm.
func (c *Context[M]) StopAlarm() {
	if d := c.deployment; d.out != nil {
		d.out.StopAlarm(c.self)
	} else {
		d.alarms = d.alarms.Without(c.self)
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
	if r, ok := c.node.(interface{ Reset() }); ok {
		r.Reset()
		return
	}
	c.node = c.deployment.cluster.New(c.self, c.deployment.cluster.Nodes)
}

// Storage is what Durable needs of a node's context: a *Context or a *Process.
type Storage interface {
	storage() (disk *any, wipe *func())
}

func (c *Context[M]) storage() (*any, *func()) { return &c.disk, &c.wipe }

// Durable is a node's stable storage: a value of type D that survives crashes. It is
// zero when the node first starts in a run. What is written to it is durable at once.
// If D has a method Reset(), that makes it zero again instead of an assignment.
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
