package levels

import (
	"sync"
	"sync/atomic"

	"github.com/lockstep-go/lockstep/distal/internal/grow"
)

// memo remembers the oracle's answers for one round, for all workers. Everything is found by small numbers, in as few
// looks into memory as possible and without locks, because those are what the search spends its time on. What was sent
// to a node is numbered too, as a chain of envelopes; the first inboxes are the empty ones, one for each mode of the
// network.
//
// Numbers of inboxes depend on which worker comes first, and nothing else does.
type memo struct {
	o       Oracle
	round   int
	modes   uint32
	nodes   uint32
	mu      sync.Mutex // for whichever caller adds
	starts  grow.Array[start]
	ways    grow.Runs[start]  // several ways to begin
	sent    grow.Runs[uint32] // by receiver: an envelope without its sender, or 0. The first row is empty
	joins   grow.Table        // (inbox, envelope): inbox
	inboxes grow.Array[inbox]
	boxes   uint32             // how many there are
	idle    grow.Array[ending] // by local state and mode: the ending with an empty inbox, if there is just one
	ends    grow.Table         // (local state, inbox): where its endings are, and how many
	outs    grow.Runs[ending]
}

// start is a Beginning as the inner loop needs it, or, when count is more than 1, where so many of them are.
type start struct {
	after uint32 // or where several are in memo.ways
	sent  uint32 // where its row in memo.sent is; 0: nothing is sent
	flags uint32
	count uint32 // 0: not known
}

// inbox is another inbox and an envelope: a message and its sender.
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
	changed // Check may see a difference
	known   // in memo.idle: this is the only ending
	wrong   = ^uint32(known<<1 - 1)

	problemShift = 3
)

func newMemo(o Oracle, round int) *memo {
	m := &memo{o: o, round: round, modes: uint32(o.Modes()), nodes: uint32(o.Nodes()), boxes: uint32(o.Modes())}
	m.sent.Add(make([]uint32, m.nodes))
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
	if s := m.starts.Find(int(local)); s != nil {
		if count := atomic.LoadUint32(&s.count); count != 0 {
			return start{s.after, s.sent, s.flags, count}
		}
	}
	list := m.o.Begin(m.round, local)
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.starts.Make(int(local))
	if s.count != 0 {
		return *s
	}
	ways := make([]start, len(list))
	for i, b := range list {
		ways[i] = start{after: b.After, flags: flag(b.Changed, changed) | uint32(b.Problem)<<problemShift, count: 1,
			sent: m.row(b.Sent)}
	}
	if len(ways) == 1 {
		s.after, s.sent, s.flags = ways[0].after, ways[0].sent, ways[0].flags
	} else {
		s.after = m.ways.Add(ways)
	}
	atomic.StoreUint32(&s.count, uint32(len(ways)))
	return *s
}

// row keeps what is sent, by receiver.
func (m *memo) row(sent []uint32) (at uint32) {
	var spare [maxNodes]uint32
	row, some := spare[:len(sent)], uint32(0)
	for q, message := range sent {
		row[q] = message << senderBits
		some |= message
	}
	if some == 0 {
		return 0
	}
	return m.sent.Add(row)
}

// join puts an envelope into an inbox.
func (m *memo) join(box, envelope uint32) uint32 {
	key := uint64(box)<<32 | uint64(envelope)
	if v, ok := m.joins.Find(key); ok {
		return uint32(v)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.joins.Find(key); ok {
		return uint32(v)
	}
	i := m.boxes
	m.boxes++
	*m.inboxes.Make(int(i)) = inbox{box, envelope}
	m.joins.Put(key, uint64(i))
	return i
}

// end lists how the node of a local state with an inbox can end the round.
func (m *memo) end(local, box uint32) []ending {
	if box < m.modes {
		if e := m.idle.List(int(local*m.modes + box)); e != nil && atomic.LoadUint32(&e[0].flags)&known != 0 {
			return e
		}
	}
	key := uint64(local+1)<<32 | uint64(box)
	if v, ok := m.ends.Find(key); ok {
		return m.outs.At(uint32(v>>32), uint32(v))
	}
	list := m.ask(local, box)
	m.mu.Lock()
	defer m.mu.Unlock()
	if box < m.modes && len(list) == 1 {
		e := m.idle.Make(int(local*m.modes + box))
		if e.flags&known == 0 {
			e.hash, e.local, e.class = list[0].hash, list[0].local, list[0].class
			atomic.StoreUint32(&e.flags, list[0].flags|known)
		}
	} else if _, ok := m.ends.Find(key); !ok {
		m.ends.Put(key, uint64(m.outs.Add(list))<<32|uint64(len(list)))
	}
	return list
}

// ask gets the oracle's answer.
func (m *memo) ask(local, box uint32) []ending {
	var spare [maxNodes]uint32
	sent := spare[:m.nodes]
	i := box
	for i >= m.modes {
		b := m.inboxes.Find(int(i))
		sent[b.envelope&(maxNodes-1)] = b.envelope >> senderBits
		i = b.rest
	}
	answer := m.o.End(m.round, int(i), local, sent)
	list := make([]ending, len(answer))
	for k, e := range answer {
		flags := flag(e.Acted, acted) | flag(e.Changed, changed) | uint32(e.Problem)<<problemShift
		list[k] = newEnding(m.o, e.Local, flags)
	}
	return list
}

func (m *memo) bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return (m.starts.Cap()+m.ways.Cap()+m.idle.Cap()+m.outs.Cap())*16 + m.joins.Bytes() + m.ends.Bytes() +
		m.inboxes.Cap()*8 + m.sent.Cap()*4
}

// verdicts are what Check has said, kept over all rounds, for all workers: a chain of classes from the last node to
// the second has a number, and that with the class of the first node has a verdict.
type verdicts struct {
	mu      sync.Mutex
	chains  grow.Table
	checked grow.Table
}

// chain numbers a chain with one more class.
func (v *verdicts) chain(chain, class uint32) uint32 {
	key := uint64(chain+1)<<32 | uint64(class)
	if next, ok := v.chains.Find(key); ok {
		return uint32(next)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	next, ok := v.chains.Find(key)
	if !ok {
		next = uint64(v.chains.Len()) + 1
		v.chains.Put(key, next)
	}
	return uint32(next)
}

// verdict of a chain with the class of the first node.
func (v *verdicts) verdict(chain, class uint32, check func() int) int {
	key := uint64(chain+1)<<32 | uint64(class)
	if found, ok := v.checked.Find(key); ok {
		return int(found)
	}
	found := check()
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.checked.Find(key); !ok {
		v.checked.Put(key, uint64(found))
	}
	return found
}

func (v *verdicts) bytes() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.chains.Bytes() + v.checked.Bytes()
}
