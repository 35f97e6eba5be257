package raftlib

import "math"

// Store is the storage of a node. It implements the library's Storage for every version:
// E is the version's entry, H its hard state, C its configuration and S its snapshot.
//
// It models a disk with a write-ahead log. What is written can be read at once; it
// survives a crash for sure only after Sync. Entries are written before the hard state
// that goes with them, and a snapshot becomes valid with the hard state, as the library
// asks of its users.
type Store[E, H, C, S any] struct {
	Lib Functions[E, H, C, S]
	// Source makes a snapshot of the application as it is now.
	Source func() Snapshot

	base    Snapshot // the log begins after it
	log     []E
	terms   []uint64
	hard    Hard
	durable Hard
}

// Functions are the version's own ways with its types.
type Functions[E, H, C, S any] struct {
	Entry    func(E) Entry
	Size     func(E) uint64
	Hard     func(Hard) H
	Conf     func(Conf) C
	Snapshot func(Snapshot) S
	// Compacted and Unavailable are the errors that the library expects.
	Compacted, Unavailable error
}

// Boot fills the storage for the start of a run.
func (s *Store[E, H, C, S]) Boot(snap Snapshot) {
	s.log, s.terms = s.log[:0], s.terms[:0]
	s.base = snap
	s.SetHard(Hard{Term: snap.Term, Commit: snap.Index})
	s.Sync()
}

// InitialState is what a node of the library starts from.
func (s *Store[E, H, C, S]) InitialState() (H, C, error) {
	return s.Lib.Hard(s.hard), s.Lib.Conf(s.base.Conf), nil
}

// Entries are those from lo up to, not including, hi: as many as the size allows, but one
// at least.
func (s *Store[E, H, C, S]) Entries(lo, hi, maxSize uint64) ([]E, error) {
	if lo <= s.base.Index {
		return nil, s.Lib.Compacted
	}
	if hi > s.last()+1 {
		return nil, s.Lib.Unavailable
	}
	list := s.log[lo-s.base.Index-1 : hi-s.base.Index-1 : hi-s.base.Index-1]
	if maxSize == math.MaxUint64 {
		return list, nil
	}
	size := uint64(0)
	for i := range list {
		if size += s.Lib.Size(list[i]); size > maxSize && i > 0 {
			return list[:i:i], nil
		}
	}
	return list, nil
}

// Term is the term of the entry at an index.
func (s *Store[E, H, C, S]) Term(i uint64) (uint64, error) {
	switch {
	case i == s.base.Index:
		return s.base.Term, nil
	case i < s.base.Index:
		return 0, s.Lib.Compacted
	case i > s.last():
		return 0, s.Lib.Unavailable
	}
	return s.terms[i-s.base.Index-1], nil
}

// LastIndex is the index of the last entry.
func (s *Store[E, H, C, S]) LastIndex() (uint64, error) { return s.last(), nil }

// FirstIndex is the index of the first entry after the snapshot.
func (s *Store[E, H, C, S]) FirstIndex() (uint64, error) { return s.base.Index + 1, nil }

// Snapshot makes one: the application as it is now.
func (s *Store[E, H, C, S]) Snapshot() (S, error) { return s.Lib.Snapshot(s.Source()), nil }

func (s *Store[E, H, C, S]) last() uint64 { return s.base.Index + uint64(len(s.log)) }

// Append writes entries; those that were stored from the first one's index on are gone.
func (s *Store[E, H, C, S]) Append(list []E) {
	for len(list) > 0 && s.Lib.Entry(list[0]).Index <= s.base.Index { // compacted meanwhile
		list = list[1:]
	}
	if len(list) == 0 {
		return
	}
	if at := int(s.Lib.Entry(list[0]).Index - s.base.Index - 1); at < len(s.log) {
		// Messages under way may still point to what is replaced.
		s.log = append(make([]E, 0, 2*len(s.log)), s.log[:at]...)
		s.terms = s.terms[:at]
	}
	for _, e := range list {
		s.log = append(s.log, e)
		s.terms = append(s.terms, s.Lib.Entry(e).Term)
	}
}

// SetHard writes the hard state.
func (s *Store[E, H, C, S]) SetHard(h Hard) { s.hard = h }

// Install replaces the log by a snapshot.
func (s *Store[E, H, C, S]) Install(snap Snapshot) {
	s.base = snap
	s.log, s.terms = nil, s.terms[:0]
}

// Compact replaces the log up to the snapshot's index. A snapshot is durable before the log
// before it goes.
func (s *Store[E, H, C, S]) Compact(snap Snapshot) {
	if snap.Index <= s.base.Index {
		return
	}
	cut := snap.Index - s.base.Index
	s.log = append(make([]E, 0, len(s.log)), s.log[cut:]...)
	s.terms = append(s.terms[:0], s.terms[cut:]...)
	s.base = snap
	s.Sync()
}

// Sync makes durable what is written.
func (s *Store[E, H, C, S]) Sync() { s.durable = s.hard }

// Crash loses what is not durable, or keeps it. Entries are durable whenever a step ends,
// because the library asks for that with every entry, and a crash within a step writes only
// what it keeps.
func (s *Store[E, H, C, S]) Crash(keep bool) {
	if !keep {
		s.hard = s.durable
	}
	s.Sync()
}

// Truncate loses what comes after an index.
func (s *Store[E, H, C, S]) Truncate(last uint64) {
	if last < s.base.Index || last >= s.last() {
		return
	}
	s.log, s.terms = s.log[:last-s.base.Index:last-s.base.Index], s.terms[:last-s.base.Index]
	s.hard.Commit = min(s.hard.Commit, last)
	s.Sync()
}

// Stored is the hard state written, durable or not.
func (s *Store[E, H, C, S]) Stored() Hard { return s.hard }

// Durable is the hard state that survives a crash.
func (s *Store[E, H, C, S]) Durable() Hard { return s.durable }

// First is the index of the first entry of the log.
func (s *Store[E, H, C, S]) First() uint64 { return s.base.Index + 1 }

// Entry is the entry at an index of the log.
func (s *Store[E, H, C, S]) Entry(index uint64) Entry {
	return s.Lib.Entry(s.log[index-s.base.Index-1])
}

// Terms are those of the entries of the log.
func (s *Store[E, H, C, S]) Terms() []uint64 { return s.terms }

// Base is the snapshot that stands before the log.
func (s *Store[E, H, C, S]) Base() Snapshot { return s.base }
