package hashicorpraft

import (
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// timeout is the time without faults after which there must be a stable leader, in virtual time: many election
// timeouts.
const timeout = 20 * time.Second

var (
	// PreVote is the spec of pre-votes (section 9.6 of Ongaro's dissertation). A pre-vote changes nothing at the
	// receiver. The receiver grants a pre-vote of its own leader if the term is newer, the log is at least as long,
	// and the leader is a voter in its view. That follows the library's rule that nodes may vote for their leader
	// again.
	PreVote = spec.OnEvent("pre-vote", EventPreVote, preVote)
	// Safety combines the properties of the Raft paper, durability to the extent that events show it, and PreVote.
	Safety = spec.All(raftspec.Safety|raftspec.Durability, PreVote)
	// OneVote is the spec that a node gives one vote in a term, also if it crashes in between. It looks at messages,
	// so it checks nothing with the library's own transport.
	OneVote = lockstep.Spec(raftspec.Votes{Of: vote})
	// Linearizability checks that the clients' operations on the replicated map are linearizable.
	Linearizability = kv.Linearizable
	// Live is the spec that there is a leader at the end of a settling stage of at least 40 seconds of virtual time.
	Live = lockstep.Spec(raftspec.HasLeader(timeout))
	// Stable is the spec that such a stage has at most one further election after 20 seconds.
	Stable = lockstep.Spec(raftspec.LeaderStable(timeout))
	// NoGhosts is the spec that a former leader stops sending heartbeats, at the latest after 20 seconds of virtual
	// time. It needs no settling stage. Everything does not include it: the library violates it when pipelines are in
	// use.
	NoGhosts = lockstep.Spec(noGhosts{})
	// Everything combines the specs above except NoGhosts.
	Everything = spec.All(Safety, Linearizability, Live, Stable, OneVote)
)

// vote is the vote that a message states. A request is none: the library sends it before its own vote is durable, and
// counts that vote only then.
func vote(run *lockstep.Run, m *trace.Message) (raftspec.Vote, bool) {
	p, _ := run.Body(m.ID).(*packet)
	if p == nil {
		return raftspec.Vote{}, false
	}
	b, is := p.Body.(*raft.RequestVoteResponse)
	if !is || !b.Granted {
		return raftspec.Vote{}, false
	}
	return raftspec.Vote{Voter: m.From, Candidate: m.To, Term: b.Term}, true
}

// preVote checks every response to a pre-vote.
func preVote(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	p := e.Value.(*PreVoted)
	text := ""
	switch {
	case p.Leader && p.Newer && p.Complete && !p.Granted:
		text = "node %d refuses the pre-vote of node %d, which it takes for the leader"
	case p.Contact:
		text = "node %d takes the pre-vote of node %d for contact with the leader"
	default:
		return nil
	}
	return &lockstep.Finding{Nodes: trace.NodesOf(e.Node, p.From), Text: fmt.Sprintf(text, e.Node, p.From)}
}

type noGhosts struct{}

// Properties names the property.
func (noGhosts) Properties() []string { return []string{"no-ghosts"} }

// New makes a monitor.
func (noGhosts) New(i lockstep.Info) lockstep.Monitor {
	return &ghosts{since: make([]trace.Time, i.Nodes+1)}
}

// ghosts records since when each node is not leader; -1: it is leader.
type ghosts struct {
	since   []trace.Time
	checked [1]int
}

// Reset begins a new run.
func (g *ghosts) Reset() {
	clear(g.since)
	g.checked[0] = 0
}

// Step checks the sent messages.
func (g *ghosts) Step(run *lockstep.Run) *lockstep.Finding {
	for _, e := range run.Events() {
		switch e.Type {
		case raftspec.BecameLeader:
			g.since[e.Node] = -1
		case raftspec.BecameFollower, raftspec.BecameCandidate, raftspec.EventRestart:
			g.since[e.Node] = run.Now()
		}
	}
	for _, s := range run.Sent() {
		if s.Type != "Heartbeat" {
			continue
		}
		g.checked[0]++
		if since := g.since[s.From]; since >= 0 && time.Duration(run.Now()-since) > timeout {
			return &lockstep.Finding{Property: "no-ghosts", Nodes: trace.NodesOf(s.From, s.To),
				Text: fmt.Sprintf("node %d sends heartbeats to node %d, but has not been leader for %v", s.From, s.To,
					time.Duration(run.Now()-since))}
		}
	}
	return nil
}

// End returns nil: Step checks everything.
func (g *ghosts) End(*lockstep.Run) *lockstep.Finding { return nil }

// EventsOnly reports that steps without events are checked, too.
func (*ghosts) EventsOnly() bool { return false }

// Conclude reports the number of checks.
func (g *ghosts) Conclude(bool) lockstep.Conclusion {
	return lockstep.Conclusion{Checked: g.checked[:]}
}
