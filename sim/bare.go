package sim

import "github.com/lockstep-go/lockstep"

// Bare is a cluster without an engine, for benchmarks: whatever nodes send lies in a list until the
// caller delivers it. It is exported because the benchmarks of targets, such as smr, measure with it
// what the engine costs.
type Bare[M any] struct{ d *Deployment[M] }

// link is the two ends of a message.
type link struct{ from, to lockstep.Node }

// NewBare makes the nodes of a cluster; Reset starts them.
func NewBare[M any](c Cluster[M]) Bare[M] { return Bare[M]{d: c.deploy()} }

// Reset makes every node as new and starts it.
func (b Bare[M]) Reset(seed uint64) {
	b.d.senders, b.d.alarms, b.d.events = b.d.senders[:0], 0, b.d.events[:0]
	b.d.start(seed)
}

// Close releases what blocking programs hold.
func (b Bare[M]) Close() { _ = b.d.Close() } // it cannot fail

// Sent is the number of messages sent so far. They are numbered from 0.
func (b Bare[M]) Sent() int { return len(b.d.bodies) }

// Ends tells who sent a message to whom.
func (b Bare[M]) Ends(i int) (from, to lockstep.Node) { return b.d.senders[i].from, b.d.senders[i].to }

// Message is the content of a message.
func (b Bare[M]) Message(i int) M { return b.d.bodies[i] }

// Deliver hands a message to its receiver.
func (b Bare[M]) Deliver(i int) {
	p := &b.d.places[b.d.senders[i].to-1]
	p.node.Receive(p, b.d.senders[i].from, b.d.bodies[i])
}

// Alarms is the set of nodes whose alarm is armed.
func (b Bare[M]) Alarms() lockstep.Nodes { return b.d.alarms }

// Alarm fires the alarm of a node.
func (b Bare[M]) Alarm(n lockstep.Node) {
	b.d.alarms = b.d.alarms.Without(n)
	b.d.places[n-1].fire()
}

// Events are what was observable at the nodes since Reset.
func (b Bare[M]) Events() []lockstep.Event { return b.d.events }
