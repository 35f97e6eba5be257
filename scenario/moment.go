package scenario

import (
	"fmt"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// What is the kind of a moment.
type MomentKind uint8

// The kinds of moment.
const (
	Stepped  MomentKind = iota // a step was taken that did not deliver a message
	Received                   // a message was delivered
	Emitted                    // an event happened at a node
	Sent                       // a message was sent
)

// Moment is something that just happened in a run, as conditions and actions see it. It is valid only during the
// call.
type Moment struct {
	Kind MomentKind
	// Run is the run, with the step last taken in Run.Last().
	Run *lockstep.Run
	// Message is the message sent, received, dropped, duplicated or replaced, or nil.
	Message *trace.Message
	// Event is the event, or nil.
	Event *lockstep.Event
	// Node is the node concerned: of the event, the sender of a message sent, the receiver of a message received, the
	// node of the step; or 0.
	Node lockstep.Node

	director *director
	hand     *lockstep.Control
}

// Body is the system's own message, if the system gives access, or nil.
func (m *Moment) Body() any {
	if m.Message == nil {
		return nil
	}
	return m.Run.Body(m.Message.ID)
}

// Rand is the scenario's source for this run. It is seeded from the run's seed and not
// shared with the strategy.
func (m *Moment) Rand() *rand.Rand { return m.director.rand }

// Abort ends the campaign with an error: the scenario itself is wrong.
func (m *Moment) Abort(err error) {
	m.hand.Abort(fmt.Errorf("scenario %s: %w", m.director.name, err))
}

// String is the moment as text: "receive 1->2 Prepare", "event 3 leader".
func (m *Moment) String() string {
	switch m.Kind {
	case Sent:
		return "send " + m.Message.String()
	case Received:
		return "receive " + m.Message.String()
	case Emitted:
		return fmt.Sprintf("event %d %s", m.Node, m.Event.Type)
	}
	s := m.Run.Last()
	if m.Message != nil {
		return s.Kind.String() + " " + m.Message.String()
	}
	if s.Kind == trace.Request {
		return fmt.Sprintf("request at node %d", s.Node)
	}
	return s.String()
}

// Key classifies moments, e.g. by receiver, so that each class is counted separately.
type Key struct {
	text string
	of   func(*Moment) uint64
}

// The keys that every system has.
var (
	ByReceiver = Key{"receiver", func(m *Moment) uint64 { return uint64(envelope(m).To) }}
	BySender   = Key{"sender", func(m *Moment) uint64 { return uint64(envelope(m).From) }}
	ByLink     = Key{"link", func(m *Moment) uint64 { return uint64(envelope(m).From)<<8 | uint64(envelope(m).To) }}
	ByNode     = Key{"node", func(m *Moment) uint64 { return uint64(m.Node) }}
)

// By is a custom key, e.g. the term and the receiver of a vote.
func By(text string, of func(*Moment) uint64) Key { return Key{text, of} }

var noMessage trace.Message

func envelope(m *Moment) *trace.Message {
	if m.Message == nil {
		return &noMessage
	}
	return m.Message
}
