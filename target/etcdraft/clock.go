package etcdraft

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// timer advances a node's clock to the current virtual time.
func (d *Deployment) timer(n *node) {
	n.calm++
	d.clocks.Fire(n.id, d.out.Now())
	if d.cluster.Async { // stalled storage would be a failure, not slowness
		d.work(n, 1, 1)
		n.timer.Check()
	}
}

// Tick advances a node's clock by one tick and reports whether its timer was due.
func (d *Deployment) Tick(id lockstep.Node) bool {
	n := d.node(id)
	t := n.timer
	due := t.Left(n.role == raftlib.Leader) == 1
	d.input(n)
	t.Arm()
	n.raft.Tick()
	t.Disarm()
	if due || n.role == raftlib.Leader || d.cluster.Async { // otherwise the tick has only counted
		d.settle(n)
	}
	return due
}

// Ticking reports whether a node has a clock; a retired node has none.
func (d *Deployment) Ticking(id lockstep.Node) bool { return d.node(id).up && !d.retired.Has(id) }

// Left is the number of ticks after which a node acts: a leader, or a node that may campaign.
func (d *Deployment) Left(id lockstep.Node) int {
	n := d.node(id)
	if n.role != raftlib.Leader && !(n.machine.conf.Voters | n.machine.conf.Outgoing).Has(id) {
		return 0
	}
	return n.timer.Left(n.role == raftlib.Leader)
}
