package etcdraft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// client has one operation under way at a time. It is offered to the strategy as a
// request, first when the client is ready for it, then again as long as it is not
// answered: the strategy decides when the client loses its patience and which node it
// tries next. It takes the first answer, from whichever node it asked.
type client struct {
	ops     []Op
	text    string // of the operation under way or next
	results []Result
	at      int // the operation under way or next
	asked   bool
	tries   uint64
}

// idStep separates the numbers of the clients' requests; an operator's begin at admin.
const (
	idStep = 10_000
	admin  = 1_000_000
)

// drawOps draws a client's operations for a run and offers the first.
func (d *Deployment) drawOps(c *client, number int) {
	*c = client{ops: c.ops[:0], results: append(c.results[:0], make([]Result, d.cluster.Requests)...)}
	for i := range d.cluster.Requests {
		o := Op{Client: number, Seq: uint16(i + 1), Key: uint8(d.rand.IntN(d.cluster.Keys))}
		if d.cluster.Mix == Binary {
			d.drawBinary(&o)
		} else {
			d.drawMixed(&o, i)
		}
		c.ops = append(c.ops, o)
	}
	d.nextOp(c, 0)
}

// drawBinary draws among read, write 0 and write 1.
func (d *Deployment) drawBinary(o *Op) {
	if k := d.rand.IntN(3); k == 2 {
		o.Kind = Get
	} else {
		o.Kind, o.Value = Put, int32(k)
	}
}

// drawMixed draws the client's i-th operation among all kinds.
func (d *Deployment) drawMixed(o *Op, i int) {
	switch k := d.rand.IntN(10); {
	case k < 4:
		o.Kind, o.Value = Put, d.valueOf(o.Client, i)
	case k < 8:
		o.Kind = Get
	default:
		o.Kind, o.Value = Cas, d.valueOf(o.Client, i)
		if other := d.rand.IntN(d.cluster.Clients + 1); other > 0 { // a value that somebody may have put
			o.Old = d.valueOf(other, d.rand.IntN(d.cluster.Requests))
		}
	}
}

// valueOf is the value that the i-th operation of a client writes; no other writes it.
func (d *Deployment) valueOf(client, i int) int32 {
	scale := 100
	if d.cluster.Requests >= scale {
		scale = idStep
	}
	return int32(client*scale + i + 1)
}

func (c *client) requestID() int32 { return int32(c.ops[c.at].Client*idStep + c.at + 1) }

// offerOp offers the client's operation to all nodes.
func (d *Deployment) offerOp(c *client) {
	if c.at < len(c.ops) {
		d.out.Offer(lockstep.Pending{ID: c.requestID(), To: trace.AllNodes(d.cluster.Nodes), Text: c.text})
	}
}

// nextOp turns to the client's next operation and offers it.
func (d *Deployment) nextOp(c *client, at int) {
	if c.at, c.asked = at, false; at == len(c.ops) {
		return
	}
	o := c.ops[at]
	if c.text = d.texts[o]; c.text == "" {
		c.text = o.String()
		d.texts[o] = c.text
	}
	d.offerOp(c)
}

// request gives a request to a node.
func (d *Deployment) request(id int32, n *node) {
	if id >= admin {
		d.ask(id, n)
		return
	}
	c := &d.clients[id/idStep-1]
	o := &c.ops[c.at]
	c.tries++
	if !c.asked {
		c.asked = true
		d.out.Event(lockstep.Event{Type: spec.EventCall, Value: d.events.calls.new(spec.Call{Client: o.Client, ID: int(id), Input: o})})
	}
	d.offerOp(c)
	if d.retired.Has(n.id) {
		return // no connection
	}
	d.input(n)
	w := waiter{client: o.Client, seq: o.Seq}
	switch {
	case o.Kind == Get && d.cluster.Reads >= Local:
		d.answerUnasked(n, w, o.Key)
	case o.Kind == Get:
		r := reader{waiter: w, context: uint64(o.Client)<<48 | uint64(o.Seq)<<32 | c.tries<<8 | uint64(n.id)}
		n.reads = append(n.reads, r)
		n.raft.ReadIndex(r.context)
	default:
		at := len(d.data)
		d.data = o.encode(d.data)
		n.waiting = append(n.waiting, w)
		if n.raft.Propose(d.data[at:len(d.data):len(d.data)]) != nil { // refused: the client hears that and may try again
			n.waiting = n.waiting[:len(n.waiting)-1]
		}
	}
	d.settle(n)
}

// answerUnasked answers a read as one must not: by a node's own copy, without asking
// anyone whether it is up to date.
func (d *Deployment) answerUnasked(n *node, w waiter, key uint8) {
	if d.cluster.Reads == Leader {
		if n.lead == 0 {
			return
		}
		leader := d.node(n.lead)
		if !leader.up || leader.role != raftlib.Leader || d.out.Cut(n.id).Has(leader.id) || d.out.Cut(leader.id).Has(n.id) {
			return
		}
		n = leader
	}
	d.answer(n, w, Result{Value: n.machine.values[key], OK: true})
}

// answerWrite answers the client whose write a node has applied, where it waits there.
func (d *Deployment) answerWrite(n *node, o Op, r Result) {
	found := false
	kept := n.waiting[:0]
	for _, w := range n.waiting {
		if w.client == o.Client && w.seq <= o.Seq {
			found = found || w.seq == o.Seq
			continue
		}
		kept = append(kept, w)
	}
	n.waiting = kept
	if found {
		d.answer(n, waiter{o.Client, o.Seq}, r)
	}
}

// confirmReads takes note of the indexes that reads may see.
func (d *Deployment) confirmReads(n *node, reads []Read) {
	for _, r := range reads {
		for i := range n.reads {
			if n.reads[i].context == r.Context && n.reads[i].index == 0 {
				n.reads[i].index = r.Index
			}
		}
	}
	if len(reads) > 0 {
		d.answerReads(n)
	}
}

// answerReads answers the reads whose index the node has applied.
func (d *Deployment) answerReads(n *node) {
	kept := n.reads[:0]
	for _, r := range n.reads {
		c := &d.clients[r.client-1]
		switch {
		case c.at >= len(c.ops) || c.ops[c.at].Seq != r.seq: // answered elsewhere
		case r.index == 0 || r.index > n.machine.applied:
			kept = append(kept, r)
		default:
			v := n.machine.values[c.ops[c.at].Key]
			d.answer(n, r.waiter, Result{Value: v, OK: true})
		}
	}
	n.reads = kept
}

// answer ends a client's operation, unless another node was faster.
func (d *Deployment) answer(n *node, w waiter, r Result) {
	c := &d.clients[w.client-1]
	if c.at >= len(c.ops) || c.ops[c.at].Seq != w.seq {
		return
	}
	d.out.Withdraw(c.requestID())
	c.results[c.at] = r
	d.out.Event(lockstep.Event{Type: spec.EventReturn, Node: n.id,
		Value: d.events.returns.new(spec.Return{Client: w.client, ID: int(c.requestID()), Output: &c.results[c.at]})})
	d.nextOp(c, c.at+1)
}

// Answered reports how many of the clients' operations are answered, and how many there
// are.
func (d *Deployment) Answered() (answered, all int) {
	for i := range d.clients {
		answered += d.clients[i].at
		all += len(d.clients[i].ops)
	}
	return answered, all
}

// offerChange and offerTransfer offer what the operator does next.
func (d *Deployment) offerChange() {
	if d.changes < d.cluster.Changes {
		d.changes++
		d.offerAdmin(admin+d.changes, fmt.Sprintf("change members (%d)", d.changes))
	}
}

func (d *Deployment) offerTransfer() {
	if d.transfers < d.cluster.Transfers {
		d.transfers++
		d.offerAdmin(2*admin+d.transfers, fmt.Sprintf("transfer leadership (%d)", d.transfers))
	}
}

func (d *Deployment) offerAdmin(id int, text string) {
	d.out.Offer(lockstep.Pending{ID: int32(id), To: trace.AllNodes(d.cluster.Nodes), Text: text})
}
