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
func (c *clients) job(task int) job {
	j := job{task: task, target: lockstep.Node(1 + c.chance.IntN(c.cluster.Nodes))}
	switch task {
	case transferring:
		j.what = "transfer"
	case snapshotting:
		j.what = "snapshot"
	default:
		j.what, j.target = c.change(j.target)
	}
	return j
}

// change draws a membership change, at the given node or at a removed one. At least two voters remain. Demoting one
// of two voters is unsafe, because the other may never learn of it and then lacks a vote.
func (c *clients) change(at lockstep.Node) (what string, target lockstep.Node) {
	removal := c.chance.IntN(c.cluster.Changes+c.cluster.Removals) < c.cluster.Removals
	spare := c.voters.Has(at) && c.voters.Len() > max(2, c.cluster.Nodes/2)
	switch {
	case removal && c.gone != 0:
		return "return", c.gone.First()
	case removal && (spare || !c.voters.Has(at)):
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
func (c *clients) operated(n *bubble.Node, j job, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	asked := &Asked{Text: fmt.Sprintf("%s %d", j.what, j.target)}
	if err != nil {
		asked.Err = err.Error()
	}
	if n.Alive() {
		n.Emit(raftspec.EventMembers, asked)
	}
	switch {
	case err != nil && refused(err) && n.Alive() && j.task != transferring:
		c.wait()
		c.operator.Retry(j.task)
		return
	case j.what == "demote": // also with an unknown outcome
		c.voters = c.voters.Without(j.target)
	case j.what == "remove":
		c.voters, c.gone = c.voters.Without(j.target), c.gone.With(j.target)
	case err == nil && j.what == "promote":
		c.voters, c.gone = c.voters.With(j.target), c.gone.Without(j.target)
	case err == nil && j.what == "return":
		c.gone = c.gone.Without(j.target)
	}
	c.operator.Next(j.task)
}
