package machine

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/syntax"
)

// Fault is a mistake that shows only when the program runs, such as the content of an optional value that is absent.
type Fault struct {
	Pos  syntax.Pos
	Text string
}

func (f *Fault) Error() string { return f.Pos.String() + ": " + f.Text }

// Breach is a condition that an action broke while it ran.
type Breach struct {
	Pos       syntax.Pos
	Condition string
	Text      string
}

func (b Breach) String() string { return fmt.Sprintf("%s: %s: %s", b.Pos, b.Condition, b.Text) }

// Chooser resolves choose: it returns an index below n. A nil Chooser always takes the first element.
type Chooser func(n int) int

type eval func(*frame) Value
type code func(*frame)

// frame is everything an action can see and do.
type frame struct {
	self     int64
	state    *State
	nodes    []*State // all nodes, in properties
	slots    []Value
	choose   Chooser
	mailbox  []Message
	tag      Tag    // of the rule's messages, then of the last send
	sends    []Send // of this action
	outputs  []Value
	breaches []Breach
	fuel     int
	timely   bool // the messages are not older than the node's tag
	params   []int64
	room     [8]Value // slots of small programs, so that a frame is one piece of memory
}

func (p *Program) frame(self int, state *State, choose Chooser) *frame {
	f := &frame{self: int64(self), state: state, choose: choose, fuel: fuelLimit, params: p.params}
	if need := p.Checked.Slots + 2; need <= len(f.room) {
		f.slots = f.room[:need]
	} else {
		f.slots = make([]Value, need)
	}
	return f
}

// call runs f with a fresh set of slots that begins with the arguments.
func (f *frame) call(args []Value, run func()) {
	old := f.slots
	f.slots = make([]Value, len(old))
	copy(f.slots, args)
	run()
	f.slots = old
}

func (f *frame) burn(pos syntax.Pos, amount int) {
	f.fuel -= amount
	if f.fuel < 0 {
		f.fail(pos, "this takes too long: more than %d steps in one action", fuelLimit)
	}
}

func (f *frame) fail(pos syntax.Pos, format string, args ...any) {
	panic(&Fault{pos, fmt.Sprintf(format, args...)})
}

func (f *frame) breach(pos syntax.Pos, condition, format string, args ...any) {
	f.breaches = append(f.breaches, Breach{pos, condition, fmt.Sprintf(format, args...)})
}

// catch turns a fault thrown by fail into a value; other panics are bugs of ours and pass.
func catch(fault **Fault) {
	if r := recover(); r != nil {
		f, ours := r.(*Fault)
		if !ours {
			panic(r)
		}
		*fault = f
	}
}
