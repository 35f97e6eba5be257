package maelstrom

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
)

// Promise is the spec of the system's workload: linearizability for lin-kv, and strict serializability, which is
// linearizability of whole transactions, for txn-list-append. Each of the other workloads has a separate checker.
var Promise lockstep.Spec = promise{}

type promise struct{}

const property = "the workload's promise"

func (promise) Properties() []string { return []string{property} }

func (promise) New(info lockstep.Info) lockstep.Monitor {
	name := info.Options["workload"]
	if check := workloads[name].check; check != nil {
		return spec.New(property, func(lockstep.Info) *checker { return &checker{check: check} }).New(info)
	}
	return renamed{spec.Linearizable{Model: models[name]}.New(info)}
}

// renamed is linearizability under the property's name.
type renamed struct{ lockstep.Monitor }

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
	called, returned int // returned is -1 while there is no answer
}

// history is the clients' view of a run, in the order of requests.
type history struct {
	calls   []*call
	settled bool
}

// verdict is the result of a checker.
type verdict struct {
	checked int    // how often the guarantee could have been violated
	text    string // the violation; empty if there is none
	about   []int  // the steps concerned
}

// broken returns the verdict that operations violated a guarantee.
func broken(checked int, text string, calls ...*call) verdict {
	v := verdict{checked: checked, text: text}
	for _, c := range calls {
		v.about = append(v.about, c.called)
		if c.returned >= 0 {
			v.about = append(v.about, c.returned)
		}
	}
	return v
}

// answered returns the operations that were answered with success.
func (h *history) answered() []*call {
	var list []*call
	for _, c := range h.calls {
		if c.returned >= 0 && !c.failed() {
			list = append(list, c)
		}
	}
	return list
}

// checker checks a run: a [spec.Checker].
type checker struct {
	check   func(*history) verdict
	history history
	checked int
}

// Reset begins a new run.
func (j *checker) Reset() { j.history, j.checked = history{}, 0 }

// Event extends the history.
func (j *checker) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch v := e.Value.(type) {
	case *spec.Call:
		j.history.calls = append(j.history.calls, &call{v.Input.(*Op), run.Steps(), -1})
	case *spec.Return:
		for _, c := range j.history.calls {
			if c.ID == v.ID {
				c.returned = run.Steps()
			}
		}
	}
	return nil
}

// End checks the history.
func (j *checker) End(run *lockstep.Run) *lockstep.Finding {
	j.history.settled = run.Settled()
	v := j.check(&j.history)
	j.checked = v.checked
	if v.text == "" {
		return nil
	}
	return &lockstep.Finding{Text: v.text, About: v.about}
}

// Checked returns how often the guarantee could have been violated.
func (j *checker) Checked() int { return j.checked }
