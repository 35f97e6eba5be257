package spec

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// DefaultSteps is the default of Linearizable.Steps.
const DefaultSteps = 1_000_000

// stepOps is the number of operations for which the check of a partition pays one step each time it asks the model.
// The search remembers which operations it has placed, so that long histories take more memory for a step.
const stepOps = 256

// Linearizable is the spec that the clients' operations, as reported by the events EventCall and EventReturn, are
// linearizable: some order of them explains all answers. In this order, no operation moves before one that had
// returned when it was called. porcupine checks it at the end of a run.
//
// A check can take time and memory that are exponential in the number of concurrent operations. A run whose history
// takes too many steps has the verdict unknown; no limit depends on the machine.
type Linearizable struct {
	// Model is the sequential system. Its Step gets Unanswered as the output of an operation without an answer, and
	// must accept it. The operation may take effect at any time after its call, or never.
	Model porcupine.Model
	// Steps bounds the check of one partition of the history; 0 means DefaultSteps. A partition is what Model.Partition
	// makes of it, e.g. the operations on one key. The check ends when it has asked the model so often. In a partition
	// of n operations, each step counts as n/256 steps, rounded up, because it takes more memory. The limit is not a
	// time, so that it does not depend on the machine.
	Steps int
}

// Properties names the property.
func (Linearizable) Properties() []string { return []string{"linearizability"} }

// New makes a monitor.
func (l Linearizable) New(lockstep.Info) lockstep.Monitor {
	if l.Steps == 0 {
		l.Steps = DefaultSteps
	}
	return &linearizable{Linearizable: l}
}

type linearizable struct {
	Linearizable
	history   history
	checked   [1]int
	undecided string
	illegal   []porcupine.Operation // the partition that violates the property
}

// Reset begins a new run.
func (l *linearizable) Reset() {
	l.history.reset()
	l.checked[0], l.undecided, l.illegal = 0, "", nil
}

// EventsOnly says that the history consists of events.
func (l *linearizable) EventsOnly() bool { return true }

// Step adds the events of a step to the history.
func (l *linearizable) Step(run *lockstep.Run) *lockstep.Finding {
	l.history.note(run)
	return nil
}

// End checks the end of a run.
func (l *linearizable) End(*lockstep.Run) *lockstep.Finding {
	if l.history.reused != "" {
		l.undecided = "linearizability: " + l.history.reused
		return nil
	}
	parts := [][]porcupine.Operation{l.history.ops}
	if l.Model.Partition != nil {
		parts = l.Model.Partition(l.history.ops)
	}
	for _, p := range parts {
		if !slices.ContainsFunc(p, answered) {
			continue // no answers to explain
		}
		l.checked[0]++
		model, left := l.bounded(1 + (len(p)-1)/stepOps)
		explained := porcupine.CheckOperations(model, p)
		switch {
		case explained:
		case *left < 0:
			l.undecided = fmt.Sprintf("linearizability: %d operations: not decided within %d steps", len(p), l.Steps)
		default:
			l.illegal = p
			return &lockstep.Finding{Property: "linearizability", About: l.history.about(p),
				Text: "no order of these operations explains the answers: " + historyText(p)}
		}
	}
	return nil
}

// whole is the model without partitions.
func (l *linearizable) whole() porcupine.Model {
	model := l.Model
	model.Partition, model.PartitionEvent = nil, nil
	return model
}

// bounded is the model of one partition, whose steps have the given price, and the number of steps left. When no
// steps are left, the model refuses everything, so that the search for an order ends, and the number is negative.
func (l *linearizable) bounded(price int) (model porcupine.Model, left *int) {
	model, left = l.whole(), new(l.Steps)
	step := model.StepContext
	if step == nil {
		step = func(_ context.Context, state, input, output any) (bool, any) {
			return l.Model.Step(state, input, output)
		}
	}
	model.StepContext = func(ctx context.Context, state, input, output any) (bool, any) {
		if *left < price {
			*left = -1
			return false, state
		}
		*left -= price
		return step(ctx, state, input, output)
	}
	return model, left
}

// Conclude counts the partitions that were checked, which are those with an answer, and draws the partition that
// violates the property with porcupine.
func (l *linearizable) Conclude(draw bool) lockstep.Conclusion {
	c := lockstep.Conclusion{Checked: l.checked[:], Undecided: l.undecided}
	if !draw || l.illegal == nil {
		return c
	}
	model := l.whole() // it was decided before
	_, info := porcupine.CheckOperationsVerbose(model, l.illegal, 0)
	var b bytes.Buffer
	if porcupine.Visualize(model, info, &b) == nil {
		c.Pictures = []trace.Picture{{Name: "history.html", Data: b.Bytes()}}
	}
	return c
}
