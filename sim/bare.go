package sim

import "github.com/lockstep-go/lockstep"

// Bare is a cluster without an engine, for benchmarks. Sent messages stay in a list until the caller delivers them. The
// type is exported because the benchmarks of targets, such as smr, use it to measure the overhead of the engine.
type Bare[M any] struct{ d *Deployment[M] }

// link holds the sender and the receiver of a message.
type link struct{ from, to lockstep.Node }

// NewBare creates the nodes of a cluster; Reset starts them.
func NewBare[M any](c Cluster[M]) Bare[M] { return Bare[M]{d: c.deploy()} }

// Reset returns every node to its initial state and starts it.
func (b Bare[M]) Reset(seed uint64) {
	b.d.senders, b.d.timers, b.d.events = b.d.senders[:0], 0, b.d.events[:0]
	b.d.start(seed)
}

// Close releases the resources of blocking programs.
func (b Bare[M]) Close() { _ = b.d.Close() } // it cannot fail

// Sent returns the number of messages sent so far. Messages are numbered from 0.
func (b Bare[M]) Sent() int { return len(b.d.bodies) }

// Endpoints returns the sender and the receiver of the i-th message.
func (b Bare[M]) Endpoints(i int) (from, to lockstep.Node) {
	return b.d.senders[i].from, b.d.senders[i].to
}

// Message returns the content of the i-th message.
func (b Bare[M]) Message(i int) M { return b.d.bodies[i] }

// Deliver delivers the i-th message to its receiver.
func (b Bare[M]) Deliver(i int) {
	p := &b.d.places[b.d.senders[i].to-1]
	p.node.Receive(p, b.d.senders[i].from, b.d.bodies[i])
}

// Timers returns the set of nodes with an armed timer.
func (b Bare[M]) Timers() lockstep.Nodes { return b.d.timers }

// Timeout fires the timer of a node.
func (b Bare[M]) Timeout(n lockstep.Node) {
	b.d.timers = b.d.timers.Without(n)
	b.d.places[n-1].fire()
}

// Events returns the events that nodes emitted since Reset.
func (b Bare[M]) Events() []lockstep.Event { return b.d.events }
