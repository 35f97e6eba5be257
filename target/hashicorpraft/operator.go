package hashicorpraft

import (
	"fmt"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/trace"
)

// operator asks for one thing after the other.
type operator struct {
	cluster  Cluster
	world    *bubble.World
	rand     *rand.Rand
	left     [3]int // changes, transfers, snapshots to come
	attempts int32
	what     string
	target   lockstep.Node
	voters   lockstep.Nodes // those that are for sure, as far as the operator knows
}

func newOperator(c Cluster, w *bubble.World) *operator {
	return &operator{cluster: c, world: w, rand: w.Rand(1001), left: [3]int{c.Changes, c.Transfers, c.Snapshots}, voters: trace.AllNodes(c.Nodes)}
}

// next draws what the operator asks for. Two voters remain in any case: of two, one cannot be
// demoted safely, because the other may never hear of it and then lacks a vote.
func (o *operator) next() {
	all := o.left[0] + o.left[1] + o.left[2]
	if all == 0 {
		return
	}
	at, kind := o.rand.IntN(all), 0
	for at >= o.left[kind] {
		at -= o.left[kind]
		kind++
	}
	o.left[kind]--
	o.target = lockstep.Node(1 + o.rand.IntN(o.cluster.Nodes))
	verb := [...]string{"promote", "transfer", "snapshot"}[kind]
	if kind == 0 && o.voters.Has(o.target) && o.voters.Len() > max(2, o.cluster.Nodes/2) {
		verb = "demote"
	}
	o.what = fmt.Sprintf("%s %d", verb, o.target)
	o.offer()
}

func (o *operator) offer() {
	o.attempts++
	o.world.Offer(lockstep.Pending{ID: kv.Numbers + o.attempts, To: trace.AllNodes(o.cluster.Nodes), Text: o.what})
}

// operate does what the operator asks for.
func (r *replica) operate(c Cluster, what string, target lockstep.Node) error {
	id, at := id(target), c.at(target)
	switch what[:4] {
	case "demo":
		return r.raft.DemoteVoter(id, 0, enqueue).Error()
	case "prom":
		return r.raft.AddVoter(id, at, 0, enqueue).Error()
	case "tran":
		return r.raft.LeadershipTransferToServer(id, at).Error()
	default:
		return r.raft.Snapshot().Error()
	}
}

// operated takes the answer to the operator's request.
func (s *clients) operated(n *bubble.Node, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	o := s.operator
	told := &Asked{Text: o.what}
	if err != nil {
		told.Err = err.Error()
	}
	if n.Alive() {
		n.Emit(raftspec.EventMembers, told)
	}
	switch {
	case err != nil && refused(err) && n.Alive() && o.what[:4] != "tran":
		s.retry(o.offer)
		return
	case o.what[:4] == "demo": // also where nobody knows
		o.voters = o.voters.Without(o.target)
	case err == nil && o.what[:4] == "prom":
		o.voters = o.voters.With(o.target)
	}
	o.next()
}
