package etcdraft

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// Time. A tick is a unit of virtual time. Every node has a clock of its own, which runs
// only when its alarm fires: then it catches up with the run's virtual time. A node that
// is already there takes the time further: by one tick while messages are on their way,
// and otherwise to the next moment at which one of the nodes that are there acts, since
// nothing can happen before. So a lock-step strategy, which fires the alarms of all
// nodes in turn, sees the node with the shortest time-out campaign and nobody else, and
// a run does not spend its steps on ticks that do nothing.

// alarm lets a node's clock catch up. A node that slept through several time-outs wakes
// up to one of them, as a process whose ticker drops ticks.
func (d *Deployment) alarm(n *node) {
	now := d.out.Now()
	d.armed.stale = true
	n.calm++
	for n.clock < now {
		n.clock++
		if d.tick(n) {
			n.clock = now
		}
	}
	if d.cluster.Async { // storage that stands still is not slow but broken
		d.work(n, 1, 1)
		n.timer.Check()
	}
}

// tick reports whether the node's timer was due.
func (d *Deployment) tick(n *node) bool {
	t := n.timer
	due := t.Left(n.role == raftlib.Leader) == 1
	d.input(n)
	t.Arm()
	n.raft.Tick()
	t.Disarm()
	d.settle(n)
	return due
}

// ticking reports whether a node has a clock: one that was retired has none.
func (d *Deployment) ticking(n *node) bool { return n.up && !d.retired.Has(n.id) }

// timed reports whether the node acts by itself when time passes.
func (n *node) timed() bool {
	return n.role == raftlib.Leader || (n.machine.conf.Voters | n.machine.conf.Outgoing).Has(n.id)
}

// armed is what the alarms were last set for: the run's time, and the next moment for the
// nodes that are there. Stale says that a node's clock moved, started or stopped since.
type armed struct {
	now, next lockstep.Time
	stale     bool
}

// arm sets the alarms of all nodes after a step that changed something about them.
func (d *Deployment) arm() {
	now := d.out.Now()
	next := now + 1
	if d.flying == 0 {
		next = d.nextTimer(now)
	}
	if to := (armed{now: now, next: next}); d.armed != to {
		d.armed = to
		d.setAlarms(now, next)
	}
}

func (d *Deployment) setAlarms(now, next lockstep.Time) {
	for i := range d.nodes {
		n := &d.nodes[i]
		switch {
		case !d.ticking(n):
			d.out.StopAlarm(n.id)
		case n.clock < now:
			d.out.SetAlarm(n.id, now)
		default:
			d.out.SetAlarm(n.id, next)
		}
	}
}

// nextTimer is the next moment at which a node acts whose clock is not behind.
func (d *Deployment) nextTimer(now lockstep.Time) lockstep.Time {
	var next lockstep.Time
	for i := range d.nodes {
		n := &d.nodes[i]
		if n.clock < now || !d.ticking(n) || !n.timed() {
			continue
		}
		if at := now + lockstep.Time(n.timer.Left(n.role == raftlib.Leader)); next == 0 || at < next {
			next = at
		}
	}
	return max(next, now+1)
}
