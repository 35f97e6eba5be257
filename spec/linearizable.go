package spec

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Defaults of Linearizable.
const (
	DefaultMost    = 200
	DefaultTimeout = 10 * time.Second
)

// Linearizable is the spec that the clients' operations, as the events EventCall and
// EventReturn tell of them, are linearizable: some order of them, in which none moves
// before an operation that had returned when it was called, explains all answers. It is
// judged at the end of a run by porcupine.
//
// Deciding it can take time that is exponential in the number of operations. A run whose
// history is too long, or takes too long, has the verdict unknown. Most is the limit that
// does not depend on the machine; Timeout is there for the worst case.
type Linearizable struct {
	// Model is the sequential system. Its Step gets Unanswered as the output of an operation
	// that was never answered, and must accept it: the operation may take effect at any
	// time after its call, or never.
	Model porcupine.Model
	// Most is the number of operations in one partition of the history beyond which it is
	// not checked; 0 means DefaultMost.
	Most int
	// Timeout is the wall-clock time after which the check of one partition is given up; 0
	// means DefaultTimeout.
	Timeout time.Duration
}

// Properties names what is judged.
func (Linearizable) Properties() []string { return []string{"linearizability"} }

// New makes a monitor.
func (l Linearizable) New(lockstep.Info) lockstep.Monitor {
	if l.Most == 0 {
		l.Most = DefaultMost
	}
	if l.Timeout == 0 {
		l.Timeout = DefaultTimeout
	}
	m := &linearizable{Linearizable: l}
	m.model = l.Model
	m.model.Partition, m.model.PartitionEvent = nil, nil
	return m
}

type linearizable struct {
	Linearizable
	model     porcupine.Model // of one partition
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
	m.history.note(run.Events())
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
		switch porcupine.CheckOperationsTimeout(m.model, p, m.Timeout) {
		case porcupine.Illegal:
			m.illegal = p
			return &lockstep.Finding{Property: "linearizability", Text: "no order of these operations explains the answers: " + historyText(p)}
		case porcupine.Unknown:
			m.undecided = fmt.Sprintf("linearizability: not decided within %v", m.Timeout)
		}
	}
	return nil
}

// Conclude counts the partitions of the history that were judged, which are those with an
// answer, and draws the one that was
// found wrong with porcupine.
func (m *linearizable) Conclude(draw bool) lockstep.Conclusion {
	c := lockstep.Conclusion{Judged: m.judged[:], Undecided: m.undecided}
	if !draw || m.illegal == nil {
		return c
	}
	_, info := porcupine.CheckOperationsVerbose(m.model, m.illegal, m.Timeout)
	var b bytes.Buffer
	if porcupine.Visualize(m.model, info, &b) == nil {
		c.Pictures = []trace.Picture{{Name: "history.html", Data: b.Bytes()}}
	}
	return c
}
