package etcdraft

import (
	"encoding/binary"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// Limits of the workload.
const (
	maxClients  = 16
	maxRequests = 1000
	maxKeys     = 8
)

// machine is the replicated application: a small map, the clients' sessions, so that a
// request that arrives twice takes effect once, and the membership.
type machine struct {
	applied, term uint64 // the last entry applied
	prefix        uint64 // hash of all entries applied
	values        []int32
	sessions      []session
	conf          raftlib.Conf
	ever          lockstep.Nodes // all that were members at some time
}

// session is what the application remembers of a client.
type session struct {
	seq    uint16 // of the last operation applied
	result Result
}

func (m *machine) reset(keys, clients int) {
	m.applied, m.term, m.prefix, m.conf, m.ever = 0, 0, 0, raftlib.Conf{}, 0
	m.values = append(m.values[:0], make([]int32, keys)...)
	m.sessions = append(m.sessions[:0], make([]session, clients)...)
}

// removed are the nodes that were members once. Their numbers are never used again, as
// the library demands.
func (m *machine) removed() lockstep.Nodes { return m.ever &^ m.conf.Members() }

func (m *machine) setConf(c raftlib.Conf) {
	m.conf = c
	m.ever |= c.Members()
}

// apply applies a client's operation, unless it has been applied before, and returns its
// result.
func (m *machine) apply(o Op) Result {
	s := &m.sessions[o.Client-1]
	if o.Seq > s.seq {
		*s = session{seq: o.Seq, result: m.execute(o)}
	}
	return s.result
}

func (m *machine) execute(o Op) Result {
	v := &m.values[o.Key]
	switch o.Kind {
	case Put:
		*v = o.Value
	case Cas:
		if *v != o.Old {
			return Result{Value: *v}
		}
		*v = o.Value
	}
	return Result{Value: *v, OK: true}
}

// allows reports whether the application agrees to a membership change: numbers are not
// used twice, no voter leaves a cluster of two, of which the library warns that the other
// may be left behind without a quorum, and a joint configuration is entered and left
// properly. Every node decides the same, because it decides by what it has applied.
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
	h := mixer(14695981039346656037)
	for _, v := range m.values {
		h.mix(uint64(v))
	}
	for _, s := range m.sessions {
		h.mix(uint64(s.seq)<<33 | uint64(uint32(s.result.Value))<<1 | uint64(btoi(s.result.OK)))
	}
	h.mix(uint64(m.conf.Voters) | uint64(m.conf.Outgoing)<<16 | uint64(m.conf.Learners)<<32 | uint64(m.conf.LearnersNext)<<48)
	return uint64(h)
}

// mixer is a running hash.
type mixer uint64

func (h *mixer) mix(v uint64) {
	x := (uint64(*h) ^ v) * 0x9e3779b97f4a7c15
	*h = mixer(x ^ x>>32)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// snapshot writes the state down.
func (m *machine) snapshot() raftlib.Snapshot {
	data := make([]byte, 0, 16+4*len(m.values)+8*len(m.sessions))
	data = binary.LittleEndian.AppendUint64(data, uint64(m.ever))
	data = binary.LittleEndian.AppendUint64(data, m.prefix)
	for _, v := range m.values {
		data = binary.LittleEndian.AppendUint32(data, uint32(v))
	}
	for _, s := range m.sessions {
		data = binary.LittleEndian.AppendUint16(data, s.seq)
		data = binary.LittleEndian.AppendUint32(data, uint32(s.result.Value))
		data = append(data, byte(btoi(s.result.OK)))
	}
	return raftlib.Snapshot{Index: m.applied, Term: m.term, Conf: m.conf, Data: data}
}

// restore takes over a snapshot. One of index 0 is the state of a node that has none.
func (m *machine) restore(s raftlib.Snapshot) {
	m.reset(len(m.values), len(m.sessions))
	m.applied, m.term = s.Index, s.Term
	m.setConf(s.Conf)
	if s.Index == 0 {
		return
	}
	data := s.Data
	m.ever |= lockstep.Nodes(binary.LittleEndian.Uint64(data))
	m.prefix = binary.LittleEndian.Uint64(data[8:])
	data = data[16:]
	for i := range m.values {
		m.values[i] = int32(binary.LittleEndian.Uint32(data))
		data = data[4:]
	}
	for i := range m.sessions {
		m.sessions[i] = session{seq: binary.LittleEndian.Uint16(data),
			result: Result{Value: int32(binary.LittleEndian.Uint32(data[2:])), OK: data[6] == 1}}
		data = data[7:]
	}
}

// String is the state in a few words.
func (m *machine) String() string {
	s := fmt.Sprintf("applied=%d", m.applied)
	for k, v := range m.values {
		if v != 0 {
			s += fmt.Sprintf(" %s=%d", keyName(uint8(k)), v)
		}
	}
	return s
}
