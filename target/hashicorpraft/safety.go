package hashicorpraft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// The properties of Figure 3 of "In Search of an Understandable Consensus Algorithm"
// (Ongaro, Ousterhout; ATC 2014), each judged whenever it could become false.
var (
	// ElectionSafety: at most one leader is elected in a term.
	ElectionSafety = spec.New("election-safety", func(lockstep.Info) *electionSafety { return &electionSafety{} })
	// LeaderAppendOnly: a leader never overwrites or deletes entries of its log.
	LeaderAppendOnly = spec.New("leader-append-only", func(lockstep.Info) *leaderAppendOnly { return &leaderAppendOnly{} })
	// LogMatching: two logs that have an entry with the same index and term are the same up
	// to it.
	LogMatching = spec.New("log-matching", func(lockstep.Info) *logMatching { return &logMatching{} })
	// LeaderCompleteness: an entry that was applied in a term is in the log of every leader
	// of a later term.
	LeaderCompleteness = spec.New("leader-completeness", func(lockstep.Info) *leaderCompleteness { return &leaderCompleteness{} })
	// StateMachineSafety: no two nodes apply different entries at the same index, every
	// node applies its entries in order, once, and has the same state after them.
	StateMachineSafety = spec.New("state-machine-safety", func(i lockstep.Info) *stateMachineSafety {
		return &stateMachineSafety{applied: make([]uint64, i.Nodes+1)}
	})
	// PreVote: a pre-vote changes nothing at the node that is asked, and one of the node's own
	// leader, with a newer term and a log that goes as far, is granted (section 9.6 of
	// Ongaro's dissertation, and the library's rule that a leader may be voted for again).
	PreVote = spec.New("pre-vote", func(lockstep.Info) *preVote { return &preVote{} })
	// Safety is all of them.
	Safety = spec.All(ElectionSafety, LeaderAppendOnly, LogMatching, LeaderCompleteness, StateMachineSafety, PreVote)
)

func finding(nodes lockstep.Nodes, format string, args ...any) *lockstep.Finding {
	return &lockstep.Finding{Nodes: nodes, Text: fmt.Sprintf(format, args...)}
}

// electionSafety remembers the leaders of all terms.
type electionSafety struct {
	leaders map[uint64]lockstep.Node
	judged  int
}

func (m *electionSafety) Reset()      { m.leaders, m.judged = map[uint64]lockstep.Node{}, 0 }
func (m *electionSafety) Judged() int { return m.judged }

func (m *electionSafety) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if e.Type != BecameLeader {
		return nil
	}
	term := e.Value.(*Role).Term
	m.judged++
	if other := m.leaders[term]; other != 0 && other != e.Node {
		return finding(trace.NodesOf(other, e.Node), "node %d is leader in term %d, and so was node %d", e.Node, term, other)
	}
	m.leaders[term] = e.Node
	return nil
}

// leaderAppendOnly has nothing to remember: the event says it all.
type leaderAppendOnly struct{ judged int }

func (m *leaderAppendOnly) Reset()      { m.judged = 0 }
func (m *leaderAppendOnly) Judged() int { return m.judged }

func (m *leaderAppendOnly) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	a, ok := e.Value.(*Appended)
	if !ok || !a.Leader {
		return nil
	}
	m.judged++
	switch {
	case a.Cut > 0:
		return finding(trace.NodesOf(e.Node), "leader %d cuts its log from index %d on", e.Node, a.Cut)
	case a.Entries[0].Index <= a.Last:
		return finding(trace.NodesOf(e.Node), "leader %d overwrites its log from index %d on, which went up to %d", e.Node, a.Entries[0].Index, a.Last)
	}
	return nil
}

// place is where an entry is.
type place struct{ index, term uint64 }

// matched is the log up to an entry, and who had it first.
type matched struct {
	prefix uint64
	node   lockstep.Node
}

// logMatching remembers the hash of the log up to every entry that ever was in one.
type logMatching struct {
	seen   map[place]matched
	judged int
}

func (m *logMatching) Reset()      { m.seen, m.judged = map[place]matched{}, 0 }
func (m *logMatching) Judged() int { return m.judged }

func (m *logMatching) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	a, ok := e.Value.(*Appended)
	if !ok {
		return nil
	}
	for _, entry := range a.Entries {
		if entry.Prefix == unknown { // the beginning is in a snapshot
			continue
		}
		at := place{entry.Index, entry.Term}
		was, known := m.seen[at]
		if !known {
			m.seen[at] = matched{entry.Prefix, e.Node}
			continue
		}
		m.judged++
		if was.prefix != entry.Prefix {
			return finding(trace.NodesOf(was.node, e.Node), "the logs of nodes %d and %d have an entry of term %d at index %d, but differ up to there",
				e.Node, was.node, entry.Term, entry.Index)
		}
	}
	return nil
}

// leaderCompleteness remembers what was applied, and by whom in what term.
type leaderCompleteness struct {
	applied []Applied
	judged  int
}

func (m *leaderCompleteness) Reset()      { m.applied, m.judged = m.applied[:0], 0 }
func (m *leaderCompleteness) Judged() int { return m.judged }

func (m *leaderCompleteness) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch v := e.Value.(type) {
	case *Applied:
		m.applied = append(m.applied, *v)
	case *Role:
		if e.Type == BecameLeader {
			return m.elected(e.Node, v)
		}
	}
	return nil
}

func (m *leaderCompleteness) elected(n lockstep.Node, r *Role) *lockstep.Finding {
	for i := range m.applied {
		a := &m.applied[i]
		at := a.Entry.Index
		if a.Term >= r.Term || at < r.First || a.Entry.Prefix == unknown {
			continue
		}
		m.judged++
		if k := at - r.First; k >= uint64(len(r.Log)) || r.Log[k] != a.Entry.Prefix && r.Log[k] != unknown {
			return finding(trace.NodesOf(n), "the log up to index %d was applied in term %d, but node %d became leader of term %d without it", at, a.Term, n, r.Term)
		}
	}
	return nil
}

// stateMachineSafety remembers what was applied at each index first.
type stateMachineSafety struct {
	first   map[uint64]applied
	applied []uint64 // by node: the last index
	judged  int
}

type applied struct {
	node  lockstep.Node
	text  string
	state uint64
}

func (m *stateMachineSafety) Reset() {
	m.first, m.judged = map[uint64]applied{}, 0
	clear(m.applied)
}

func (m *stateMachineSafety) Judged() int { return m.judged }

func (m *stateMachineSafety) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch v := e.Value.(type) {
	case *Applied:
		m.judged++
		if v.Entry.Index <= m.applied[e.Node] {
			return finding(trace.NodesOf(e.Node), "node %d applies index %d, it had applied up to %d", e.Node, v.Entry.Index, m.applied[e.Node])
		}
		m.applied[e.Node] = v.Entry.Index
		return m.at(e.Node, v.Entry.Index, v.Entry.Text, v.State)
	case *Installed:
		m.applied[e.Node] = v.Applied
		return m.at(e.Node, v.Applied, "", v.State)
	case *Restarted:
		m.applied[e.Node] = 0
	}
	return nil
}

// at compares with what was applied at the index first. An empty text is not known.
func (m *stateMachineSafety) at(n lockstep.Node, index uint64, text string, state uint64) *lockstep.Finding {
	was, known := m.first[index]
	switch {
	case !known:
		if text != "" {
			m.first[index] = applied{n, text, state}
		}
	case text != "" && was.text != text:
		return finding(trace.NodesOf(n, was.node), "nodes %d and %d apply different entries at index %d: %q and %q", n, was.node, index, text, was.text)
	case was.state != state:
		return finding(trace.NodesOf(n, was.node), "nodes %d and %d have different states after index %d", n, was.node, index)
	}
	return nil
}

// preVote looks at every answer to a pre-vote.
type preVote struct{ judged int }

func (m *preVote) Reset()      { m.judged = 0 }
func (m *preVote) Judged() int { return m.judged }

func (m *preVote) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	p, ok := e.Value.(*PreVoted)
	if !ok {
		return nil
	}
	m.judged++
	switch both := trace.NodesOf(e.Node, p.From); {
	case p.Leader && p.Newer && p.Complete && !p.Granted:
		return finding(both, "node %d refuses the pre-vote of node %d, which it takes for the leader", e.Node, p.From)
	case p.Contact:
		return finding(both, "node %d takes the pre-vote of node %d for a sign of life of the leader", e.Node, p.From)
	}
	return nil
}
