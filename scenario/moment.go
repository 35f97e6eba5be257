package scenario

import (
	"fmt"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// MomentKind is the kind of a [Moment].
type MomentKind uint8

// The kinds of moment.
const (
	Stepped  MomentKind = iota // a step other than a delivery was taken
	Received                   // a message was delivered
	Emitted                    // an event happened at a node
	Sent                       // a message was sent
)

// Moment is something that just happened in a run, as conditions and actions see it. It is valid only during the
// call.
type Moment struct {
	Kind MomentKind
	// Run is the run; Run.Last() is the step that the moment belongs to.
	Run *lockstep.Run
	// Message is the message that was sent or received, or that the step dropped, duplicated or replaced; otherwise
	// nil.
	Message *trace.Message
	// Event is the event, if the kind is Emitted; otherwise nil.
	Event *lockstep.Event
	// Node is the node that the moment concerns, or 0. It is the sender of a message sent, the receiver of a message
	// received, and the node of an event or a step.
	Node lockstep.Node

	director *director
	hand     *lockstep.Control
}

// Body is the system's own message, or nil if there is no message or the system does not give access.
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
