package etcdraft

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/operator"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// Read says what a read may see.
type Read = raftlib.Read

// The operator's duties; its asks come after them.
const (
	changing = iota
	transferring
	duties
)

func newOperator(c Cluster) *operator.Operator {
	return operator.New(c.Nodes, []operator.Task{changing: {Name: "change members", Times: c.Changes},
		transferring: {Name: "transfer leadership", Times: c.Transfers}}, c.askTexts())
}

// ask carries out what an operator asks for at a node. What is refused or lost is not asked
// for again.
func (d *Deployment) ask(id int32, n *node) {
	d.input(n)
	duty, ask := d.operator.Given(id)
	there := !d.retired.Has(n.id)
	switch duty {
	case duties:
		d.change(n, d.asks[ask])
	case transferring:
		if voters := n.machine.conf.Voters; voters != 0 && there {
			to := voters.Nth(d.rand.IntN(voters.Len()))
			d.out.Event(lockstep.Event{Type: raftspec.EventMembers, Node: n.id, Value: &Asked{To: to}})
			n.raft.TransferLeader(to)
		}
		d.operator.Next(duty)
	default:
		if c, ok := d.drawChange(&n.machine); ok && there {
			d.change(n, c)
		}
		d.operator.Next(duty)
	}
	d.settle(n)
}

// change asks a node for other members.
func (d *Deployment) change(n *node, c raftlib.ConfChange) {
	d.out.Event(lockstep.Event{Type: raftspec.EventMembers, Node: n.id, Value: &Asked{Change: c}})
	_ = n.raft.ProposeChange(c)
}

// retire stops the nodes that were removed: their clocks stand still, clients cannot reach
// them, and they only answer. A careful operator waits until a majority of the others has
// applied the removal. One that stops a leader as soon as it has applied its own may leave
// the others behind with its vote needed and not to be had, because they do not know that
// the entry is committed and the log of the leader is longer than theirs.
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

// drawChange draws a membership change that makes sense to a node, as far as it knows:
// one node more or less, as voter or learner, a learner that becomes a voter, or one
// node in the place of another by way of a joint configuration, which is left again.
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
