package hashicorpraft

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/raftspec"
)

// machine is the replicated state machine: a map with the clients' sessions.
type machine struct {
	node    *bubble.Node
	replica *replica

	mutex   sync.Mutex
	state   kv.Map
	applied uint64 // index of the last command
}

func newMachine(n *bubble.Node, r *replica, c Cluster) *machine {
	m := &machine{node: n, replica: r}
	m.state.Reset(c.Keys, c.Clients)
	return m
}

// Apply applies an entry.
func (m *machine) Apply(l *raft.Log) any {
	o, ok := kv.Decode(l.Data)
	if l.Type != raft.LogCommand || !ok {
		panic(fmt.Sprintf("the state machine cannot apply %+v", l))
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	result := m.state.Apply(o)
	m.applied = l.Index
	// The term in which the entry was committed is at least its own. The node's may be older: a deposed leader that
	// does not know of its successor yet sends entries of later terms under its old term.
	m.node.Emit(
		raftspec.EventApply,
		&raftspec.Applied{
			Entry: entry(l),
			Term:  max(m.replica.term(), l.Term),
			State: m.state.Hash(),
			Words: entryText,
		},
	)
	return &result
}

// read reads a key.
func (m *machine) read(key uint8) kv.Result {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.state.Read(key)
}

// Snapshot copies the state.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return taken(m.state.Snapshot(binary.LittleEndian.AppendUint64(nil, m.applied))), nil
}

// Restore loads the newest of the node's snapshots.
func (m *machine) Restore(from io.ReadCloser) error {
	data, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	if len(data) < 8 {
		return fmt.Errorf("a snapshot of %d bytes", len(data))
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := m.state.Restore(data[8:]); err != nil {
		return err
	}
	m.applied = binary.LittleEndian.Uint64(data)
	installed := &raftspec.Installed{State: m.state.Hash(), Applied: m.applied}
	m.replica.disk.Read(func(s *store) {
		installed.Index, installed.Term = s.snapshots[0].meta.Index,
			s.snapshots[0].meta.Term
	})
	m.node.Emit(raftspec.EventInstall, installed)
	return from.Close()
}

// taken is a serialized state.
type taken []byte

// Persist writes it.
func (t taken) Persist(sink raft.SnapshotSink) error {
	if _, err := sink.Write(t); err != nil {
		_ = sink.Cancel()
		return err
	}
	return sink.Close()
}

// Release has nothing to do.
func (taken) Release() {}
