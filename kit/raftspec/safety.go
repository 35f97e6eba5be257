package raftspec

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// elections remembers the leaders of all terms.
type elections struct{ leaders []lockstep.Node }

func (e *elections) reset() { e.leaders = e.leaders[:0] }

// elected checks an election.
func (m *monitor) elected(id lockstep.Node, n *node) {
	e := &m.elections
	for uint64(len(e.leaders)) <= n.term {
		e.leaders = append(e.leaders, 0)
	}
	m.countCheck(ElectionSafety)
	if other := e.leaders[n.term]; other != 0 && other != id {
		m.fail(ElectionSafety, trace.NodesOf(other, id), "node %d is leader in term %d, and so was node %d", id, n.term,
			other)
	}
	e.leaders[n.term] = id
	m.complete(id, n)
	m.keeps(id, n)
}

// matching remembers, for every index and term that ever was in a log, the hash of the log
// up to there. It looks at what is appended only: the rest was checked before. The first log
// that has an entry is compared with none, and not counted as checked.
type matching struct {
	seen [][]matched // by index
}

type matched struct {
	term, prefix uint64
	node         lockstep.Node
}

func (m *matching) reset() {
	for i := range m.seen {
		m.seen[i] = m.seen[i][:0]
	}
}

// appended checks a change of a log.
func (m *monitor) appended(id lockstep.Node, n *node, a *Appended) {
	if a.Leader {
		m.countCheck(LeaderAppendOnly)
	}
	if len(a.Entries) == 0 {
		if a.Leader {
			m.fail(LeaderAppendOnly, trace.NodesOf(id), "leader %d cuts its log from index %d on", id, a.Cut)
		}
		n.log.cut(a.Cut)
		return
	}
	first := a.Entries[0].Index
	if a.Leader && first <= a.Last {
		m.fail(LeaderAppendOnly, trace.NodesOf(id), "leader %d overwrites its log from index %d on, which went up to %d", id,
			first, a.Last)
	}
	if first > a.Last+1 {
		m.fail(LogMatching, trace.NodesOf(id), "the log of node %d goes up to %d, and it appends an entry at %d", id, a.Last,
			first)
	}
	if a.Last > n.log.last() { // a snapshot is in between
		n.log.reset(a.Last, m.state.prefix(a.Last))
	}
	n.log.append(a.Entries)
	for i := range a.Entries {
		m.match(id, n, &a.Entries[i])
	}
}

func (m *monitor) match(id lockstep.Node, n *node, e *Entry) {
	prefix, known := n.log.upTo(e.Index)
	if !known {
		return
	}
	list := &m.matching
	for uint64(len(list.seen)) <= e.Index {
		list.seen = append(list.seen, nil)
	}
	for _, s := range list.seen[e.Index] {
		if s.term != e.Term {
			continue
		}
		m.countCheck(LogMatching)
		if s.prefix != prefix {
			m.fail(LogMatching, trace.NodesOf(id, s.node),
				"the logs of nodes %d and %d have an entry of term %d at index %d, but differ up to there", id, s.node, e.Term,
				e.Index)
		}
		return
	}
	list.seen[e.Index] = append(list.seen[e.Index], matched{e.Term, prefix, id})
}

// completeness remembers what was committed in each term, and the logs of the leaders at
// their election.
type completeness struct {
	commits []commit // in order of the event
	elected []elected
	spare   [][]prefix
}

// commit says up to where the log was committed in a term.
type commit struct{ term, index, prefix uint64 }

// elected is a leader with its log.
type elected struct {
	node lockstep.Node
	term uint64
	log  log
}

func (c *completeness) reset() {
	for _, e := range c.elected {
		c.spare = append(c.spare, e.log.list)
	}
	c.commits, c.elected = c.commits[:0], c.elected[:0]
}

// committed notes what a leader commits. Followers learn of it later and add nothing.
func (m *monitor) committed(id lockstep.Node, n *node, c *Committed) {
	if n.role == BecameLeader && n.term == c.Term {
		m.byVoters(id, n, c.Index)
		m.commit(n, c.Term, c.Index)
	}
}

// commit notes what is committed, and checks the leaders of later terms that are there
// already.
func (m *monitor) commit(n *node, term, index uint64) {
	prefix, known := n.log.upTo(index)
	if !known {
		return
	}
	now := commit{term, index, prefix}
	m.completeness.commits = append(m.completeness.commits, now)
	for i := range m.completeness.elected {
		if l := &m.completeness.elected[i]; l.term > term {
			m.has(now, l)
		}
	}
}

// complete keeps a new leader's log and looks for what was committed before its term.
func (m *monitor) complete(id lockstep.Node, n *node) {
	c := &m.completeness
	l := elected{node: id, term: n.term, log: log{base: n.log.base}}
	if k := len(c.spare); k > 0 {
		l.log.list, c.spare = c.spare[k-1], c.spare[:k-1]
	}
	l.log.list = append(l.log.list[:0], n.log.list...)
	c.elected = append(c.elected, l)
	for _, now := range c.commits {
		if now.term < n.term {
			m.has(now, &l)
		}
	}
}

// has checks whether a leader has what was committed. What is within its snapshot, or
// cannot be compared, is not checked.
func (m *monitor) has(c commit, l *elected) {
	if c.index < l.log.base || l.log.list[0].hash == 0 {
		return
	}
	m.countCheck(LeaderCompleteness)
	if prefix, known := l.log.upTo(c.index); !known || prefix != c.prefix {
		m.fail(LeaderCompleteness, trace.NodesOf(l.node),
			"the log up to index %d was committed in term %d, but node %d became leader of term %d without it", c.index, c.term,
			l.node, l.term)
	}
}

// applied checks what a node applies.
func (m *monitor) applied(id lockstep.Node, n *node, a *Applied) {
	m.state.setConf(n, a.Conf)
	i := a.Entry.Index
	m.countCheck(StateMachineSafety)
	next := n.applied + 1
	for next < i && !n.log.due(next) {
		next++
	}
	if i != next {
		m.fail(StateMachineSafety, trace.NodesOf(id), "node %d applies index %d, the next to apply is %d", id, i, next)
	}
	n.applied = i
	m.state.learn(&n.log, i)
	if a.Term > 0 {
		m.commit(n, a.Term, i)
	}
	hash, was := extend(start, &a.Entry), m.state.at(i)
	if was.node != 0 && was.entry != 0 && was.entry != hash {
		m.fail(StateMachineSafety, trace.NodesOf(id, was.node),
			"nodes %d and %d apply different entries at index %d: %s and %s",
			id, was.node, i, a, was.words.text(nil, &was.first))
		return
	}
	m.compare(id, i, a.State)
	if was.entry == 0 {
		was.entry, was.first, was.words = hash, a.Entry, a.Words
	}
}

// snapshot checks the state that a node takes over.
func (m *monitor) snapshot(id lockstep.Node, n *node, i *Installed) {
	if n.applied = i.Index; i.Applied > 0 {
		n.applied = i.Applied
	}
	m.stateAt(id, n.applied, i.State)
}

// stateAt checks the state that a node has at an index, where it is known from a node that
// came there.
func (m *monitor) stateAt(id lockstep.Node, index, state uint64) {
	if m.state.at(index).node != 0 {
		m.countCheck(StateMachineSafety)
	}
	m.compare(id, index, state)
}

// compare compares a state with the first at that index.
func (m *monitor) compare(id lockstep.Node, index, state uint64) {
	switch was := m.state.at(index); {
	case was.node == 0:
		was.node, was.state = id, state
	case was.state != state:
		m.fail(StateMachineSafety, trace.NodesOf(id, was.node), "nodes %d and %d have different states after index %d", id,
			was.node, index)
	}
}
