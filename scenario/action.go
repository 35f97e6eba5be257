package scenario

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Action is something that a filter does. It is an immutable value.
type Action struct {
	text      string
	on        on
	continues bool
	class     Class
	tame      bool // it only remembers, checks or makes a request: with such actions alone a run has no faults
	compile   func(*compiler) act
}

// act is an action prepared for one worker. It reports whether it took effect.
type act func(*Moment) bool

// on says what an action needs of the moment's message.
type on uint8

const (
	nothing on = iota
	notes      // it needs a message, in flight or not
	touches    // it needs a message in flight
	decides    // it decides the message's fate
)

// String is the action as text.
func (a Action) String() string { return a.text }

// Do is a custom action in Go. The text describes it in reports. The function must not keep state of its own: one
// scenario serves many workers.
func Do(text string, do func(*Moment, *lockstep.Control)) Action {
	return Action{text: text, compile: func(*compiler) act {
		return func(m *Moment) bool {
			do(m, m.hand)
			return true
		}
	}}
}

// Deliver delivers the message at once.
func Deliver() Action { return message("deliver", decides, trace.Deliver) }

// Drop loses the message permanently.
func Drop() Action {
	a := message("drop", decides, trace.Drop)
	a.class = Dropping
	return a
}

// Duplicate makes a second copy of the message, which the strategy controls. Another action may decide over the message
// itself.
func Duplicate() Action { return message("duplicate", touches, trace.Duplicate) }

// Pass leaves the message to the strategy. Later filters do not see it.
func Pass() Action {
	return Action{text: "pass", on: decides, compile: func(*compiler) act {
		return func(*Moment) bool { return true }
	}}
}

// Continue lets later filters see the moment, too. It cannot be combined with an action that decides over a message.
func Continue() Action {
	return Action{text: "continue", continues: true, tame: true, compile: func(*compiler) act {
		return func(*Moment) bool { return false }
	}}
}

// Delay holds the message back for the given virtual time, and then leaves it to the strategy. If no other step is
// possible before, the scenario moves the run's clock to the end of the delay. It then delivers the message itself.
func Delay(d trace.Time) Action {
	return Action{text: fmt.Sprintf("delay by %d", d), on: decides, class: Reordering, compile: func(c *compiler) act {
		c.mayHold()
		if d <= 0 {
			c.problem("a delay of %d, it must be positive", d)
		}
		return func(m *Moment) bool {
			m.hand.Hold(m.Message.ID)
			m.director.delayed = append(m.director.delayed, delayed{m.Message.ID, m.Run.Now() + d})
			return true
		}
	}}
}

// DelayUntil holds the message back until the condition holds at some later moment, and then leaves it to the strategy.
func DelayUntil(until Condition) Action {
	return Action{text: "delay until " + until.text, on: decides, class: Reordering, compile: func(c *compiler) act {
		c.mayHold()
		number := len(c.director.waits)
		c.director.waits = append(c.director.waits, wait{})
		c.director.waits[number].until = c.test(until)
		return func(m *Moment) bool {
			m.hand.Hold(m.Message.ID)
			w := &m.director.waits[number]
			w.ids = append(w.ids, m.Message.ID)
			return true
		}
	}}
}

// Finish ends the exploring stage of the run: the scenario has reached its goal.
func Finish() Action {
	return Action{text: "finish", tame: true, compile: func(*compiler) act {
		return func(m *Moment) bool {
			m.director.finish(m)
			return true
		}
	}}
}

// FailWith ends the run with a finding.
func FailWith(text string) Action {
	return Action{text: "fail", tame: true, compile: func(*compiler) act {
		return func(m *Moment) bool {
			m.director.fail(m, text)
			return true
		}
	}}
}

// message is an action that takes a step on the message.
func message(text string, what on, kind trace.Kind) Action {
	return Action{text: text, on: what, compile: func(c *compiler) act {
		c.need(kind)
		return func(m *Moment) bool { return do(m, lockstep.Step{Kind: kind, Msg: m.Message.ID}) }
	}}
}

// do queues a step and reports whether it is possible in the present state.
func do(m *Moment, s lockstep.Step) bool {
	if !m.Run.Possible(s) {
		return false
	}
	m.hand.Do(s)
	return true
}
