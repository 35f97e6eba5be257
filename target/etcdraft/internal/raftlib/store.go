package raftlib

import (
	"math"

	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/kit/storage"
)

// Store is the storage of a node. It provides the library's Storage interface for every version: E is the version's
// entry, H its hard state, C its configuration and S its snapshot.
//
// It is a disk with a write-ahead log, as in package storage. Entries are written before the hard state that goes
// with them. A snapshot becomes valid with the hard state, as the library asks of its users.
type Store[E, H, C, S any] struct {
	Lib Functions[E, H, C, S]
	// Source makes a snapshot of the application in its current state.
	Source func() Snapshot

	disk storage.Disk
	base *storage.Cell[Snapshot] // the log begins after it
	log  *storage.Log[E]
	hard *storage.Cell[Hard]
}

// Functions are the version's own operations on its types.
type Functions[E, H, C, S any] struct {
	Entry    func(E) raftspec.Entry
	Index    func(E) uint64
	Term     func(E) uint64
	Size     func(E) uint64
	Hard     func(Hard) H
	Conf     func(raftspec.Conf) C
	Snapshot func(Snapshot) S
	// Compacted and Unavailable are the errors that the library expects.
	Compacted, Unavailable error
}

// Boot fills the storage for the start of a run.
func (s *Store[E, H, C, S]) Boot(snap Snapshot) {
	if s.log == nil {
		s.base, s.log, s.hard = storage.NewCell(&s.disk, Snapshot{}), storage.NewLog[E](&s.disk),
			storage.NewCell(&s.disk, Hard{})
	}
	s.base.Set(snap)
	s.SetHard(Hard{Term: snap.Term, Commit: snap.Index})
	s.disk.Sync()
	s.log.Clear(snap.Index)
}

// InitialState is the state from which a node of the library starts.
func (s *Store[E, H, C, S]) InitialState() (H, C, error) {
	return s.Lib.Hard(s.hard.Get()), s.Lib.Conf(s.base.Get().Conf), nil
}

// Entries are the entries from lo up to, but not including, hi: as many as the size allows, but at least one.
func (s *Store[E, H, C, S]) Entries(lo, hi, maxSize uint64) ([]E, error) {
	if lo <= s.log.Base() {
		return nil, s.Lib.Compacted
	}
	if hi > s.log.Last()+1 {
		return nil, s.Lib.Unavailable
	}
	list := s.log.Entries(lo, hi-1)
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
	case i == s.log.Base():
		return s.base.Get().Term, nil
	case i < s.log.Base():
		return 0, s.Lib.Compacted
	case i > s.log.Last():
		return 0, s.Lib.Unavailable
	}
	return s.Lib.Term(s.log.At(i)), nil
}

// LastIndex is the index of the last entry.
func (s *Store[E, H, C, S]) LastIndex() (uint64, error) { return s.log.Last(), nil }

// FirstIndex is the index of the first entry after the snapshot.
func (s *Store[E, H, C, S]) FirstIndex() (uint64, error) { return s.First(), nil }

// Snapshot makes a snapshot of the current application.
func (s *Store[E, H, C, S]) Snapshot() (S, error) { return s.Lib.Snapshot(s.Source()), nil }

// Append writes entries; it drops the stored entries from the first one's index on.
func (s *Store[E, H, C, S]) Append(list []E) {
	for len(list) > 0 && s.Lib.Index(list[0]) <= s.log.Base() { // compacted meanwhile
		list = list[1:]
	}
	if len(list) == 0 {
		return
	}
	if before := s.Lib.Index(list[0]) - 1; before < s.log.Last() {
		s.disk.Together(func() {
			s.log.Truncate(before)
			s.log.Append(list[0])
		})
		list = list[1:]
	}
	s.log.Append(list...)
}

// SetHard writes the hard state.
func (s *Store[E, H, C, S]) SetHard(h Hard) { s.hard.Set(h) }

// Install replaces the log by a snapshot, which becomes valid with the hard state.
func (s *Store[E, H, C, S]) Install(snap Snapshot, h Hard) {
	s.disk.Together(func() {
		s.base.Set(snap)
		s.log.Truncate(s.log.Base())
		s.log.Compact(snap.Index)
		s.hard.Set(h)
	})
}

// Compact replaces the log up to the snapshot's index. The snapshot is durable before the log entries are dropped.
func (s *Store[E, H, C, S]) Compact(snap Snapshot) {
	if snap.Index > s.log.Base() {
		s.disk.Together(func() {
			s.base.Set(snap)
			s.log.Compact(snap.Index)
		})
		s.disk.Sync()
	}
}

// Direct makes past and future writes durable until it is called with false.
func (s *Store[E, H, C, S]) Direct(on bool) { s.disk.Direct(on) }

// Open is the number of writes that are not durable.
func (s *Store[E, H, C, S]) Open() int { return s.disk.Open() }

// Crash loses the last of the writes that are not durable.
func (s *Store[E, H, C, S]) Crash(draw func(int) int) (kept, of int) { return s.disk.Crash(draw) }

// Truncate loses everything after an index.
func (s *Store[E, H, C, S]) Truncate(last uint64) {
	if last < s.log.Base() || last >= s.log.Last() {
		return
	}
	s.log.Truncate(last)
	h := s.hard.Get()
	h.Commit = min(h.Commit, last)
	s.hard.Set(h)
	s.disk.Sync()
}

// Stored is the hard state written, durable or not.
func (s *Store[E, H, C, S]) Stored() Hard { return s.hard.Get() }

// First is the index of the first entry of the log.
func (s *Store[E, H, C, S]) First() uint64 { return s.log.Base() + 1 }

// Last is the index of the last entry.
func (s *Store[E, H, C, S]) Last() uint64 { return s.log.Last() }

// Entry is the entry at an index of the log.
func (s *Store[E, H, C, S]) Entry(index uint64) raftspec.Entry { return s.Lib.Entry(s.log.At(index)) }

// Base is the snapshot that precedes the log.
func (s *Store[E, H, C, S]) Base() Snapshot { return s.base.Get() }
