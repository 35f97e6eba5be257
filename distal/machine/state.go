package machine

import (
	"cmp"
	"encoding/binary"
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

// Message is a message on its way or in a mailbox.
type Message struct {
	Type   int // index into the program's messages
	From   int // the sender, 1..n
	Tag    Tag
	Fields []Value
}

// Value is the message as a program sees it.
func (m Message) Value() Value { return Value{N: int64(m.From), E: m.Fields} }

// Send is a message that an action has sent and that belongs to a round still to come.
type Send struct {
	Type   int
	Tag    Tag
	To     uint64 // bit i-1 stands for node i
	Fields []Value
}

// State is the local state of one node at the boundary of two rounds: its variables, its last output, and the messages
// it has sent into rounds still to come, in the order of their tags. The last part is what the round form keeps in
// ghost flags.
type State struct {
	Vars    []Value
	Output  Value // optional
	Pending []Send
}

// Clone copies a state, so that the copy can be changed.
func (s *State) Clone() *State {
	return &State{
		Vars:    append([]Value(nil), s.Vars...),
		Output:  s.Output,
		Pending: append([]Send(nil), s.Pending...),
	}
}

// Ahead says whether the node has moved to a round after t, so that it takes no part in t.
func (s *State) Ahead(t Tag) bool {
	return len(s.Pending) > 0 && t.Before(s.Pending[len(s.Pending)-1].Tag)
}

// AppendVars writes variables and output: what the node's local state is to an observer.
func (s *State) AppendVars(buf []byte) []byte {
	for _, v := range s.Vars {
		buf = appendValue(buf, v)
	}
	return appendValue(buf, s.Output)
}

// AppendKey writes the whole state so that equal states, and only they, give equal bytes.
func (s *State) AppendKey(buf []byte) []byte {
	buf = s.AppendVars(buf)
	return AppendSends(buf, s.Pending)
}

// AppendSends writes sends so that equal ones, and only they, give equal bytes.
func AppendSends(buf []byte, sends []Send) []byte {
	for _, p := range sends {
		buf = p.appendKey(buf)
	}
	return buf
}

func (p Send) appendKey(buf []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(p.Type)+1)
	buf = binary.AppendVarint(buf, p.Tag.Phase)
	buf = binary.AppendUvarint(buf, uint64(p.Tag.Round))
	buf = binary.AppendUvarint(buf, p.To)
	return appendPayload(buf, p.Fields)
}

func appendPayload(buf []byte, fields []Value) []byte {
	for _, v := range fields {
		buf = appendValue(buf, v)
	}
	return buf
}

// AppendKey writes type and payload of a message, not its sender.
func (m Message) AppendKey(buf []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(m.Type)+1)
	return appendPayload(buf, m.Fields)
}
