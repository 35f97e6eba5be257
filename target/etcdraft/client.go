package etcdraft

import (
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// waiter is a client that waits for its write.
type waiter struct {
	client int
	seq    uint16
}

// reader is a client that waits for its read, up to the index that it may see.
type reader struct {
	waiter
	key     uint8
	context uint64
	index   uint64 // 0: unknown
}

// request gives a request to a node. The client's request is offered again at once: the strategy decides when the
// client times out.
func (d *Deployment) request(id int32, n *node) {
	if d.operator.Has(id) {
		d.ask(id, n)
		return
	}
	o, try := d.clients.Given(id)
	d.clients.Offer(o)
	if d.retired.Has(n.id) {
		return // no connection
	}
	d.input(n)
	w := waiter{client: o.Client, seq: o.Seq}
	switch {
	case o.Writes():
		at := len(d.data)
		d.data = o.Encode(d.data)
		n.waiting = append(n.waiting, w)
		// If the library refuses the proposal, the client learns of it and may try again.
		if n.raft.Propose(d.data[at:len(d.data):len(d.data)]) != nil {
			n.waiting = n.waiting[:len(n.waiting)-1]
		}
	case d.cluster.Reads >= Local:
		d.answerUnasked(n, w, o.Key)
	default:
		r := reader{waiter: w, key: o.Key, context: uint64(o.Client)<<48 | uint64(o.Seq)<<32 | try<<8 | uint64(n.id)}
		n.reads = append(n.reads, r)
		n.raft.ReadIndex(r.context)
	}
	d.settle(n)
}

// answerUnasked is wrong on purpose: it answers a read from the node's own replica, without asking a quorum whether
// the replica is up to date.
func (d *Deployment) answerUnasked(n *node, w waiter, key uint8) {
	if d.cluster.Reads == Leader {
		if n.lead == 0 {
			return
		}
		leader := d.node(n.lead)
		if !leader.up || leader.role != raftlib.Leader || d.out.Cut(n.id).Has(leader.id) ||
			d.out.Cut(leader.id).Has(n.id) {
			return
		}
		n = leader
	}
	d.clients.Answer(n.id, w.client, w.seq, n.machine.Read(key))
}

// answerWrite answers the client whose write the node has applied, if the client waits at this node.
func (d *Deployment) answerWrite(n *node, o kv.Op, r kv.Result) {
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
		d.clients.Answer(n.id, o.Client, o.Seq, r)
	}
}

// confirmReads records the indexes that reads may see.
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
		switch {
		case d.clients.Wait(r.client, r.seq) == nil: // another node has answered
		case r.index == 0 || r.index > n.machine.applied:
			kept = append(kept, r)
		default:
			d.clients.Answer(n.id, r.client, r.seq, n.machine.Read(r.key))
		}
	}
	n.reads = kept
}
