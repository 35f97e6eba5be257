package etcdraft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// The five properties of Figure 3 of "In Search of an Understandable Consensus Algorithm"
// (Ongaro, Ousterhout; ATC 2014), each judged whenever it could become false, at a price
// that does not grow with the log.
var (
	// ElectionSafety: at most one leader is elected in a term.
	ElectionSafety = spec.New("election-safety", func(lockstep.Info) *electionSafety { return &electionSafety{} })
	// LeaderAppendOnly: a leader never overwrites or deletes entries of its log.
	LeaderAppendOnly = spec.New("leader-append-only", func(lockstep.Info) *leaderAppendOnly { return &leaderAppendOnly{} })
	// LogMatching: two logs that have an entry with the same index and term are the same up
	// to it.
	LogMatching = spec.New("log-matching", func(lockstep.Info) *logMatching { return &logMatching{} })
	// LeaderCompleteness: an entry committed in a term is in the log of every leader of a
	// later term.
	LeaderCompleteness = spec.New("leader-completeness", func(lockstep.Info) *leaderCompleteness { return &leaderCompleteness{} })
	// StateMachineSafety: no two nodes apply different entries at the same index, every
	// node applies its entries in order, once, and has the same state after them.
	StateMachineSafety = spec.New("state-machine-safety", func(i lockstep.Info) *stateMachineSafety {
		return &stateMachineSafety{applied: make([]uint64, i.Nodes+1)}
	})
	// Safety is all five.
	Safety = spec.All(ElectionSafety, LeaderAppendOnly, LogMatching, LeaderCompleteness, StateMachineSafety)
)

func finding(nodes lockstep.Nodes, format string, args ...any) *lockstep.Finding {
	return &lockstep.Finding{Nodes: nodes, Text: fmt.Sprintf(format, args...)}
}

// electionSafety remembers the leaders of all terms.
type electionSafety struct {
	leaders []lockstep.Node // by term
	judged  int
}

func (m *electionSafety) Reset()      { m.leaders, m.judged = m.leaders[:0], 0 }
func (m *electionSafety) Judged() int { return m.judged }

func (m *electionSafety) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if e.Type != BecameLeader {
		return nil
	}
	term := e.Value.(*Role).Term
	for uint64(len(m.leaders)) <= term {
		m.leaders = append(m.leaders, 0)
	}
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
	if first := a.Entries[0].Index; first <= a.Last {
		return finding(trace.NodesOf(e.Node), "leader %d overwrites its log from index %d on, which went up to %d", e.Node, first, a.Last)
	}
	return nil
}

// logMatching remembers, for every index and term that ever was in a log, the hash of
// the log up to there. It looks at what is appended only: the rest was judged before. The
// first log that has an entry is compared with none, and not counted as judged.
type logMatching struct {
	seen   [][]matched // by index
	judged int
}

type matched struct {
	term, prefix uint64
	node         lockstep.Node
}

func (m *logMatching) Reset() {
	for i := range m.seen {
		m.seen[i] = m.seen[i][:0]
	}
	m.judged = 0
}

func (m *logMatching) Judged() int { return m.judged }

func (m *logMatching) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	a, ok := e.Value.(*Appended)
	if !ok {
		return nil
	}
	log := &inner(run).node(e.Node).log
	if first := a.Entries[0].Index; first > a.Last+1 {
		return finding(trace.NodesOf(e.Node), "the log of node %d goes up to %d, and it appends an entry at %d", e.Node, a.Last, first)
	}
	for i := range a.Entries {
		entry := &a.Entries[i]
		for uint64(len(m.seen)) <= entry.Index {
			m.seen = append(m.seen, nil)
		}
		if f := m.match(e.Node, entry, log); f != nil {
			return f
		}
	}
	return nil
}

func (m *logMatching) match(n lockstep.Node, e *Entry, log *prefixes) *lockstep.Finding {
	prefix, known := log.upTo(e.Index)
	if !known { // replaced within the same step
		return nil
	}
	for _, s := range m.seen[e.Index] {
		if s.term != e.Term {
			continue
		}
		m.judged++
		if s.prefix != prefix {
			return finding(trace.NodesOf(n, s.node), "the logs of nodes %d and %d have an entry of term %d at index %d, but differ up to there", n, s.node, e.Term, e.Index)
		}
		return nil
	}
	m.seen[e.Index] = append(m.seen[e.Index], matched{e.Term, prefix, n})
	return nil
}

// leaderCompleteness remembers what was committed in each term, and the logs of the
// leaders at their election.
type leaderCompleteness struct {
	committed []committed // the terms in which something was committed, in order of the event
	elected   []elected
	spare     [][]uint64
	judged    int
}

// committed says up to where a term's leader committed.
type committed struct{ term, index, prefix uint64 }

// elected is a leader with its log.
type elected struct {
	node lockstep.Node
	term uint64
	log  prefixes
}

func (m *leaderCompleteness) Reset() {
	for _, e := range m.elected {
		m.spare = append(m.spare, e.log.hash)
	}
	m.committed, m.elected, m.judged = m.committed[:0], m.elected[:0], 0
}

func (m *leaderCompleteness) Judged() int { return m.judged }

func (m *leaderCompleteness) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch v := e.Value.(type) {
	case *Committed:
		return m.commit(inner(run).node(e.Node), v)
	case *Role:
		if v.role == raftlib.Leader {
			return m.elect(inner(run).node(e.Node), v)
		}
	}
	return nil
}

// commit notes what a leader commits, and checks the leaders of later terms that are
// there already. Followers learn of it later and add nothing.
func (m *leaderCompleteness) commit(n *node, c *Committed) *lockstep.Finding {
	if n.role != raftlib.Leader || n.hard.Term != c.Term {
		return nil
	}
	prefix, known := n.log.upTo(c.Index)
	if !known {
		return nil
	}
	now := committed{c.Term, c.Index, prefix}
	m.committed = append(m.committed, now)
	for i := range m.elected {
		if l := &m.elected[i]; l.term > c.Term {
			if f := m.judge(now, l); f != nil {
				return f
			}
		}
	}
	return nil
}

// elect keeps the leader's log and looks for what was committed before its term.
func (m *leaderCompleteness) elect(n *node, r *Role) *lockstep.Finding {
	l := elected{node: n.id, term: r.Term, log: prefixes{base: n.log.base}}
	if k := len(m.spare); k > 0 {
		l.log.hash, m.spare = m.spare[k-1], m.spare[:k-1]
	}
	l.log.hash = append(l.log.hash[:0], n.log.hash...)
	m.elected = append(m.elected, l)
	for _, c := range m.committed {
		if c.term < r.Term {
			if f := m.judge(c, &l); f != nil {
				return f
			}
		}
	}
	return nil
}

func (m *leaderCompleteness) judge(c committed, l *elected) *lockstep.Finding {
	if c.index < l.log.base { // within the leader's snapshot
		return nil
	}
	m.judged++
	if prefix, known := l.log.upTo(c.index); !known || prefix != c.prefix {
		return finding(trace.NodesOf(l.node), "the log up to index %d was committed in term %d, but node %d became leader of term %d without it", c.index, c.term, l.node, l.term)
	}
	return nil
}

// stateMachineSafety remembers what was applied at each index first.
type stateMachineSafety struct {
	first   []applied // by index
	applied []uint64  // by node: the last index
	judged  int
}

type applied struct {
	node          lockstep.Node
	prefix, state uint64
}

func (m *stateMachineSafety) Reset() {
	m.first, m.judged = m.first[:0], 0
	clear(m.applied)
}

func (m *stateMachineSafety) Judged() int { return m.judged }

func (m *stateMachineSafety) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch v := e.Value.(type) {
	case *Applied:
		i := v.Entry.Index
		m.judged++
		if want := m.applied[e.Node] + 1; i != want {
			return finding(trace.NodesOf(e.Node), "node %d applies index %d, the next to apply is %d", e.Node, i, want)
		}
		return m.at(e.Node, i, v.State, extend(m.prefix(i-1), &v.Entry))
	case *Installed:
		return m.snapshot(e.Node, v.Index, v.State)
	case *Restarted:
		m.applied[e.Node] = v.Base
		if v.Base > 0 && run.Steps() > 0 {
			return m.snapshot(e.Node, v.Base, v.State)
		}
	}
	return nil
}

// snapshot judges the state that a node takes over at an index, where it is known from a
// node that came there.
func (m *stateMachineSafety) snapshot(n lockstep.Node, index, state uint64) *lockstep.Finding {
	if index < uint64(len(m.first)) && m.first[index].node != 0 {
		m.judged++
	}
	return m.at(n, index, state, 0)
}

// prefix is the hash of what was applied up to an index.
func (m *stateMachineSafety) prefix(index uint64) uint64 {
	if index < uint64(len(m.first)) {
		return m.first[index].prefix
	}
	return 0
}

// at compares with what was applied at the index first. A prefix of 0 is not known.
func (m *stateMachineSafety) at(n lockstep.Node, index, state, prefix uint64) *lockstep.Finding {
	m.applied[n] = index
	for uint64(len(m.first)) <= index {
		m.first = append(m.first, applied{})
	}
	f := &m.first[index]
	switch {
	case f.node == 0:
		*f = applied{node: n, state: state, prefix: prefix}
	case prefix != 0 && f.prefix != 0 && f.prefix != prefix:
		return finding(trace.NodesOf(n, f.node), "nodes %d and %d apply different entries at index %d", n, f.node, index)
	case f.state != state:
		return finding(trace.NodesOf(n, f.node), "nodes %d and %d have different states after index %d", n, f.node, index)
	}
	return nil
}
