// Package offers is the requests of clients that are a plain list: each is offered to every
// node, once or several times, under a number of its own each time.
package offers

import (
	"github.com/lockstep-go/lockstep/trace"
)

// List is what clients ask for.
type List struct {
	// Nodes is the number of nodes that may be asked.
	Nodes int
	// Texts are the requests. The n-th has the numbers n, n+len(Texts), and so on.
	Texts []string
	// Repeat is how often each is offered; 0 means once.
	Repeat int
}

// Desk is where requests are offered: a [lockstep.Outbox].
type Desk interface{ Offer(trace.Pending) }

// Begin offers every request for the first time.
func (l List) Begin(desk Desk) {
	for i := range l.Texts {
		l.offer(desk, int32(i+1))
	}
}

// Given is what the request of a number asks for, which was given to a node. It is offered
// again where it is to be repeated.
func (l List) Given(desk Desk, id int32) string {
	if next := int(id) + len(l.Texts); next <= len(l.Texts)*l.Repeat {
		l.offer(desk, int32(next))
	}
	return l.text(id)
}

func (l List) offer(desk Desk, id int32) {
	desk.Offer(trace.Pending{ID: id, To: trace.AllNodes(l.Nodes), Text: l.text(id)})
}

func (l List) text(id int32) string { return l.Texts[(int(id)-1)%len(l.Texts)] }
