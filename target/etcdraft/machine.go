package etcdraft

import (
	"encoding/binary"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// machine is the replicated application: a small map with the clients' sessions, and the
// membership.
type machine struct {
	kv.Map
	applied, term uint64 // the last entry applied
	conf          raftspec.Conf
	ever          lockstep.Nodes // all current and former members
}

func (m *machine) reset(keys, clients int) {
	m.Map.Reset(keys, clients)
	m.applied, m.term, m.conf, m.ever = 0, 0, raftspec.Conf{}, 0
}

// removed are the former members. Their numbers are never reused, as the library demands.
func (m *machine) removed() lockstep.Nodes { return m.ever &^ m.conf.Members() }

func (m *machine) setConf(c raftspec.Conf) {
	m.conf = c
	m.ever |= c.Members()
}

// allows reports whether the application accepts a membership change. Numbers are not reused. No voter leaves a
// cluster of two; the library warns that this may leave the other node behind without a quorum. A joint configuration
// is entered and left properly. Every node decides the same, because it decides by the entries that it has applied.
func (m *machine) allows(c raftlib.ConfChange) bool {
	joint := m.conf.Outgoing != 0
	leave := c.Add|c.Learn|c.Remove == 0
	if joint || leave {
		return joint == leave
	}
	few := c.Remove&m.conf.Voters != 0 && m.conf.Voters.Len() < 3
	return !few && (c.Add|c.Learn)&m.removed() == 0 && c.Learn&m.conf.Voters == 0 && c.Remove&^m.conf.Members() == 0
}

// fingerprint hashes the state.
func (m *machine) fingerprint() uint64 {
	h := mix.Hash(m.Hash())
	h.Mix(uint64(m.conf.Voters) | uint64(m.conf.Outgoing)<<16 | uint64(m.conf.Learners)<<32 |
		uint64(m.conf.LearnersNext)<<48)
	return uint64(h)
}

// snapshot serializes the state.
func (m *machine) snapshot() raftlib.Snapshot {
	data := binary.LittleEndian.AppendUint64(nil, uint64(m.ever))
	return raftlib.Snapshot{Index: m.applied, Term: m.term, Conf: m.conf, Data: m.Snapshot(data)}
}

// restore loads a snapshot. Index 0 stands for the state without a snapshot.
func (m *machine) restore(s raftlib.Snapshot, keys, clients int) {
	m.reset(keys, clients)
	m.applied, m.term = s.Index, s.Term
	m.setConf(s.Conf)
	if s.Index == 0 {
		return
	}
	m.ever |= lockstep.Nodes(binary.LittleEndian.Uint64(s.Data))
	if err := m.Restore(s.Data[8:]); err != nil {
		panic(err)
	}
}

// String summarizes the state.
func (m *machine) String() string { return fmt.Sprintf("applied=%d%s", m.applied, m.Map.String()) }

// entryText is the data of an entry as text.
func entryText(e raftspec.Entry) string {
	if e.Kind != raftspec.Normal {
		return "members"
	}
	if o, ok := kv.Decode(e.Data); ok {
		return o.String()
	}
	if len(e.Data) == 8 { // the context of a read
		return "read"
	}
	return "-"
}
