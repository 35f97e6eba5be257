package kv

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// RequestSink is where a client offers requests and reports events: a [lockstep.Outbox].
type RequestSink interface {
	Offer(trace.Pending)
	Withdraw(id int32)
	Event(lockstep.Event)
}

// Clients are the clients of a run. Each has one operation under way at a time, which is
// offered to the strategy as a request: the strategy decides which node gets it and, where
// it is offered again, when the client times out and which node it asks next. It
// takes the first answer, from whichever node it asked.
type Clients struct {
	load  Load
	nodes lockstep.Nodes
	sink  RequestSink
	list  []client
	texts [1 << 10]text
}

// text is an operation as text, kept because it is drawn in many runs.
type text struct {
	op    Op
	words string
}

type client struct {
	ops      []Op
	results  []Result
	text     string // of the operation under way or next
	at       int    // the operation under way or next
	asked    bool
	attempts uint64
	calls    []spec.Call // by operation, as the answers: a later reader of an event finds it as it was
	answers  []spec.Return
}

// perClient separates the numbers of the clients' requests: the operation i of client c has
// the number c*perClient + i. Other numbers are free for others: those below, and from
// Numbers on.
const perClient = 10_000

// Numbers is a bound on the numbers of clients' requests.
const Numbers = 1_000_000

// NewClients makes the clients of a system with so many nodes.
func NewClients(l Load, nodes int) *Clients {
	return &Clients{load: l, nodes: trace.AllNodes(nodes), list: make([]client, l.Clients)}
}

// Begin begins a run: it draws the operations and offers the first of each client.
func (c *Clients) Begin(r Source, sink RequestSink) {
	c.sink = sink
	for i := range c.list {
		k := &c.list[i]
		*k = client{ops: c.load.draw(r, k.ops[:0], i+1), results: append(k.results[:0], make([]Result, c.load.Requests)...),
			calls:   append(k.calls[:0], make([]spec.Call, c.load.Requests)...),
			answers: append(k.answers[:0], make([]spec.Return, c.load.Requests)...)}
		c.turn(k, 0)
	}
}

// At sets the sink of the present step, where that is not the one of Begin.
func (c *Clients) At(sink RequestSink) { c.sink = sink }

func (c *client) number() int32 { return int32((c.ops[c.at].Client)*perClient + c.at + 1) }

// turn turns to the client's next operation and offers it.
func (c *Clients) turn(k *client, at int) {
	if k.at, k.asked = at, false; at == len(k.ops) {
		return
	}
	k.text = c.words(&k.ops[at])
	c.offer(k)
}

// words puts an operation into words.
func (c *Clients) words(o *Op) string {
	op := *o
	op.Seq = 0 // not in the words
	t := &c.texts[op.hash()>>(64-10)]
	if t.words == "" || t.op != op {
		*t = text{op, op.String()}
	}
	return t.words
}

func (c *Clients) offer(k *client) {
	if k.at < len(k.ops) {
		c.sink.Offer(trace.Pending{ID: k.number(), To: c.nodes, Text: k.text})
	}
}

// Has reports whether the number of a request is one of the clients'.
func (c *Clients) Has(id int32) bool { return id > perClient && id < Numbers }

// Given is called when a request reaches a node, and returns which operation that is and
// how many-th try.
func (c *Clients) Given(id int32) (o *Op, try uint64) {
	k := &c.list[id/perClient-1]
	o = &k.ops[k.at]
	k.attempts++
	if !k.asked {
		k.asked = true
		k.calls[k.at] = spec.Call{Client: o.Client, ID: int(id), Input: o}
		c.sink.Event(lockstep.Event{Type: spec.EventCall, Value: &k.calls[k.at]})
	}
	return o, k.attempts
}

// Offer offers a client's operation again, which was given to a node and may be answered
// there or not.
func (c *Clients) Offer(o *Op) {
	if c.Wait(o.Client, o.Seq) != nil {
		c.offer(&c.list[o.Client-1])
	}
}

// Wait is the operation that a client waits for, or nil where that is another one by now.
func (c *Clients) Wait(number int, seq uint16) *Op {
	k := &c.list[number-1]
	if k.at >= len(k.ops) || k.ops[k.at].Seq != seq {
		return nil
	}
	return &k.ops[k.at]
}

// Answer ends a client's operation with the answer of a node, unless another node was
// faster.
func (c *Clients) Answer(n lockstep.Node, number int, seq uint16, r Result) {
	if c.Wait(number, seq) == nil {
		return
	}
	k := &c.list[number-1]
	c.sink.Withdraw(k.number())
	k.results[k.at] = r
	k.answers[k.at] = spec.Return{Client: number, ID: int(k.number()), Output: &k.results[k.at]}
	c.sink.Event(lockstep.Event{Type: spec.EventReturn, Node: n, Value: &k.answers[k.at]})
	c.turn(k, k.at+1)
}

// GiveUp lets a client continue with its next operation. The one that it waited for may take
// effect or not.
func (c *Clients) GiveUp(number int, seq uint16) {
	if c.Wait(number, seq) != nil {
		k := &c.list[number-1]
		c.sink.Withdraw(k.number())
		c.turn(k, k.at+1)
	}
}

// Answered reports how many of the operations are done with, and how many there are.
func (c *Clients) Answered() (answered, all int) {
	for i := range c.list {
		answered += c.list[i].at
		all += len(c.list[i].ops)
	}
	return answered, all
}
