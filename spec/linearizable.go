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
	// Steps is the number of steps of the model after which the check of one partition ends; 0 means DefaultSteps. In
	// a partition of more than 256 operations, a step counts once for every 256 of them. The limit is not a time,
	// because the clock of a run that has its own, as in a bubble, does not advance while the run is checked.
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
func (m *linearizable) Reset() {
	m.history.reset()
	m.checked[0], m.undecided, m.illegal = 0, "", nil
}

// EventsOnly says that the history consists of events.
func (m *linearizable) EventsOnly() bool { return true }

// Step adds the events of a step to the history.
func (m *linearizable) Step(run *lockstep.Run) *lockstep.Finding {
	m.history.note(run)
	return nil
}

// End checks the end of a run.
func (m *linearizable) End(*lockstep.Run) *lockstep.Finding {
	parts := [][]porcupine.Operation{m.history.ops}
	if m.Model.Partition != nil {
		parts = m.Model.Partition(m.history.ops)
	}
	for _, p := range parts {
		if !slices.ContainsFunc(p, answered) {
			continue // no answers to explain
		}
		m.checked[0]++
		model, left := m.bounded(1 + (len(p)-1)/stepOps)
		explained := porcupine.CheckOperations(model, p)
		switch {
		case explained:
		case *left < 0:
			m.undecided = fmt.Sprintf("linearizability: %d operations: not decided within %d steps", len(p), m.Steps)
		default:
			m.illegal = p
			return &lockstep.Finding{Property: "linearizability", About: m.history.about(p),
				Text: "no order of these operations explains the answers: " + historyText(p)}
		}
	}
	return nil
}

// whole is the model without partitions.
func (m *linearizable) whole() porcupine.Model {
	model := m.Model
	model.Partition, model.PartitionEvent = nil, nil
	return model
}

// bounded is the model of one partition, whose steps have the given price, and the number of steps left. When no
// steps are left, the model refuses everything, so that the search for an order ends, and the number is negative.
func (m *linearizable) bounded(price int) (model porcupine.Model, left *int) {
	model, left = m.whole(), new(m.Steps)
	step := model.StepContext
	if step == nil {
		step = func(_ context.Context, state, input, output any) (bool, any) {
			return m.Model.Step(state, input, output)
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
func (m *linearizable) Conclude(draw bool) lockstep.Conclusion {
	c := lockstep.Conclusion{Checked: m.checked[:], Undecided: m.undecided}
	if !draw || m.illegal == nil {
		return c
	}
	model := m.whole() // it was decided before
	_, info := porcupine.CheckOperationsVerbose(model, m.illegal, 0)
	var b bytes.Buffer
	if porcupine.Visualize(model, info, &b) == nil {
		c.Pictures = []trace.Picture{{Name: "history.html", Data: b.Bytes()}}
	}
	return c
}
