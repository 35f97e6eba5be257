package hashicorpraft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/operator"
	"github.com/lockstep-go/lockstep/kit/raftspec"
)

// The operator's tasks.
const (
	changing = iota
	transferring
	snapshotting
)

func newOperator(c Cluster) *operator.Operator {
	return operator.New(c.Nodes, []operator.Task{changing: {Name: "change members", Times: c.Changes + c.Removals},
		transferring: {Name: "transfer leadership", Times: c.Transfers},
		snapshotting: {Name: "make a snapshot", Times: c.Snapshots}}, nil)
}

// job is a request of the operator to a node.
type job struct {
	task   int
	what   string
	target lockstep.Node
}

// job draws the request of a task.
func (s *clients) job(task int) job {
	j := job{task: task, target: lockstep.Node(1 + s.chance.IntN(s.cluster.Nodes))}
	switch task {
	case transferring:
		j.what = "transfer"
	case snapshotting:
		j.what = "snapshot"
	default:
		j.what, j.target = s.change(j.target)
	}
	return j
}

// change draws a membership change, at the given node or at a removed one. At least two voters remain. Demoting one
// of two voters is unsafe, because the other may never learn of it and then lacks a vote.
func (s *clients) change(at lockstep.Node) (what string, target lockstep.Node) {
	removal := s.chance.IntN(s.cluster.Changes+s.cluster.Removals) < s.cluster.Removals
	spare := s.voters.Has(at) && s.voters.Len() > max(2, s.cluster.Nodes/2)
	switch {
	case removal && s.gone != 0:
		return "return", s.gone.First()
	case removal && (spare || !s.voters.Has(at)):
		return "remove", at
	case spare:
		return "demote", at
	default:
		return "promote", at
	}
}

// operate executes a request of the operator.
func (r *replica) operate(c Cluster, j job) error {
	id, at := id(j.target), c.at(j.target)
	switch j.what {
	case "demote":
		return r.raft.DemoteVoter(id, 0, enqueue).Error()
	case "promote":
		return r.raft.AddVoter(id, at, 0, enqueue).Error()
	case "remove":
		return r.raft.RemoveServer(id, 0, enqueue).Error()
	case "return":
		return r.raft.AddNonvoter(id, at, 0, enqueue).Error()
	case "transfer":
		r.calls.Add(1)
		defer r.calls.Done()
		return r.raft.LeadershipTransferToServer(id, at).Error()
	default:
		return r.raft.Snapshot().Error()
	}
}

// operated records the answer to the operator's request.
func (s *clients) operated(n *bubble.Node, j job, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	asked := &Asked{Text: fmt.Sprintf("%s %d", j.what, j.target)}
	if err != nil {
		asked.Err = err.Error()
	}
	if n.Alive() {
		n.Emit(raftspec.EventMembers, asked)
	}
	switch {
	case err != nil && refused(err) && n.Alive() && j.task != transferring:
		s.wait()
		s.operator.Retry(j.task)
		return
	case j.what == "demote": // also with an unknown outcome
		s.voters = s.voters.Without(j.target)
	case j.what == "remove":
		s.voters, s.gone = s.voters.Without(j.target), s.gone.With(j.target)
	case err == nil && j.what == "promote":
		s.voters, s.gone = s.voters.With(j.target), s.gone.Without(j.target)
	case err == nil && j.what == "return":
		s.gone = s.gone.Without(j.target)
	}
	s.operator.Next(j.task)
}
