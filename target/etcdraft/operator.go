package etcdraft

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/operator"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// Read states the index that a read may see.
type Read = raftlib.Read

// The operator's tasks; its explicit requests come after them.
const (
	changing = iota
	transferring
	explicit
)

func newOperator(c Cluster) *operator.Operator {
	return operator.New(c.Nodes, []operator.Task{changing: {Name: "change members", Times: c.Changes},
		transferring: {Name: "transfer leadership", Times: c.Transfers}}, c.askTexts())
}

// ask executes an operator's request at a node. The operator does not retry a refused or lost request.
func (d *Deployment) ask(id int32, n *node) {
	d.input(n)
	task, ask := d.operator.Given(id)
	there := !d.retired.Has(n.id)
	switch task {
	case explicit:
		d.change(n, d.asks[ask])
	case transferring:
		if voters := n.machine.conf.Voters; voters != 0 && there {
			to := voters.Nth(d.rand.IntN(voters.Len()))
			d.out.Event(lockstep.Event{Type: raftspec.EventMembers, Node: n.id, Value: &Asked{To: to}})
			n.raft.TransferLeader(to)
		}
		d.operator.Next(task)
	default:
		if c, ok := d.drawChange(&n.machine); ok && there {
			d.change(n, c)
		}
		d.operator.Next(task)
	}
	d.settle(n)
}

// change requests other members at a node.
func (d *Deployment) change(n *node, c raftlib.ConfChange) {
	d.out.Event(lockstep.Event{Type: raftspec.EventMembers, Node: n.id, Value: &Asked{Change: c}})
	_ = n.raft.ProposeChange(c)
}

// retire stops the nodes that were removed: their clocks stop, clients cannot reach them, and they only answer. A
// careful operator waits until a majority of the others has applied the removal. An operator that stops a leader as
// soon as the leader has applied its own removal may block the others. They do not know that the entry is committed.
// The leader's log is longer than theirs, so they need its vote and cannot get it.
func (d *Deployment) retire(m *machine) {
	for gone := range (m.removed() &^ d.retired).All() {
		know := 0
		for v := range m.conf.Voters.All() {
			if d.node(v).machine.removed().Has(gone) {
				know++
			}
		}
		if know > m.conf.Voters.Len()/2 {
			d.retired = d.retired.With(gone)
			d.clocks.Changed()
		}
	}
}

// drawChange draws a membership change that is sensible in the node's view. It adds or removes one voter or learner,
// promotes a learner, or replaces one node by way of a joint configuration, which is left again.
func (d *Deployment) drawChange(m *machine) (raftlib.ConfChange, bool) {
	if m.conf.Outgoing != 0 {
		return raftlib.ConfChange{}, !m.conf.AutoLeave
	}
	pick := func(s lockstep.Nodes) lockstep.Nodes {
		if s == 0 {
			return 0
		}
		return lockstep.Nodes(0).With(s.Nth(d.rand.IntN(s.Len())))
	}
	outside := lockstep.Nodes(1<<d.cluster.Nodes-1) &^ m.ever
	c := raftlib.ConfChange{V1: d.rand.IntN(2) == 0}
	switch d.rand.IntN(5) {
	case 0:
		c.Add = pick(outside)
	case 1:
		c.Learn = pick(outside)
	case 2:
		c.Add = pick(m.conf.Learners)
	case 3:
		c.Remove = pick(m.conf.Members())
	default:
		c.Add, c.Remove = pick(outside|m.conf.Learners), pick(m.conf.Voters)
		c.Joint, c.V1 = raftlib.Transition(d.rand.IntN(3)), false
	}
	return c, c.Add|c.Learn|c.Remove != 0 && m.allows(c)
}
