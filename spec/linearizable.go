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

// Defaults of Linearizable.
const (
	DefaultMost  = 200
	DefaultSteps = 1_000_000
)

// Linearizable is the spec that the clients' operations, as the events EventCall and
// EventReturn tell of them, are linearizable: some order of them, in which none moves
// before an operation that had returned when it was called, explains all answers. It is
// judged at the end of a run by porcupine.
//
// Deciding it can take time and memory that are exponential in the number of operations. A run
// whose history is too long, or takes too many steps, has the verdict unknown; no limit depends
// on the machine.
type Linearizable struct {
	// Model is the sequential system. Its Step gets Unanswered as the output of an operation
	// that was never answered, and must accept it: the operation may take effect at any
	// time after its call, or never.
	Model porcupine.Model
	// Most is the number of operations in one partition of the history beyond which it is
	// not checked; 0 means DefaultMost.
	Most int
	// Steps is the number of steps of the model after which the check of one partition is given
	// up; 0 means DefaultSteps. It is no time, because where a run has its own clock, as in a bubble, that stands
	// still while the run is judged.
	Steps int
}

// Properties names what is judged.
func (Linearizable) Properties() []string { return []string{"linearizability"} }

// New makes a monitor.
func (l Linearizable) New(lockstep.Info) lockstep.Monitor {
	if l.Most == 0 {
		l.Most = DefaultMost
	}
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
		if len(p) > m.Most {
			m.undecided = fmt.Sprintf("linearizability: a history of more than %d operations is not checked", m.Most)
			continue
		}
		m.judged[0]++
		model, left := m.bounded()
		explained := porcupine.CheckOperations(model, p)
		switch {
		case explained:
		case *left < 0:
			m.undecided = fmt.Sprintf("linearizability: not decided within %d steps", m.Steps)
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

// bounded is the model of one partition, and the steps that it has left. When it has none it refuses whatever
// is tried, so that the search for an order ends, and there are less than none.
func (m *linearizable) bounded() (model porcupine.Model, left *int) {
	model, left = m.whole(), new(m.Steps)
	step := model.StepContext
	if step == nil {
		step = func(_ context.Context, state, input, output any) (bool, any) {
			return m.Model.Step(state, input, output)
		}
	}
	model.StepContext = func(ctx context.Context, state, input, output any) (bool, any) {
		if *left <= 0 {
			*left = -1
			return false, state
		}
		*left--
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
