package maelstrom

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
)

// Promise is the spec of the workload that the system is asked for: linearizability for lin-kv,
// and strict serializability, which is the same of whole transactions, for txn-list-append; a
// checker of its own for each of the others.
var Promise lockstep.Spec = promise{}

type promise struct{}

const property = "the workload's promise"

func (promise) Properties() []string { return []string{property} }

func (promise) New(info lockstep.Info) lockstep.Monitor {
	name := info.Options["workload"]
	w := workloads[name]
	if w.check != nil {
		return &monitor{check: w.check}
	}
	return renamed{spec.Linearizable{Model: models[name]}.New(info)}
}

// renamed is linearizability under the property's name.
type renamed struct{ lockstep.Monitor }

func (r renamed) EventsOnly() bool { return true }

func (r renamed) End(run *lockstep.Run) *lockstep.Finding {
	f := r.Monitor.End(run)
	if f == nil {
		return nil
	}
	g := *f
	g.Property = property
	return &g
}

// call is an operation with the steps in which it was begun and answered.
type call struct {
	*Op
	called, returned int // returned is -1 while it is not answered
}

// history is what clients saw of a run, in the order in which they asked.
type history struct {
	calls   []*call
	settled bool
}

// verdict is what a checker says.
type verdict struct {
	judged int    // how often the promise could have been broken
	text   string // how it was broken; empty where it was kept
	about  []int  // the steps concerned
}

// broken is the verdict that a promise was broken by operations.
func broken(judged int, text string, calls ...*call) verdict {
	v := verdict{judged: judged, text: text}
	for _, c := range calls {
		v.about = append(v.about, c.called)
		if c.returned >= 0 {
			v.about = append(v.about, c.returned)
		}
	}
	return v
}

// answered are the operations that were answered with success.
func (h *history) answered() []*call {
	var list []*call
	for _, c := range h.calls {
		if c.returned >= 0 && !c.failed() {
			list = append(list, c)
		}
	}
	return list
}

// monitor judges a run by a checker.
type monitor struct {
	check   func(*history) verdict
	history history
	judged  [1]int
}

func (m *monitor) Reset() { m.history, m.judged = history{}, [1]int{} }

// EventsOnly says that the history is made of events.
func (m *monitor) EventsOnly() bool { return true }

func (m *monitor) Step(run *lockstep.Run) *lockstep.Finding {
	events := run.Events()
	for i := range events {
		switch v := events[i].Value.(type) {
		case *spec.Call:
			m.history.calls = append(m.history.calls, &call{v.Input.(*Op), run.Steps(), -1})
		case *spec.Return:
			for _, c := range m.history.calls {
				if c.ID == v.ID {
					c.returned = run.Steps()
				}
			}
		}
	}
	return nil
}

func (m *monitor) End(run *lockstep.Run) *lockstep.Finding {
	m.history.settled = run.Settled()
	v := m.check(&m.history)
	m.judged[0] = v.judged
	if v.text == "" {
		return nil
	}
	return &lockstep.Finding{Property: property, Text: v.text, About: v.about}
}

func (m *monitor) Conclude(bool) lockstep.Conclusion { return lockstep.Conclusion{Judged: m.judged[:]} }
