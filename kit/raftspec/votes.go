package raftspec

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Votes is the spec that a node votes for at most one candidate in a term, also if it crashes in between: votedFor is
// durable before the vote is sent (Figure 2 of the paper). It looks at the messages that nodes send, so it finds a
// second vote also where that does not elect a second leader.
type Votes struct {
	// Of returns the vote that a message states. A granted response is a vote of its sender for its receiver. A request
	// is a vote of its sender for itself if the system makes that durable before it sends the request.
	Of func(run *lockstep.Run, m *trace.Message) (Vote, bool)
}

// Vote is a vote in a term.
type Vote struct {
	Voter, Candidate lockstep.Node
	Term             uint64
}

// Properties names the property.
func (Votes) Properties() []string { return []string{"one-vote"} }

// New makes a monitor.
func (v Votes) New(i lockstep.Info) lockstep.Monitor {
	return &votes{Votes: v, given: make([][]Vote, i.Nodes+1)}
}

type votes struct {
	Votes
	given   [][]Vote // by voter
	checked [1]int
}

// Reset begins a new run.
func (m *votes) Reset() {
	for i := range m.given {
		m.given[i] = m.given[i][:0]
	}
	m.checked[0] = 0
}

// Step checks the messages that were sent.
func (m *votes) Step(run *lockstep.Run) *lockstep.Finding {
	sent := run.Sent()
	for i := range sent {
		v, is := m.Of(run, &sent[i])
		if !is {
			continue
		}
		m.checked[0]++
		if other := m.give(v); other != v.Candidate {
			return &lockstep.Finding{
				Property: "one-vote", Nodes: trace.NodesOf(v.Voter, v.Candidate, other),
				Text: fmt.Sprintf("in term %d node %d votes for node %d, and voted for node %d before",
					v.Term, v.Voter, v.Candidate, other),
			}
		}
	}
	return nil
}

// give returns the candidate of the voter's first vote in the term. Terms grow, so the latest votes come first.
func (m *votes) give(v Vote) lockstep.Node {
	list := m.given[v.Voter]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Term == v.Term {
			return list[i].Candidate
		}
	}
	m.given[v.Voter] = append(list, v)
	return v.Candidate
}

// EventsOnly reports that steps without events are checked, too.
func (*votes) EventsOnly() bool { return false }

// End returns nil: Step checks everything.
func (*votes) End(*lockstep.Run) *lockstep.Finding { return nil }

// Conclude reports the number of votes.
func (m *votes) Conclude(bool) lockstep.Conclusion { return lockstep.Conclusion{Checked: m.checked[:]} }
