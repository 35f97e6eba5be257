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

// stepOps is the number of operations for which the check of a partition pays one step each time it asks the model: the
// search remembers which operations it has placed, so that long histories take more memory for a step.
const stepOps = 256

// Linearizable is the spec that the clients' operations, as the events EventCall and
// EventReturn tell of them, are linearizable: some order of them, in which none moves
// before an operation that had returned when it was called, explains all answers. It is
// judged at the end of a run by porcupine.
//
// Deciding it can take time and memory that are exponential in the number of operations that overlap. A run
// whose history takes too many steps has the verdict unknown; no limit depends on the machine.
type Linearizable struct {
	// Model is the sequential system. Its Step gets Unanswered as the output of an operation
	// that was never answered, and must accept it: the operation may take effect at any
	// time after its call, or never.
	Model porcupine.Model
	// Steps is the number of steps of the model after which the check of one partition is given
	// up; 0 means DefaultSteps. In a partition of more than 256 operations, a step counts once for every 256 of them.
	// It is no time, because where a run has its own clock, as in a bubble, that stands
	// still while the run is judged.
	Steps int
}

// Properties names what is judged.
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
	judged    [1]int
	undecided string
	illegal   []porcupine.Operation // the partition that was found wrong
}

// Reset begins a new run.
func (m *linearizable) Reset() {
	m.history.reset()
	m.judged[0], m.undecided, m.illegal = 0, "", nil
}

// EventsOnly says that the history is made of events.
func (m *linearizable) EventsOnly() bool { return true }

// Step judges after a step: it writes the history down.
func (m *linearizable) Step(run *lockstep.Run) *lockstep.Finding {
	m.history.note(run)
	return nil
}

// End judges the end of a run.
func (m *linearizable) End(*lockstep.Run) *lockstep.Finding {
	parts := [][]porcupine.Operation{m.history.ops}
	if m.Model.Partition != nil {
		parts = m.Model.Partition(m.history.ops)
	}
	for _, p := range parts {
		if !slices.ContainsFunc(p, answered) {
			continue // nothing to explain
		}
		m.judged[0]++
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

// bounded is the model of one partition, of whose steps each counts as so many, and the steps that it has left. When it
// has none it refuses whatever is tried, so that the search for an order ends, and there are less than none.
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

// Conclude counts the partitions of the history that were judged, which are those with an
// answer, and draws the one that was
// found wrong with porcupine.
func (m *linearizable) Conclude(draw bool) lockstep.Conclusion {
	c := lockstep.Conclusion{Judged: m.judged[:], Undecided: m.undecided}
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
