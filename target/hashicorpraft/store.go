package hashicorpraft

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/raftspec"
)

// store is the content of a node's disk: the log, the term and the vote, the last snapshots.
type store struct {
	first     uint64 // index of logs[0]
	logs      []raft.Log
	words     map[string]string
	numbers   map[string]uint64
	snapshots []snapshot // the newest first, at most two
}

type snapshot struct {
	meta raft.SnapshotMeta
	data []byte
}

func newStore() *store { return &store{words: map[string]string{}, numbers: map[string]uint64{}} }

func (s *store) clone() *store {
	c := *s
	c.logs, c.snapshots = slices.Clone(s.logs), slices.Clone(s.snapshots)
	c.words, c.numbers = maps.Clone(s.words), maps.Clone(s.numbers)
	return &c
}

// last is the end of the log, or of the snapshot if that is longer.
func (s *store) last() (index, term uint64) {
	if k := len(s.logs); k > 0 {
		return s.logs[k-1].Index, s.logs[k-1].Term
	}
	if len(s.snapshots) > 0 {
		return s.snapshots[0].meta.Index, s.snapshots[0].meta.Term
	}
	return 0, 0
}

func (s *store) lastLog() uint64 {
	if len(s.logs) == 0 {
		return 0
	}
	return s.first + uint64(len(s.logs)) - 1
}

// end is the index at which the log ends, or a longer snapshot.
func (s *store) end() uint64 {
	if len(s.snapshots) > 0 {
		return max(s.lastLog(), s.snapshots[0].meta.Index)
	}
	return s.lastLog()
}

// found is the state that a starting node finds: the log after the snapshot that replaces its beginning.
func (s *store) found() *raftspec.Restarted {
	r := &raftspec.Restarted{Base: s.end(), Last: s.end(), Term: s.numbers[currentTerm]}
	if len(s.logs) > 0 && s.lastLog() == r.Last {
		r.Base = s.first - 1
		for i := range s.logs {
			r.Entries = append(r.Entries, entry(&s.logs[i]))
		}
	}
	return r
}

// cut drops the entries from an index on.
func (s *store) cut(from uint64) {
	if len(s.logs) > 0 && from <= s.lastLog() {
		keep := int(from - min(from, s.first))
		s.logs = s.logs[:keep]
	}
}

// append adds an entry. After a gap the log restarts with this entry.
func (s *store) append(l *raft.Log) {
	if len(s.logs) == 0 || l.Index != s.lastLog()+1 {
		s.logs, s.first = s.logs[:0], l.Index
	}
	s.logs = append(s.logs, *l)
}

// currentTerm is the library's name of the term.
const currentTerm = "CurrentTerm"

// disk provides the store interfaces of the library.
type disk struct {
	*bubble.Disk[store]
	node    *bubble.Node
	replica *replica
}

var errNotFound = errors.New("not found") // the library compares this text

// FirstIndex is the index of the first entry.
func (d *disk) FirstIndex() (index uint64, _ error) {
	d.Read(func(s *store) {
		if len(s.logs) > 0 {
			index = s.first
		}
	})
	return index, nil
}

// LastIndex is the index of the last entry.
func (d *disk) LastIndex() (index uint64, _ error) {
	d.Read(func(s *store) { index = s.lastLog() })
	return index, nil
}

// GetLog reads an entry.
func (d *disk) GetLog(index uint64, l *raft.Log) (err error) {
	d.Read(func(s *store) {
		if err = raft.ErrLogNotFound; len(s.logs) > 0 && index >= s.first && index <= s.lastLog() {
			*l, err = s.logs[index-s.first], nil
		}
	})
	return err
}

// StoreLog writes an entry.
func (d *disk) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }

// StoreLogs writes entries atomically.
func (d *disk) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	e := &raftspec.Appended{Leader: d.replica.leads(), Words: entryText}
	d.Write(func(s *store) {
		e.Last = s.end()
		s.cut(logs[0].Index)
		e.Entries = e.Entries[:0]
		for _, l := range logs {
			s.append(l)
			e.Entries = append(e.Entries, entry(l))
		}
	})
	d.node.Emit(raftspec.EventAppend, e)
	return nil
}

// DeleteRange drops entries from the beginning or the end of the log.
func (d *disk) DeleteRange(from, to uint64) error {
	var cut, leader bool
	d.Write(func(s *store) {
		if to >= s.lastLog() && from > s.first {
			s.cut(from)
			cut = true
			return
		}
		if len(s.logs) > 0 && from <= s.first && to >= s.first {
			k := min(int(to-s.first)+1, len(s.logs))
			s.logs, s.first = slices.Clone(s.logs[k:]), s.first+uint64(k)
		}
	})
	if leader = d.replica.leads(); cut && leader {
		d.node.Emit(raftspec.EventAppend, &raftspec.Appended{Leader: true, Cut: from})
	}
	return nil
}

// Set writes a value.
func (d *disk) Set(key, value []byte) error {
	d.Write(func(s *store) { s.words[string(key)] = string(value) })
	return nil
}

// Get reads a value.
func (d *disk) Get(key []byte) (value []byte, err error) {
	d.Read(func(s *store) {
		if v, ok := s.words[string(key)]; ok {
			value = []byte(v)
		} else {
			err = errNotFound
		}
	})
	return value, err
}

// SetUint64 writes a number.
func (d *disk) SetUint64(key []byte, value uint64) error {
	d.Write(func(s *store) { s.numbers[string(key)] = value })
	if string(key) == currentTerm {
		d.replica.current.Store(value)
	}
	return nil
}

// GetUint64 reads a number.
func (d *disk) GetUint64(key []byte) (value uint64, err error) {
	d.Read(func(s *store) {
		var ok bool
		if value, ok = s.numbers[string(key)]; !ok {
			err = errNotFound
		}
	})
	return value, err
}

// Create begins a snapshot.
func (d *disk) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	return &sink{disk: d, meta: raft.SnapshotMeta{Version: version, ID: fmt.Sprintf("%d-%d", term, index), Index: index,
		Term:          term,
		Configuration: configuration, ConfigurationIndex: configurationIndex}}, nil
}

// List lists the snapshots, the newest first.
func (d *disk) List() (list []*raft.SnapshotMeta, _ error) {
	d.Read(func(s *store) {
		for i := range s.snapshots {
			meta := s.snapshots[i].meta
			list = append(list, &meta)
		}
	})
	return list, nil
}

// Open reads a snapshot.
func (d *disk) Open(id string) (meta *raft.SnapshotMeta, data io.ReadCloser, err error) {
	err = fmt.Errorf("no snapshot %s", id)
	d.Read(func(s *store) {
		for _, snap := range s.snapshots {
			if m := snap.meta; m.ID == id {
				meta, data, err = &m, io.NopCloser(bytes.NewReader(snap.data)), nil
				return
			}
		}
	})
	return meta, data, err
}

// sink receives a snapshot, which becomes visible atomically when sink is closed.
type sink struct {
	bytes.Buffer
	disk     *disk
	meta     raft.SnapshotMeta
	canceled bool
}

// ID names the snapshot.
func (s *sink) ID() string { return s.meta.ID }

// Cancel discards the snapshot.
func (s *sink) Cancel() error {
	s.canceled = true
	return nil
}

// Close makes the snapshot durable.
func (s *sink) Close() error {
	if s.canceled {
		return nil
	}
	s.meta.Size = int64(s.Len())
	data := slices.Clone(s.Bytes())
	s.disk.Write(func(to *store) {
		to.snapshots = append([]snapshot{{s.meta, data}}, to.snapshots...)
		slices.SortStableFunc(to.snapshots, func(a, b snapshot) int { return int(b.meta.Index) - int(a.meta.Index) })
		to.snapshots = to.snapshots[:min(2, len(to.snapshots))]
	})
	s.canceled = true
	return nil
}

// bootstrapped is the disk of a node with nothing but the initial configuration.
func (c Cluster) bootstrapped() *store {
	var servers []raft.Server
	for i := range c.Nodes {
		n := lockstep.Node(i + 1)
		servers = append(servers, raft.Server{ID: id(n), Address: c.at(n)})
	}
	s := newStore()
	l := raft.Log{
		Index: 1,
		Term:  1,
		Type:  raft.LogConfiguration,
		Data:  raft.EncodeConfiguration(raft.Configuration{Servers: servers}),
	}
	s.append(&l)
	s.numbers[currentTerm] = 1
	return s
}
