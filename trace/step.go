package trace

import (
	"fmt"
	"strings"
)

// Kind says what a step does.
type Kind uint8

// The kinds of step. Start is not a choice: it is the first record and contains the actions of the system at its
// start.
const (
	Start     Kind = iota
	Deliver        // a message in flight reaches its receiver
	Drop           // a message in flight is lost permanently
	Duplicate      // a second copy of a message appears; a delivered message is sent again
	Replace        // a message in flight gets another body (Byzantine sender)
	Timer          // a node's timer fires
	Crash          // a node stops and loses its volatile state
	Restart        // a crashed node restarts
	Request        // a client's request reaches a node
	Cut            // links stop carrying new messages
	Heal           // cut links carry again
	Wait           // time passes, and a system that moves on its own moves
	Pause          // a node pauses for a time that the system draws, and then continues
	Jump           // a node's clock jumps to a time that the system draws
	kindEnd
)

var kindNames = [kindEnd]string{"start", "deliver", "drop", "duplicate", "replace",
	"timer", "crash", "restart", "request", "cut", "heal", "wait", "pause", "jump"}

// String is the kind's word in traces and messages.
func (k Kind) String() string {
	if k < kindEnd {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// MarshalText writes the kind's word.
func (k Kind) MarshalText() ([]byte, error) {
	if k >= kindEnd {
		return nil, fmt.Errorf("trace: no kind of step has the number %d", uint8(k))
	}
	return []byte(kindNames[k]), nil
}

// UnmarshalText reads a kind's word.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range kindNames {
		if name == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("unknown kind of step %q: one of %s", text, strings.Join(kindNames[1:], ", "))
}

// Kinds is a set of kinds of step.
type Kinds uint16

// KindsOf is the set of the given kinds.
func KindsOf(kinds ...Kind) Kinds {
	var s Kinds
	for _, k := range kinds {
		s |= 1 << k
	}
	return s
}

// Has reports whether k is in the set.
func (s Kinds) Has(k Kind) bool { return s>>k&1 != 0 }

// String lists the kinds in the set.
func (s Kinds) String() string {
	var words []string
	for k := Kind(0); k < kindEnd; k++ {
		if s.Has(k) {
			words = append(words, k.String())
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// Time is the time of a run, in a unit the system chooses. Usually it is virtual (sim: a nanosecond of the simulated
// clock; ticks elsewhere). A system with real time reports it in nanoseconds since the start of the run.
type Time int64

// Step is one choice of a run. Which fields count depends on Kind:
//
//	Deliver, Drop, Duplicate   Msg
//	Replace                    Msg; Request numbers the new body among those forged in the run,
//	                           in a trace among those used
//	Timer, Crash, Restart      Node
//	Pause, Jump                Node
//	Request                    Node, Request
//	Cut, Heal                  From, To, OneWay: the links from From to To, and back unless OneWay
//	Wait                       For, how long it lasts
//
// If At is later than the run's clock, it moves the clock before the step is taken.
type Step struct {
	Kind    Kind  `json:"do"`                // see above
	OneWay  bool  `json:"one_way,omitempty"` // of cut and heal: only the links from From to To
	Node    Node  `json:"node,omitempty"`    // of timer, crash, restart, pause, jump and request
	Msg     ID    `json:"msg,omitempty"`     // message of deliver, drop, duplicate and replace
	Request int32 `json:"request,omitempty"` // number of the request, or of the forged body
	From    Nodes `json:"from,omitempty"`    // of cut and heal: nodes on one side
	To      Nodes `json:"to,omitempty"`      // of cut and heal: nodes on the other side
	At      Time  `json:"at,omitempty"`      // the clock moves to this time before the step
	For     Time  `json:"for,omitempty"`     // of wait: how long it lasts
}

// String describes the step without the text of its message.
func (s Step) String() string {
	switch s.Kind {
	case Deliver, Drop, Duplicate, Replace:
		return fmt.Sprintf("%s message %d", s.Kind, s.Msg)
	case Request:
		return fmt.Sprintf("request %d at node %d", s.Request, s.Node)
	case Cut, Heal:
		arrow := "<->"
		if s.OneWay {
			arrow = "->"
		}
		return fmt.Sprintf("%s %s %s %s", s.Kind, s.From, arrow, s.To)
	case Wait:
		return fmt.Sprintf("wait for %d", s.For)
	case Start:
		return "start"
	default:
		return fmt.Sprintf("%s node %d", s.Kind, s.Node)
	}
}
