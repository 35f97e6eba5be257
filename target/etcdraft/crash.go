package etcdraft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// crash stops a node. Half of the crashes hit the node while it is idle: what was
// written without a sync may be lost or kept. The other half hit it in the middle of
// handling a message on its way to it, or a tick where there is none: the message has
// been read and the Ready that it causes is carried out up to a point drawn from the
// seed, between any two writes of it or before its messages go out. The sender knows
// nothing of that, so the message itself may still arrive later.
func (d *Deployment) crash(n *node) {
	c := &Crashed{}
	if n.chance.IntN(2) == 0 {
		c.While, c.Kept = d.interrupt(n)
	} else if keep := n.chance.IntN(2) == 0; keep || n.disk.Stored() == n.disk.Durable() {
		n.disk.Crash(true)
	} else {
		c.Kept = fmt.Sprintf("commit=%d was not durable", n.disk.Stored().Commit)
		n.disk.Crash(false)
	}
	d.out.Event(lockstep.Event{Type: EventCrash, Node: n.id, Value: c})
	n.up = false
	d.clocks.Changed()
	n.waiting, n.reads, n.reports = n.waiting[:0], n.reads[:0], n.reports[:0]
}

// interrupt gives a node its last input and stops half-way.
func (d *Deployment) interrupt(n *node) (while, kept string) {
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
	if !ok {
		n.disk.Crash(true)
		return while, ""
	}
	return while, d.tear(n, rd)
}

// lastInput draws one of the youngest messages on their way to a node.
func (d *Deployment) lastInput(n *node) lockstep.ID {
	var list [4]lockstep.ID
	k := 0
	for m := range d.out.Coming(n.id) {
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

// tear writes a part of a Ready: some of its entries, or all of them and the hard state,
// which makes a snapshot valid. Storage with atomic writes keeps all or nothing.
func (d *Deployment) tear(n *node, rd *raftlib.Ready) string {
	defer n.disk.Crash(true)
	if rd.Snapshot.Index != 0 {
		if n.chance.IntN(2) == 0 {
			return fmt.Sprintf("snapshot %d lost", rd.Snapshot.Index)
		}
		n.raft.WriteHard()
		n.raft.WriteEntries(len(rd.Entries))
		return fmt.Sprintf("snapshot %d kept", rd.Snapshot.Index)
	}
	k := n.chance.IntN(len(rd.Entries) + 1)
	all := n.chance.IntN(2) == 0 // not only the entries
	if d.cluster.Atomic {
		if k = 0; all {
			k = len(rd.Entries)
		}
	}
	n.raft.WriteEntries(k)
	hard := "hard state unchanged"
	if rd.HardSet {
		hard = "hard state lost"
		if k == len(rd.Entries) && all {
			n.raft.WriteHard()
			hard = "hard state kept"
		}
	}
	return fmt.Sprintf("%d of %d entries kept, %s", k, len(rd.Entries), hard)
}
