package spec

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
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

// Unanswered is the output of an operation that was never answered.
type Unanswered struct{}

// String says so.
func (Unanswered) String() string { return "no answer" }

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
	history   []porcupine.Operation
	ids       []int // of the operations in the history
	steps     []int // by moment of the history, from 1: the step in which it was
	now       int64
	judged    [1]int
	undecided string
	illegal   []porcupine.Operation // the partition that was found wrong
}

// Reset begins a new run.
func (m *linearizable) Reset() {
	clear(m.history)
	m.history, m.ids, m.steps, m.now = m.history[:0], m.ids[:0], m.steps[:0], 0
	m.judged[0], m.undecided, m.illegal = 0, "", nil
}

// EventsOnly says that the history is made of events.
func (m *linearizable) EventsOnly() bool { return true }

// Step judges after a step: it writes the history down.
func (m *linearizable) Step(run *lockstep.Run) *lockstep.Finding {
	events := run.Events()
	for i := range events {
		switch v := events[i].Value.(type) {
		case *Call:
			m.tick(run)
			m.history = append(m.history, porcupine.Operation{ClientId: v.Client - 1, Input: v.Input, Call: m.now,
				Output: Unanswered{}, Return: math.MaxInt64})
			m.ids = append(m.ids, v.ID)
		case *Return:
			m.tick(run)
			for j := len(m.ids) - 1; j >= 0; j-- {
				if m.ids[j] == v.ID {
					m.history[j].Output, m.history[j].Return = v.Output, m.now
					break
				}
			}
		}
	}
	return nil
}

// End judges the end of a run.
func (m *linearizable) End(*lockstep.Run) *lockstep.Finding {
	parts := [][]porcupine.Operation{m.history}
	if m.Model.Partition != nil {
		parts = m.Model.Partition(m.history)
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
			return &lockstep.Finding{Property: "linearizability", About: m.about(p),
				Text: "no order of these operations explains the answers: " + m.text(p)}
		case porcupine.Unknown:
			m.undecided = fmt.Sprintf("linearizability: not decided within %v", m.Timeout)
		}
	}
	return nil
}

// tick begins the next moment of the history.
func (m *linearizable) tick(run *lockstep.Run) {
	m.now++
	m.steps = append(m.steps, run.Steps())
}

// about lists the steps in which operations were called and answered.
func (m *linearizable) about(ops []porcupine.Operation) []int {
	var steps []int
	for _, o := range ops {
		steps = append(steps, m.steps[o.Call-1])
		if answered(o) {
			steps = append(steps, m.steps[o.Return-1])
		}
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

func answered(o porcupine.Operation) bool { return o.Return != math.MaxInt64 }

// text lists the operations with the times of their calls and returns.
func (m *linearizable) text(ops []porcupine.Operation) string {
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
