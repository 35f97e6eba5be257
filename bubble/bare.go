package bubble

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Bare runs a [Cluster] without the engine: the caller delivers the messages that nodes send. Benchmarks compare the
// engine with it. This package warms processes up with it.
type Bare struct {
	d    *deployment
	mail []sending
	asks []trace.Pending
}

// NewBare makes a cluster without an engine. Its nodes start with Run.
func NewBare(c Cluster, env *lockstep.Env) (*Bare, error) {
	d, err := c.Deploy(context.Background(), env)
	if err != nil {
		return nil, err
	}
	return &Bare{d: d.(*deployment)}, nil
}

// Run starts the nodes, calls f, and stops the nodes. The finding names goroutines that they left behind.
func (b *Bare) Run(seed uint64, f func()) (*lockstep.Finding, error) {
	return b.d.enclose(func() {
		b.mail, b.asks = b.mail[:0], b.asks[:0]
		if err := b.d.begin(seed, nil); err != nil {
			panic(err)
		}
		b.settle()
		f()
	})
}

// Close undoes the cluster's changes to the settings of the process.
func (b *Bare) Close() error { return b.d.Close() }

// Sent is the number of messages sent so far. They are numbered from 0.
func (b *Bare) Sent() int { return len(b.mail) }

// Deliver delivers the message with the number i, see Sent.
func (b *Bare) Deliver(i int) {
	m := &b.mail[i]
	if c, ok := m.body.(*chunk); ok {
		c.deliver()
		b.settle()
		return
	}
	if n := b.d.incarnations[m.to-1]; n != nil { // the node may have exited
		n.give(arrival{from: m.from, body: m.body})
	}
	b.settle()
}

// GiveRequest gives the oldest waiting request to a node, and reports whether there was one.
func (b *Bare) GiveRequest(n lockstep.Node) bool {
	if len(b.asks) == 0 {
		return false
	}
	p := b.asks[0]
	b.asks = b.asks[1:]
	if to := b.d.incarnations[n-1]; to != nil {
		to.give(arrival{id: p.ID, body: p.Text})
	}
	b.settle()
	return true
}

// Wait lets virtual time pass until something happens, such as a message or an event, at most for the time given.
func (b *Bare) Wait(most time.Duration) {
	b.d.wait(most)
	b.settle()
}

// settle waits until the bubble is quiescent and keeps what the nodes sent.
func (b *Bare) settle() {
	b.d.quiesce()
	b.d.takeExits(nil)
	w := b.d.world
	w.mutex.Lock()
	defer w.mutex.Unlock()
	b.d.arrange()
	b.mail, b.asks = append(b.mail, w.sent...), append(b.asks, w.offers...)
	w.sent, w.events, w.offers, w.withdrawn = w.sent[:0], w.events[:0], w.offers[:0], w.withdrawn[:0]
	w.raise()
}

// all is the set of all nodes.
func (d *deployment) all() lockstep.Nodes { return trace.AllNodes(d.Nodes) }

// warm makes a short run that does not count. Packages do some things once in a process, such as filling a cache. Such
// an action draws from the random stream of the run in which it happens. So the first run would be different when it is
// repeated.
func (d *deployment) warm() {
	b := &Bare{d: d}
	d.warming = true
	defer func() { d.warming = false }()
	_, _ = d.enclose(func() { // errors here occur in the runs that count, too
		defer func() { _ = recover() }()
		if d.begin(1, nil) != nil {
			return
		}
		b.settle()
		delivered := 0
		for i := range 300 {
			switch {
			case delivered < b.Sent():
				delivered++
				b.Deliver(delivered - 1)
			case i%4 == 0 && b.GiveRequest(lockstep.Node(1+i/4%d.Nodes)):
			default:
				b.Wait(d.Pace)
			}
		}
	})
	if d.files {
		_ = d.wipe() // Reset reports a failure
	}
}
