package etcdraft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// Read says what a read may see.
type Read = raftlib.Read

// ask carries out what an operator asks for at a node.
func (d *Deployment) ask(id int32, n *node) {
	d.input(n)
	switch {
	case id > 3*admin:
		d.askFor(int(id-3*admin-1), n)
	case id > 2*admin:
		if voters := n.machine.conf.Voters; voters != 0 && !d.retired.Has(n.id) {
			to := voters.Nth(d.rand.IntN(voters.Len()))
			d.out.Event(lockstep.Event{Type: EventMembers, Node: n.id, Value: &Asked{To: to}})
			n.raft.TransferLeader(to)
		}
		d.offerTransfer()
	default:
		if c, ok := d.drawChange(&n.machine); ok && !d.retired.Has(n.id) {
			d.out.Event(lockstep.Event{Type: EventMembers, Node: n.id, Value: &Asked{Change: c}})
			_ = n.raft.ProposeChange(c) // refused or lost, the operator goes on to the next
		}
		d.offerChange()
	}
	d.settle(n)
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
			d.retired, d.armed.stale = d.retired.With(gone), true
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

// admin is the first number of an operator's requests.
const admin = kv.Numbers

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
