package spec

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
)

// The events by which a system reports its clients' operations.
const (
	EventCall   = "call"   // a client began an operation: *Call
	EventReturn = "return" // a client got its answer: *Return
)

// Call is the value of an event in which a client begins an operation.
type Call struct {
	Client int // from 1
	ID     int // of the operation, unique in the run
	Input  any // the request; valid until the end of the run
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

// Unanswered is the output of an operation without an answer.
type Unanswered struct{}

// String is "no answer".
func (Unanswered) String() string { return "no answer" }

// history records the operations of a run's clients.
type history struct {
	ops []porcupine.Operation
	ids map[int]int // from the IDs of operations to their indices
	// reused says that two operations have one ID, so that the history cannot be checked.
	reused string
	// steps has the step of each moment of the history, from 1; the last moment is now.
	steps []int
	now   int64
	// call and answer are the types of the events; empty means EventCall and EventReturn.
	call, answer string
}

func (h *history) reset() {
	clear(h.ops)
	clear(h.ids)
	h.ops, h.steps, h.now, h.reused = h.ops[:0], h.steps[:0], 0, ""
}

// tick begins the next moment.
func (h *history) tick(run *lockstep.Run) {
	h.now++
	h.steps = append(h.steps, run.Steps())
}

// about lists the steps in which operations were called and answered.
func (h *history) about(ops []porcupine.Operation) []int {
	var steps []int
	for _, o := range ops {
		steps = append(steps, h.steps[o.Call-1])
		if answered(o) {
			steps = append(steps, h.steps[o.Return-1])
		}
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

// note adds the events of a step to the history.
func (h *history) note(run *lockstep.Run) {
	events := run.Events()
	for i := range events {
		switch v := events[i].Value.(type) {
		case *Call:
			if events[i].Type != cmp.Or(h.call, EventCall) {
				continue
			}
			h.tick(run)
			h.identify(v)
			h.ops = append(h.ops, porcupine.Operation{ClientId: v.Client - 1, Input: v.Input, Call: h.now,
				Output: Unanswered{}, Return: math.MaxInt64})
		case *Return:
			if events[i].Type != cmp.Or(h.answer, EventReturn) {
				continue
			}
			h.tick(run)
			if i, ok := h.ids[v.ID]; ok {
				h.ops[i].Output, h.ops[i].Return = v.Output, h.now
			}
		}
	}
}

// identify records the ID of the operation that begins.
func (h *history) identify(c *Call) {
	if h.ids == nil {
		h.ids = map[int]int{}
	}
	if i, ok := h.ids[c.ID]; ok && h.reused == "" {
		h.reused = fmt.Sprintf("the operations %v and %v have the same ID, %d; a run must give each operation one of its own",
			h.ops[i].Input, c.Input, c.ID)
	}
	h.ids[c.ID] = len(h.ops)
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
