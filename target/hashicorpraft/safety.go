package hashicorpraft

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// patience is the time without faults after which there must be a leader that stays, in
// virtual time: many election time-outs.
const patience = 20 * time.Second

var (
	// PreVote: a pre-vote changes nothing at the node that is asked, and one of the node's own
	// leader, if that is a voter as far as the node knows, with a newer term and a log that goes as far, is granted (section 9.6 of
	// Ongaro's dissertation, and the library's rule that a leader may be voted for again).
	PreVote = spec.OnEvent("pre-vote", EventPreVote, preVote)
	// Safety is the properties of the Raft paper, durability as far as events tell of it, and
	// PreVote.
	Safety = spec.All(raftspec.Safety|raftspec.Durability, PreVote)
	// Linearizability: the clients' operations on the replicated map are linearizable.
	Linearizability = kv.Linearizable
	// Live: at the end of a settling stage of at least 40 seconds of virtual time there is a
	// leader.
	Live = lockstep.Spec(raftspec.HasLeader(patience))
	// Stable: in such a stage there is at most one further election once 20 seconds are over.
	Stable = lockstep.Spec(raftspec.LeaderStable(patience))
	// NoGhosts: a node that has ceased to be leader stops sending heartbeats, at the latest
	// after 20 seconds of virtual time. It needs no settling stage. Everything does not include
	// it: the library breaks it when pipelines are in use.
	NoGhosts = lockstep.Spec(noGhosts{})
	// Everything is all of them.
	Everything = spec.All(Safety, Linearizability, Live, Stable)
)

// preVote looks at every answer to a pre-vote.
func preVote(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	p := e.Value.(*PreVoted)
	text := ""
	switch {
	case p.Leader && p.Newer && p.Complete && !p.Granted:
		text = "node %d refuses the pre-vote of node %d, which it takes for the leader"
	case p.Contact:
		text = "node %d takes the pre-vote of node %d for a sign of life of the leader"
	default:
		return nil
	}
	return &lockstep.Finding{Nodes: trace.NodesOf(e.Node, p.From), Text: fmt.Sprintf(text, e.Node, p.From)}
}

type noGhosts struct{}

// Properties names what is judged.
func (noGhosts) Properties() []string { return []string{"no-ghosts"} }

// New makes a monitor.
func (noGhosts) New(i lockstep.Info) lockstep.Monitor {
	return &ghosts{since: make([]trace.Time, i.Nodes+1)}
}

// ghosts remembers since when each node is no leader; -1: it is one.
type ghosts struct {
	since  []trace.Time
	judged [1]int
}

// Reset begins a new run.
func (m *ghosts) Reset() {
	clear(m.since)
	m.judged[0] = 0
}

// Step looks at what was sent.
func (m *ghosts) Step(run *lockstep.Run) *lockstep.Finding {
	for _, e := range run.Events() {
		switch e.Type {
		case raftspec.BecameLeader:
			m.since[e.Node] = -1
		case raftspec.BecameFollower, raftspec.BecameCandidate, raftspec.EventRestart:
			m.since[e.Node] = run.Now()
		}
	}
	for _, s := range run.Sent() {
		if s.Type != "Heartbeat" {
			continue
		}
		m.judged[0]++
		if since := m.since[s.From]; since >= 0 && time.Duration(run.Now()-since) > patience {
			return &lockstep.Finding{Property: "no-ghosts", Nodes: trace.NodesOf(s.From, s.To),
				Text: fmt.Sprintf("node %d sends heartbeats to node %d, but has not been leader for %v", s.From, s.To, time.Duration(run.Now()-since))}
		}
	}
	return nil
}

// End has nothing to add.
func (m *ghosts) End(*lockstep.Run) *lockstep.Finding { return nil }

// EventsOnly reports that steps without events are checked, too.
func (*ghosts) EventsOnly() bool { return false }

// Conclude counts the judgements.
func (m *ghosts) Conclude(bool) lockstep.Conclusion { return lockstep.Conclusion{Judged: m.judged[:]} }
