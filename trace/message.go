package trace

import "strconv"

// ID numbers the messages of a run from 1 in the order in which they were sent.
type ID int32

// Tag is the synchronization tag of a message: the phase and the round within the phase of the sender, both as the
// protocol counts them. Phases count from 1, so that the zero Tag means that the message has none.
type Tag struct {
	Phase int32 `json:"phase"` // phase of the protocol, from 1
	Round int32 `json:"round"` // round within the phase, from 0
}

// Less orders tags by phase, then by round.
func (t Tag) Less(u Tag) bool {
	if t.Phase != u.Phase {
		return t.Phase < u.Phase
	}
	return t.Round < u.Round
}

// Message is the envelope of a message, the part that the engine and a strategy know. The body stays with the system,
// under the number Body. Bodies are numbered from 1 in the order in which they are sent or forged. The messages of a
// broadcast share one body, and a duplicate shares that of its original.
type Message struct {
	ID   ID     `json:"sent"` // number of the message in the run, from 1
	Body ID     `json:"-"`
	Copy ID     `json:"copy_of,omitempty"` // the message that this one duplicates
	From Node   `json:"from"`              // sender; 0 is a client
	To   Node   `json:"to"`                // receiver
	Fate Fate   `json:"-"`                 // during a run, set by the engine; zero in a trace
	Type string `json:"type"`              // type of the message
	Tag  Tag    `json:"tag,omitzero"`      // synchronization tag
	At   Time   `json:"at,omitempty"`      // earliest delivery in virtual time, if the system sets one
}

// Fate says what has happened to a message so far.
type Fate uint8

// The fates of a message. Until it is delivered or lost it is in flight.
const (
	InFlight  Fate = iota // a strategy may deliver or drop it
	Held                  // a scenario holds it
	Behind                // behind a held one on a FIFO link
	Delivered             // final
	Lost                  // final
)

// OnItsWay reports whether the message is neither delivered nor lost.
func (f Fate) OnItsWay() bool { return f < Delivered }

// String is the message without its body: "1->2 Prepare".
func (m Message) String() string {
	return strconv.Itoa(int(m.From)) + "->" + strconv.Itoa(int(m.To)) + " " + m.Type
}

// Event is something observable that happened at a node: a leader elected, a value
// decided, an entry applied, a request answered.
type Event struct {
	Type string `json:"event"`          // type of the event
	Node Node   `json:"node,omitempty"` // where it happened; none: not at a node
	Text string `json:"text,omitempty"` // Value as text; filled only while a run is recorded
	// Value is the system's own description. It may point into the system and is valid
	// only during the step that caused the event.
	Value any `json:"-"`
}

// Pending is a client's request that waits to be given to a node.
type Pending struct {
	ID   int32
	To   Nodes // the nodes that may receive it
	Text string
}

// State is the new state of a node after a step.
type State struct {
	Node Node   `json:"state"` // the node
	Text string `json:"text"`  // its new state
}
