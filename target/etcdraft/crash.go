package etcdraft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
)

// crash stops a node. Half of the crashes hit the node while it is idle, the other half in the
// middle of handling a message on its way to it, or a tick where there is none: the message
// has been read and the Ready that it causes is written, but its messages do not go out. The
// sender knows nothing of that, so the message itself may still arrive later. Of what was not
// synced, the disk keeps a part: a crash comes between any two writes.
func (d *Deployment) crash(n *node) {
	c := &Crashed{}
	var snapshot uint64
	if n.chance.IntN(2) == 0 {
		c.While, snapshot = d.interrupt(n)
	}
	if kept, of := n.disk.Crash(d.keep(n)); of > 0 {
		c.Kept = fmt.Sprintf("%d of %d writes kept", kept, of)
	}
	if snapshot != 0 {
		fate := "lost"
		if n.disk.Base().Index == snapshot {
			fate = "kept"
		}
		c.Kept += fmt.Sprintf(", snapshot %d %s", snapshot, fate)
	}
	d.out.Event(lockstep.Event{Type: EventCrash, Node: n.id, Value: c})
	n.up = false
	d.clocks.Changed()
	n.waiting, n.reads, n.reports = n.waiting[:0], n.reads[:0], n.reports[:0]
}

// keep draws how many writes a crash leaves. Storage with atomic writes keeps all or nothing.
func (d *Deployment) keep(n *node) func(int) int {
	if d.cluster.Atomic {
		return func(k int) int { return (k - 1) * n.chance.IntN(2) }
	}
	return n.chance.IntN
}

// interrupt gives a node its last input and writes what that causes. It tells which input
// that was, and the index of a snapshot among what is written.
func (d *Deployment) interrupt(n *node) (while string, snapshot uint64) {
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
		return while, 0
	}
	d.write(n, rd)
	return while, rd.Snapshot.Index
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
