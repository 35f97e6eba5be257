package etcdraft

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

var (
	// Safety is the five properties of the Raft paper.
	Safety = lockstep.Spec(raftspec.Safety)
	// Linearizability checks that the clients' operations on the replicated map are linearizable.
	Linearizability = kv.Linearizable
	// Causes are the specs that only voters campaign and count, and that a node gives one vote in a term. They need
	// fewer steps than the violations of Safety that follow.
	Causes = spec.All(raftspec.Membership, oneVote)
	// Everything combines all specs. A settling stage of 2000 steps is enough to check liveness, for three nodes and
	// the default workload. If a step violates several properties, Everything reports a cause last.
	Everything = spec.All(raftspec.Everything|raftspec.Membership, Linearizability, oneVote)

	oneVote = raftspec.Votes{Of: vote}
)

// vote is the vote that a message states. With asynchronous writes the library sends a request before its own vote is
// durable, and counts that vote only then: the request is no vote, unless the adapter holds it back.
func vote(run *lockstep.Run, m *trace.Message) (raftspec.Vote, bool) {
	request := m.Type == "MsgVote"
	if !request && m.Type != "MsgVoteResp" || m.Copy != 0 {
		return raftspec.Vote{}, false
	}
	d, ok := run.View().(*Deployment)
	if !ok {
		return raftspec.Vote{}, false
	}
	term, rejects := d.network.Vote(m.Body)
	if request {
		durable := !d.cluster.Async || d.cluster.HoldVotes
		return raftspec.Vote{Voter: m.From, Candidate: m.From, Term: term}, durable
	}
	return raftspec.Vote{Voter: m.From, Candidate: m.To, Term: term}, !rejects
}

// Follows is the leader that a node currently follows.
func (d *Deployment) Follows(n lockstep.Node) lockstep.Node { return d.node(n).lead }

// Reaches is the index of the last entry on a node's disk.
func (d *Deployment) Reaches(n lockstep.Node) uint64 {
	return d.node(n).disk.Last()
}

// Answered returns the number of the clients' answered operations, and of all.
func (d *Deployment) Answered() (answered, all int) { return d.clients.Answered() }

// Calm reports whether each of the nodes had so many ticks since the last fault, if its clock runs. 20 election
// timeouts and 8 ticks for each request of a client are enough to elect a leader and to answer all requests.
func (d *Deployment) Calm(nodes lockstep.Nodes, ticks int) bool {
	if c := &d.cluster; ticks == 0 {
		ticks = 20*c.Election + 8*c.Requests*min(1, c.Clients)
	}
	for id := range nodes.All() {
		if n := d.node(id); n.calm < ticks && d.Ticking(id) {
			return false
		}
	}
	return true
}

// QuiescentAfter is four election timeouts. In this time a leader sends its log to all nodes several times: it sends
// some heartbeats, whose answers make it retry.
func (d *Deployment) QuiescentAfter() trace.Time {
	return trace.Time(4*d.cluster.Election + 2*d.cluster.Delay)
}

// Heeds reports whether a node accepts the leader's messages. With neither PreVote nor CheckQuorum, the library
// silently ignores messages of an earlier term.
func (d *Deployment) Heeds(n, leader lockstep.Node) bool {
	return d.node(n).hard.Term <= d.node(leader).hard.Term || d.cluster.PreVote || d.cluster.CheckQuorum
}
