package spec

import (
	"fmt"
	"math"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
)

// The events by which a system tells of its clients' operations.
const (
	EventCall   = "call"   // a client began an operation: *Call
	EventReturn = "return" // a client got its answer: *Return
)

// Call is the value of an event in which a client begins an operation.
type Call struct {
	Client int // from 1
	ID     int // of the operation, unique in the run
	Input  any // what is asked for; valid until the end of the run
}

// String is the input.
func (c *Call) String() string { return fmt.Sprint(c.Input) }

// Return is the value of an event in which a client gets its answer.
type Return struct {
	Client, ID int
	Output     any // valid until the end of the run
}

// String is the output.
func (r *Return) String() string { return fmt.Sprintf("c%d %v", r.Client, r.Output) }

// Unanswered is the output of an operation that was never answered.
type Unanswered struct{}

// String says so.
func (Unanswered) String() string { return "no answer" }

// history writes down the operations of a run's clients.
type history struct {
	ops []porcupine.Operation
	ids []int // of the operations
	now int64
}

func (h *history) reset() {
	clear(h.ops)
	h.ops, h.ids, h.now = h.ops[:0], h.ids[:0], 0
}

// note takes the events of a step into account.
func (h *history) note(events []lockstep.Event) {
	for i := range events {
		switch v := events[i].Value.(type) {
		case *Call:
			h.now++
			h.ops = append(h.ops, porcupine.Operation{ClientId: v.Client - 1, Input: v.Input, Call: h.now,
				Output: Unanswered{}, Return: math.MaxInt64})
			h.ids = append(h.ids, v.ID)
		case *Return:
			h.now++
			for j := len(h.ids) - 1; j >= 0; j-- {
				if h.ids[j] == v.ID {
					h.ops[j].Output, h.ops[j].Return = v.Output, h.now
					break
				}
			}
		}
	}
}

func answered(o porcupine.Operation) bool { return o.Return != math.MaxInt64 }

// historyText lists operations with the times of their calls and returns.
func historyText(ops []porcupine.Operation) string {
	var parts []string
	for _, o := range ops {
		end := "-"
		if answered(o) {
			end = fmt.Sprint(o.Return)
		}
		parts = append(parts, fmt.Sprintf("%v: %v [%d,%s]", o.Input, o.Output, o.Call, end))
	}
	return strings.Join(parts, "; ")
}
