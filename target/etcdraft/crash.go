package etcdraft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// crash stops a node. Half of the crashes hit an idle node: writes without a sync may be lost or kept. The other half
// hit the node while it handles a message in flight to it, or a tick if there is no message. The node has read the
// message and writes the resulting Ready up to a point drawn from the seed. That point lies between any two writes,
// or before the messages go out. The sender does not notice, so the message itself may still arrive later.
func (d *Deployment) crash(n *node) {
	c := &Crashed{}
	snapshot, keep := uint64(0), 0
	if n.chance.IntN(2) == 0 {
		c.While, snapshot, keep = d.interrupt(n)
	} else if n.chance.IntN(2) == 0 {
		keep = n.disk.Open()
	}
	if _, of := n.disk.Crash(func(n int) int { return n - 1 - keep }); of > 0 {
		c.Kept = fmt.Sprintf("%d of %d writes kept", keep, of)
	}
	if snapshot != 0 {
		fate := "lost"
		if n.disk.Base().Index == snapshot {
			fate = "kept"
		}
		c.Kept += fmt.Sprintf(", snapshot %d %s", snapshot, fate)
	}
	d.out.Event(lockstep.Event{Type: raftspec.EventCrash, Node: n.id, Value: c})
	n.up = false
	d.clocks.Changed()
	n.waiting, n.reads, n.reports = n.waiting[:0], n.reads[:0], n.reports[:0]
}

// interrupt gives a node its last input and writes the result. It returns a description of that input, the index of a
// snapshot among the writes, and the number of kept writes.
func (d *Deployment) interrupt(n *node) (while string, snapshot uint64, keep int) {
	while = "a tick"
	if id := d.lastInput(n); id != 0 {
		m := d.out.Message(id)
		while = m.String()
		_ = n.raft.Receive(m.Body)
	} else {
		t := n.timer
		t.Arm()
		n.raft.Tick()
		t.Disarm()
	}
	rd, ok := n.raft.Ready(&d.arena)
	if ok && d.cluster.Async {
		rd, ok = n.raft.NextAppend(&d.arena)
	}
	before := n.disk.Open()
	if !ok {
		return while, 0, before
	}
	d.write(n, rd)
	return while, rd.Snapshot.Index, before + d.torn(n, rd, n.disk.Open()-before)
}

// torn draws how many writes of a Ready are kept: some of its entries, or all of them and the hard state, with which
// a snapshot becomes valid. Storage with atomic writes keeps all or nothing.
func (d *Deployment) torn(n *node, rd *raftlib.Ready, of int) int {
	if rd.Snapshot.Index != 0 {
		return of * n.chance.IntN(2)
	}
	k := n.chance.IntN(len(rd.Entries) + 1)
	all := n.chance.IntN(2) == 0 // not only the entries
	switch {
	case all && (k == len(rd.Entries) || d.cluster.Atomic):
		return of
	case d.cluster.Atomic:
		return 0
	}
	return k
}

// lastInput draws one of the most recent messages in flight to a node.
func (d *Deployment) lastInput(n *node) trace.ID {
	var list [4]trace.ID
	k := 0
	for m := range d.out.Incoming(n.id) {
		if k < len(list) && !d.refused(m) {
			list[k] = m.ID
			k++
		}
		if k == len(list) {
			break
		}
	}
	if k == 0 {
		return 0
	}
	return list[n.chance.IntN(k)]
}
