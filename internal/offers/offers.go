// Package offers manages client requests that are a plain list. It offers each to every node, once or several times,
// each time under a new number.
package offers

import (
	"github.com/lockstep-go/lockstep/trace"
)

// List has the requests of the clients.
type List struct {
	// Nodes is the number of nodes that accept requests.
	Nodes int
	// Texts are the requests. The n-th has the numbers n, n+len(Texts), and so on.
	Texts []string
	// Repeat is the number of offers of each request; 0 means one.
	Repeat int
}

// Queue is the request queue: a [lockstep.Outbox].
type Queue interface{ Offer(trace.Pending) }

// Begin offers every request for the first time.
func (l List) Begin(queue Queue) {
	for i := range l.Texts {
		l.offer(queue, int32(i+1))
	}
}

// Given returns the text of the request with a number, which was given to a node. It offers the request again if it is
// to be repeated.
func (l List) Given(queue Queue, id int32) string {
	if next := int(id) + len(l.Texts); next <= len(l.Texts)*l.Repeat {
		l.offer(queue, int32(next))
	}
	return l.text(id)
}

func (l List) offer(queue Queue, id int32) {
	queue.Offer(trace.Pending{ID: id, To: trace.AllNodes(l.Nodes), Text: l.text(id)})
}

func (l List) text(id int32) string { return l.Texts[(int(id)-1)%len(l.Texts)] }
