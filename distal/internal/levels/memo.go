package levels

import (
	"encoding/binary"
	"sync"
)

// memo remembers the oracle's answers for one round, for one worker. Everything is found by small numbers, in as few
// looks into memory as possible, because those are what the search spends its time on. What was sent to a node
// is numbered too, as a chain of envelopes; the first inboxes are the empty ones, one for each mode of the network.
type memo struct {
	o       Oracle
	shared  *shared
	round   int
	modes   uint32
	starts  []start  // by local state; several ways to begin are in ways
	ways    []start  // those of one local state follow each other
	sent    []uint32 // rows by receiver: an envelope without its sender, or 0. The first row is empty
	joins   index    // (inbox, envelope): inbox
	inboxes []inbox
	quiet   []ending // by local state and mode: the ending with an empty inbox, if there is just one
	ends    index    // (local state, inbox): where its endings are
	outs    []ending
	msgs    []uint32
}

// start is a Beginning as the inner loop needs it, or, when count is more than 1, where so many of them are.
type start struct {
	after uint32 // or the first of several in memo.ways
	sent  uint32 // where its row in memo.sent begins; 0: nothing is sent
	flags uint32
	count uint32 // 0: not known
}

// inbox is another inbox and an envelope: a message and who sent it.
type inbox struct{ rest, envelope uint32 }

// senderBits are the bits of an envelope that hold the sender; the others hold the message.
const (
	senderBits = 4
	maxNodes   = 1 << senderBits
)

// ending is an Ending as the inner loop needs it.
type ending struct {
	hash  uint32 // high half
	local uint32
	class uint32
	flags uint32
}

// Flags; above them is the problem.
const (
	acted   = 1 << iota
	changed // Judge may see a difference
	many    // in memo.quiet: there are several endings, or none is known
	wrong   = ^uint32(many<<1 - 1)

	problemShift = 3
)

func newMemo(o Oracle, round int, s *shared) *memo {
	m := &memo{o: o, shared: s, round: round, modes: uint32(o.Modes()), sent: make([]uint32, o.Nodes()), msgs: make([]uint32, o.Nodes())}
	m.inboxes = make([]inbox, m.modes)
	return m
}

func newEnding(o Oracle, local, flags uint32) ending {
	hash, class := o.Local(local)
	return ending{hash: uint32(hash >> 32), local: local, class: class, flags: flags}
}

func flag(set bool, f uint32) uint32 {
	if set {
		return f
	}
	return 0
}

// begin says how the node of a local state can begin the round.
func (m *memo) begin(local uint32) start {
	if int(local) < len(m.starts) {
		if s := m.starts[local]; s.count != 0 {
			return s
		}
	}
	list := m.shared.begin(m.o, m.round, local)
	s := start{after: uint32(len(m.ways)), count: uint32(len(list))}
	for _, b := range list {
		way := start{after: b.After, flags: flag(b.Changed, changed) | uint32(b.Problem)<<problemShift, count: 1}
		row := len(m.sent)
		for q := range m.msgs {
			m.sent = append(m.sent, b.Sent[q]<<senderBits)
			if b.Sent[q] != 0 {
				way.sent = uint32(row)
			}
		}
		if way.sent == 0 {
			m.sent = m.sent[:row]
		}
		m.ways = append(m.ways, way)
	}
	if s.count == 1 {
		s = m.ways[s.after]
		m.ways = m.ways[:len(m.ways)-1]
	}
	m.starts = reach(m.starts, int(local), start{})
	m.starts[local] = s
	return s
}

// join puts an envelope into an inbox.
func (m *memo) join(box, envelope uint32) uint32 {
	key := uint64(box)<<32 | uint64(envelope)
	if v, ok := m.joins.find(key); ok {
		return v.from
	}
	i := uint32(len(m.inboxes))
	m.inboxes = append(m.inboxes, inbox{box, envelope})
	m.joins.put(key, span{from: i})
	return i
}

// end lists how the node of a local state with an inbox can end the round.
func (m *memo) end(local, box uint32) []ending {
	key := uint64(local+1)<<32 | uint64(box)
	if box < m.modes {
		i := int(local*m.modes + box)
		if i < len(m.quiet) && m.quiet[i].flags&many == 0 {
			return m.quiet[i : i+1]
		}
	}
	if v, ok := m.ends.find(key); ok {
		return m.outs[v.from:v.to]
	}
	list := m.ask(local, box)
	if box < m.modes && len(list) == 1 {
		i := int(local*m.modes + box)
		m.quiet = reach(m.quiet, i, ending{flags: many})
		m.quiet[i] = list[0]
		m.outs = m.outs[:len(m.outs)-1]
		return m.quiet[i : i+1]
	}
	m.ends.put(key, span{uint32(len(m.outs) - len(list)), uint32(len(m.outs))})
	return list
}

// ask gets the oracle's answer and puts it at the end of m.outs.
func (m *memo) ask(local, box uint32) []ending {
	clear(m.msgs)
	i := box
	for ; i >= m.modes; i = m.inboxes[i].rest {
		e := m.inboxes[i].envelope
		m.msgs[e&(maxNodes-1)] = e >> senderBits
	}
	from := len(m.outs)
	for _, e := range m.shared.end(m.o, m.round, int(i), local, m.msgs) {
		flags := flag(e.Acted, acted) | flag(e.Changed, changed) | uint32(e.Problem)<<problemShift
		m.outs = append(m.outs, newEnding(m.o, e.Local, flags))
	}
	return m.outs[from:]
}

func (m *memo) bytes() int64 {
	return int64(cap(m.starts)+cap(m.ways)+cap(m.quiet)+cap(m.outs))*16 + m.joins.bytes() + m.ends.bytes() +
		int64(cap(m.inboxes))*8 + int64(cap(m.sent))*4
}

// reach makes a list so long that it has an element at the given place.
func reach[T any](list []T, at int, empty T) []T {
	if at < len(list) {
		return list
	}
	for len(list) <= at+at/2 {
		list = append(list, empty)
	}
	return list
}

// shared is what the workers of a round know together, so that the oracle is asked about once. A nil one knows
// nothing and asks.
type shared struct {
	mu     sync.Mutex
	begins map[uint32][]Beginning
	ends   map[string][]Ending
	size   int64
}

func newShared() *shared {
	return &shared{begins: map[uint32][]Beginning{}, ends: map[string][]Ending{}}
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

func (s *shared) end(o Oracle, round, mode int, local uint32, sent []uint32) []Ending {
	if s == nil {
		return o.End(round, mode, local, sent)
	}
	var room [4 * (maxNodes + 2)]byte // on the stack: mostly another worker has asked before, and finding that should cost no memory
	raw := binary.LittleEndian.AppendUint32(room[:0], uint32(mode))
	raw = binary.LittleEndian.AppendUint32(raw, local)
	for _, m := range sent {
		raw = binary.LittleEndian.AppendUint32(raw, m)
	}
	s.mu.Lock()
	list, ok := s.ends[string(raw)]
	s.mu.Unlock()
	if ok {
		return list
	}
	key := string(raw)
	list = o.End(round, mode, local, sent)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends[key] = list
	s.size += int64(64 + len(key) + 24*len(list))
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

// index is a map from pairs of numbers to a span, made for few misses. No pair is (0, 0).
type index struct {
	slots []slot
	count int
}

type slot struct {
	key   uint64
	value span
}

type span struct{ from, to uint32 }

func (x *index) find(key uint64) (span, bool) {
	if x.count == 0 {
		return span{}, false
	}
	mask := uint64(len(x.slots) - 1)
	for at := mix(key) & mask; ; at = (at + 1) & mask {
		switch s := &x.slots[at]; s.key {
		case key:
			return s.value, true
		case 0:
			return span{}, false
		}
	}
}

// put enters a key that is not there.
func (x *index) put(key uint64, value span) {
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
	return key ^ key>>32
}
