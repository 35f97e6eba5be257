package raftspec

import (
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
)

// state is what the events of a run report of its nodes.
type state struct {
	nodes []node         // by number
	ever  lockstep.Nodes // all that were members at some time
	asked bool           // some node asked for a change of members
	// applied is, by index, what was applied there first.
	applied []applied
}

// node is what events report of one node.
type node struct {
	log     log
	role    string
	term    uint64
	applied uint64 // index of the last entry that the state machine was given
	conf    Conf
}

// applied is what is known of an index that some node has applied. Where nothing was reported
// of the index itself, because its entry is silent, node is 0.
type applied struct {
	prefix       uint64 // of the log up to there; 0: not known
	node         lockstep.Node
	entry, state uint64 // hashes; entry 0: only the state is known, from a snapshot
	first        Entry  // that was applied, and its words, where entry is known
	words        Words
}

func (s *state) reset(nodes int) {
	s.nodes = slices.Grow(s.nodes[:0], nodes+1)[:nodes+1]
	for i := range s.nodes {
		n := &s.nodes[i]
		n.log.reset(0, start)
		n.role, n.term, n.applied, n.conf = BecameFollower, 0, 0, Conf{}
	}
	s.ever, s.asked, s.applied = 0, false, s.applied[:0]
}

// at is what is known of an index.
func (s *state) at(index uint64) *applied {
	for uint64(len(s.applied)) <= index {
		s.applied = append(s.applied, applied{})
	}
	return &s.applied[index]
}

// prefix is the hash of what was applied up to an index, 0: not known.
func (s *state) prefix(index uint64) uint64 {
	if index == 0 {
		return start
	}
	if index < uint64(len(s.applied)) {
		return s.applied[index].prefix
	}
	return 0
}

// learn notes that a node's log up to an index is the log.
func (s *state) learn(l *log, index uint64) {
	s.at(index)
	for i := index; i > 0 && s.applied[i].prefix == 0; i-- {
		prefix, known := l.upTo(i)
		if !known {
			return
		}
		s.applied[i].prefix = prefix
	}
}

func (s *state) setConf(n *node, c Conf) {
	if c.Members() != 0 {
		n.conf = c
		s.ever |= c.Members()
	}
}

// restarted begins a node's log again. The snapshots that nodes have at the start of a run
// are where the log of the run begins.
func (s *state) restarted(n *node, r *Restarted, first bool) {
	n.role, n.term, n.applied = BecameFollower, r.Term, r.Applied
	n.conf = Conf{}
	s.setConf(n, r.Conf)
	if first && r.Base > 0 {
		s.at(r.Base).prefix = start
	}
	n.log.reset(r.Base, s.prefix(r.Base))
	n.log.append(r.Entries)
}

// installed puts a snapshot in the place of a node's log, unless that continues from there.
func (s *state) installed(n *node, i *Installed) {
	s.setConf(n, i.Conf)
	prefix := s.prefix(i.Index)
	have, known := n.log.upTo(i.Index)
	inside := i.Index >= n.log.base && i.Index <= n.log.last()
	if differ := known && prefix != 0 && have != prefix; !inside || differ {
		n.log.reset(i.Index, prefix)
	}
}

// ahead is the configuration of the node that has applied most.
func (s *state) ahead() Conf {
	best := &s.nodes[0]
	for i := range s.nodes[1:] {
		if n := &s.nodes[i+1]; best == &s.nodes[0] || n.applied > best.applied {
			best = n
		}
	}
	return best.conf
}

// start is the hash of the empty log. A hash of 0 is not known.
const start = uint64(mix.Start)

// log holds a hash for every prefix of a log. The hash of a prefix covers the terms and the
// data of all of its entries, from the first of the run.
type log struct {
	base uint64 // index of the prefix that list[0] is for
	list []prefix
}

// prefix is a log up to an entry.
type prefix struct {
	hash   uint64
	silent bool // of the entry
}

func (l *log) reset(base, hash uint64) { l.base, l.list = base, append(l.list[:0], prefix{hash: hash}) }

// last is the index of the log's last entry.
func (l *log) last() uint64 { return l.base + uint64(len(l.list)) - 1 }

// append replaces the log from the first entry's index on. What is within the snapshot, or
// after a gap, is left out.
func (l *log) append(entries []Entry) {
	for i := range entries {
		e := &entries[i]
		if e.Index <= l.base || e.Index > l.last()+1 {
			continue
		}
		at := e.Index - l.base
		l.list = append(l.list[:at], prefix{extend(l.list[at-1].hash, e), e.Silent})
	}
}

// cut drops the entries from an index on.
func (l *log) cut(from uint64) {
	if from > l.base && from <= l.last() {
		l.list = l.list[:from-l.base]
	}
}

// upTo is the hash of the prefix up to an index, and whether it is known.
func (l *log) upTo(index uint64) (uint64, bool) {
	if index < l.base || index > l.last() {
		return 0, false
	}
	hash := l.list[index-l.base].hash
	return hash, hash != 0
}

// due reports whether the state machine must be given an entry.
func (l *log) due(index uint64) bool {
	return index > l.base && index <= l.last() && !l.list[index-l.base].silent
}

// extend is the hash of a prefix with one more entry; nothing is known of what follows the
// unknown.
func extend(hash uint64, e *Entry) uint64 {
	if hash == 0 {
		return 0
	}
	h := mix.Hash(hash)
	h.Mix(e.Term<<2 | uint64(e.Kind))
	h.Bytes(e.Data)
	return max(uint64(h), 1)
}
