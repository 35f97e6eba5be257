package core

import (
	"fmt"
	"math"

	"github.com/lockstep-go/lockstep/distal/syntax"
)

// Limits of the language: on integers without a declared range, on what one action may cost, on ranges of numbers.
const (
	MinInt    = math.MinInt32
	MaxInt    = math.MaxInt32
	FuelLimit = 50_000
	RangeMax  = 4096
	MaxNodes  = 16
)

// Fault is a bug that shows only when the program runs, such as the content of an optional value that is absent,
// or a number outside its range.
type Fault struct {
	Pos  syntax.Pos
	Text string
}

func (f *Fault) Error() string { return f.Pos.String() + ": " + f.Text }

// Chooser resolves choose: it returns an index below n. A nil Chooser always takes the first element.
type Chooser func(n int) int

// Eval is a compiled expression.
type Eval func(*Frame) Value

// Frame is everything an expression can see.
type Frame struct {
	Self   int64
	Params []int64
	Slots  []Value   // the local names of the body that runs
	Spare  []Value   // for the slots of the bodies that it calls
	Vars   []Value   // the state of the node that acts
	Nodes  [][]Value // the states of all nodes, in properties
	Mail   func(f *Frame, e *Mail) Value
	Choose Chooser
	Heard  []uint64 // by node: bit i-1 says that it hears node i; in network formulas
	Timely bool     // the messages are not older than the node's tag
	Now    int64    // lock-step: the phase
	Half   int      // lock-step: twice the round, and one more in its UPDATE
	Fuel   int
}

// Enter gives a body that is called slots of its own, with the arguments in the first of them; how is what
// [Frame.Leave] needs.
func (f *Frame) Enter(args []Eval) (how Caller) {
	how = Caller{f.Slots, f.Spare}
	need := len(f.Slots)
	if len(f.Spare) < need {
		f.Spare = make([]Value, 4*need)
	}
	own := f.Spare[:need:need]
	f.Spare = f.Spare[need:]
	clear(own)
	for i, a := range args {
		own[i] = a(f)
	}
	f.Slots = own
	return how
}

// Leave goes back to the body that called.
func (f *Frame) Leave(how Caller) { f.Slots, f.Spare = how.slots, how.spare }

// Caller is what a body that calls another one continues with.
type Caller struct{ slots, spare []Value }

// Burn takes fuel, so that everything ends.
func (f *Frame) Burn(pos syntax.Pos, amount int) {
	f.Fuel -= amount
	if f.Fuel < 0 {
		f.Fail(pos, "this takes too long: more than %d steps in one action", FuelLimit)
	}
}

// Fail throws a fault; [Catch] takes it up.
func (f *Frame) Fail(pos syntax.Pos, format string, args ...any) {
	panic(&Fault{pos, fmt.Sprintf(format, args...)})
}

// Catch turns a fault thrown by Fail into a value; other panics are bugs of ours and pass.
func Catch(fault **Fault) {
	if r := recover(); r != nil {
		f, ours := r.(*Fault)
		if !ours {
			panic(r)
		}
		*fault = f
	}
}

// Number makes a whole number, or fails when it does not fit.
func (f *Frame) Number(pos syntax.Pos, n int64) Value {
	if n < MinInt || n > MaxInt {
		f.Fail(pos, "overflow: %d is outside %d..%d", n, MinInt, MaxInt)
	}
	return Value{N: n}
}

// nodes is the set of all nodes but one; 0 leaves out none.
func (f *Frame) nodes(without int64) Value {
	v := Value{E: make([]Value, 0, f.Params[0])}
	for i := int64(1); i <= f.Params[0]; i++ {
		if i != without {
			v.E = append(v.E, Value{N: i})
		}
	}
	return v
}
