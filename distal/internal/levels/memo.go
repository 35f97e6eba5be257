package levels

import (
	"encoding/binary"
	"sync"
)

// memo remembers the oracle's answers for one round, for one worker. Everything is found by small numbers: what was
// sent to a node is numbered too, as a chain of envelopes.
type memo struct {
	o       Oracle
	shared  *shared
	round   int
	modes   int
	begins  []int32 // by local state: index into ways plus one; 0: not known
	ways    [][]way
	joins   index      // (inbox, envelope): inbox
	inboxes []envelope // each is another one and an envelope; 0 is empty
	ends    index      // (local state, inbox): index into spans, for the first mode
	quiet   []int32    // by local state: the same for an empty inbox, plus one; 0: not known
	spans   []span
	outs    []ending
	sent    []uint32
}

// way is a Beginning as the inner loop needs it.
type way struct {
	after   uint32
	silent  bool // nothing is sent
	changed bool
	problem int32
	sent    []uint32 // by receiver: an envelope, or 0
}

// envelope is a message and who sent it; rest is the inbox it was put into.
type envelope struct{ rest, envelope uint32 }

// senderBits are the bits of an envelope that hold the sender; the others hold the message.
const (
	senderBits = 4
	maxNodes   = 1 << senderBits
)

type span struct{ from, to uint32 }

// ending is an Ending as the inner loop needs it.
type ending struct {
	hash    uint64
	local   uint32
	class   uint32
	problem int32
	flags   uint32
}

const (
	acted   = 1 << iota
	changed // Judge may see a difference
	wrong   // there is a problem
)

func newEnding(o Oracle, local uint32) ending {
	hash, class := o.Local(local)
	return ending{hash: hash, local: local, class: class}
}

func newMemo(o Oracle, round int, s *shared) *memo {
	return &memo{o: o, shared: s, round: round, modes: o.Modes(), inboxes: make([]envelope, 1), sent: make([]uint32, o.Nodes())}
}

// begin lists how the node of a local state can begin the round.
func (m *memo) begin(local uint32) []way {
	if int(local) < len(m.begins) {
		if i := m.begins[local]; i != 0 {
			return m.ways[i-1]
		}
	}
	var ways []way
	for _, b := range m.shared.begin(m.o, m.round, local) {
		w := way{after: b.After, silent: true, changed: b.Changed, problem: int32(b.Problem), sent: make([]uint32, len(m.sent))}
		for to, msg := range b.Sent {
			if msg != 0 {
				w.silent = false
				w.sent[to] = msg << senderBits // the sender is added by who knows it
			}
		}
		ways = append(ways, w)
	}
	m.ways = append(m.ways, ways)
	m.begins = dense(m.begins, local, int32(len(m.ways)))
	return ways
}

// join puts an envelope into an inbox.
func (m *memo) join(inbox, sealed uint32) uint32 {
	key := uint64(inbox)<<32 | uint64(sealed)
	if i, ok := m.joins.find(key); ok {
		return i
	}
	i := uint32(len(m.inboxes))
	m.inboxes = append(m.inboxes, envelope{inbox, sealed})
	m.joins.put(key, i)
	return i
}

// silence finds the spans of a node to which nothing was sent.
func (m *memo) silence(local uint32) uint32 {
	if int(local) < len(m.quiet) {
		if i := m.quiet[local]; i != 0 {
			return uint32(i) - 1
		}
	}
	i := m.ask(local, 0)
	m.quiet = dense(m.quiet, local, int32(i)+1)
	return i
}

// end finds the spans of a node with an inbox.
func (m *memo) end(local, inbox uint32) uint32 {
	key := uint64(local)<<32 | uint64(inbox)
	if i, ok := m.ends.find(key); ok {
		return i
	}
	i := m.ask(local, inbox)
	m.ends.put(key, i)
	return i
}

// ask gets the answers of all modes.
func (m *memo) ask(local, inbox uint32) uint32 {
	clear(m.sent)
	for i := inbox; i != 0; i = m.inboxes[i].rest {
		e := m.inboxes[i].envelope
		m.sent[e&(1<<senderBits-1)] = e >> senderBits
	}
	first := uint32(len(m.spans))
	for _, list := range m.shared.end(m.o, m.round, m.modes, local, m.sent) {
		from := uint32(len(m.outs))
		for _, e := range list {
			out := newEnding(m.o, e.Local)
			out.problem = int32(e.Problem)
			if e.Acted {
				out.flags |= acted
			}
			if e.Changed {
				out.flags |= changed
			}
			if e.Problem != 0 {
				out.flags |= wrong
			}
			m.outs = append(m.outs, out)
		}
		m.spans = append(m.spans, span{from, uint32(len(m.outs))})
	}
	return first
}

func (m *memo) bytes() int64 {
	return int64(cap(m.begins)+cap(m.quiet))*4 + int64(len(m.ways))*int64(64+4*len(m.sent)) + m.joins.bytes() + m.ends.bytes() +
		int64(cap(m.inboxes)+cap(m.spans))*8 + int64(cap(m.outs))*24
}

// dense sets list[at], making the list longer as needed.
func dense(list []int32, at uint32, value int32) []int32 {
	if need := int(at) + 1; need > len(list) {
		list = append(list, make([]int32, need+need/2-len(list))...)
	}
	list[at] = value
	return list
}

// shared is what the workers of a round know together, so that the oracle is asked about once. A nil one knows
// nothing and asks.
type shared struct {
	mu     sync.Mutex
	begins map[uint32][]Beginning
	ends   map[string][][]Ending
	size   int64
}

func newShared() *shared {
	return &shared{begins: map[uint32][]Beginning{}, ends: map[string][][]Ending{}}
}

func (s *shared) begin(o Oracle, round int, local uint32) []Beginning {
	if s == nil {
		return o.Begin(round, local)
	}
	s.mu.Lock()
	list, ok := s.begins[local]
	s.mu.Unlock()
	if ok {
		return list
	}
	list = o.Begin(round, local)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begins[local] = list
	s.size += int64(len(list))*64 + 32
	return list
}

func (s *shared) end(o Oracle, round, modes int, local uint32, sent []uint32) [][]Ending {
	key := ""
	if s != nil {
		raw := binary.LittleEndian.AppendUint32(nil, local)
		for _, m := range sent {
			raw = binary.LittleEndian.AppendUint32(raw, m)
		}
		key = string(raw)
		s.mu.Lock()
		list, ok := s.ends[key]
		s.mu.Unlock()
		if ok {
			return list
		}
	}
	list := make([][]Ending, modes)
	size := int64(64 + len(key))
	for mode := range list {
		list[mode] = o.End(round, mode, local, sent)
		size += int64(len(list[mode])) * 24
	}
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ends[key] = list
		s.size += size
	}
	return list
}

func (s *shared) bytes() int64 {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

// index is a map from pairs of numbers to numbers, made for few misses. No pair is (0, 0).
type index struct {
	slots []slot
	count int
}

type slot struct {
	key   uint64
	value uint32
}

func (x *index) find(key uint64) (uint32, bool) {
	if x.count == 0 {
		return 0, false
	}
	mask := uint64(len(x.slots) - 1)
	for at := mix(key) & mask; ; at = (at + 1) & mask {
		switch s := &x.slots[at]; s.key {
		case key:
			return s.value, true
		case 0:
			return 0, false
		}
	}
}

// put enters a key that is not there.
func (x *index) put(key uint64, value uint32) {
	if x.count*2 >= len(x.slots) {
		old := x.slots
		x.slots = make([]slot, max(64, len(old)*2))
		for _, s := range old {
			if s.key != 0 {
				x.place(s)
			}
		}
	}
	x.count++
	x.place(slot{key, value})
}

func (x *index) place(s slot) {
	mask := uint64(len(x.slots) - 1)
	at := mix(s.key) & mask
	for x.slots[at].key != 0 {
		at = (at + 1) & mask
	}
	x.slots[at] = s
}

func (x *index) bytes() int64 { return int64(len(x.slots)) * 16 }

// mix spreads a pair of small numbers over the low bits.
func mix(key uint64) uint64 {
	key *= 0x9e3779b97f4a7c15
	return key ^ key>>29
}
