package machine

import (
	"cmp"
	"encoding/binary"
	"math"

	"github.com/lockstep-go/lockstep/distal/core"
)

// Tag is a phase and a round, ordered first by phase.
type Tag struct {
	Phase int64
	Round int
}

// Before says whether t comes before u.
func (t Tag) Before(u Tag) bool { return t.Compare(u) < 0 }

// Compare orders tags: -1 when t comes before u, 1 after, 0 when they are equal.
func (t Tag) Compare(u Tag) int {
	if t.Phase != u.Phase {
		return cmp.Compare(t.Phase, u.Phase)
	}
	return cmp.Compare(t.Round, u.Round)
}

// Before everything is the tag of a node that has done nothing.
var Before = Tag{Phase: math.MinInt64, Round: -1}

// Value is that of the core form.
type Value = core.Value

// Fault is that of the core form.
type Fault = core.Fault

// Message is a message on its way or in a mailbox.
type Message struct {
	Type   int // index into the program's messages
	From   int // the sender, 1..n
	Tag    Tag
	Fields []Value
}

// Value is the message as a program sees it.
func (m Message) Value() Value { return Value{N: int64(m.From), E: m.Fields} }

// Send is a message that an action has sent. A send to no node is one, too: it moves the node to another round.
type Send struct {
	Type   int
	Tag    Tag
	To     uint64 // bit i-1 stands for node i
	Fields []Value
}

// State is the local state of one node: the values of its variables. It is never changed once made.
type State struct{ Vars []Value }

// AppendKey writes the whole state so that equal states, and only they, give equal bytes.
func (s *State) AppendKey(buf []byte) []byte {
	for _, v := range s.Vars {
		buf = core.AppendValue(buf, v)
	}
	return buf
}

// AppendSends writes sends so that equal ones, and only they, give equal bytes.
func AppendSends(buf []byte, sends []Send) []byte {
	for _, p := range sends {
		buf = binary.AppendUvarint(buf, uint64(p.Type)+1)
		buf = binary.AppendVarint(buf, p.Tag.Phase)
		buf = binary.AppendUvarint(buf, uint64(p.Tag.Round))
		buf = binary.AppendUvarint(buf, p.To)
		buf = appendPayload(buf, p.Fields)
	}
	return buf
}

func appendPayload(buf []byte, fields []Value) []byte {
	for _, v := range fields {
		buf = core.AppendValue(buf, v)
	}
	return buf
}

// AppendKey writes type and payload of a message, not its sender.
func (m Message) AppendKey(buf []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(m.Type)+1)
	return appendPayload(buf, m.Fields)
}
