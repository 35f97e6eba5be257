package trace

import "slices"

// Action is one step of a run in a form that another run can take, too: it refers to its message by name.
type Action struct {
	Step   Step
	Msg    Name   // of the step's message, if any; without a name Step.Msg counts
	Body   string // the forged body of a Replace
	Round  int    // number of the lock-step round, or 0
	Settle bool   // it belongs to the settling stage
	Again  bool   // a Duplicate of a message that was delivered: it is sent again
	Draws  []Draw // the system's draws in the step; nil if not specified
}

// Equal reports whether two actions are the same.
func (a Action) Equal(b Action) bool {
	return a.Step == b.Step && a.Msg == b.Msg && a.Body == b.Body && a.Round == b.Round && a.Settle == b.Settle &&
		a.Again == b.Again &&
		slices.Equal(a.Draws, b.Draws)
}

// Script is a run as a list of actions.
type Script []Action

// ScriptOf reads the actions of a trace.
func ScriptOf(t *Trace) Script {
	var s Script
	var names Namer
	delivered := map[ID]bool{}
	for i := range t.Records {
		r := &t.Records[i]
		if r.Step.Kind != Start {
			a := Action{Step: r.Step, Body: r.Body, Round: r.Round, Settle: r.Settle, Draws: r.Draws,
				Again: r.Step.Kind == Duplicate && delivered[r.Step.Msg]}
			if r.Step.Kind == Deliver {
				delivered[r.Step.Msg] = true
			}
			if id := r.Step.Msg; id >= 1 && int(id) <= names.Named() {
				a.Msg, a.Step.Msg = names.Name(id), 0
			}
			s = append(s, a)
		}
		for j := range r.Sent {
			names.Add(&r.Sent[j].Message)
		}
	}
	return s
}

// Exploring is the script without the settling stage.
func (s Script) Exploring() Script {
	var e Script
	for _, a := range s {
		if !a.Settle {
			e = append(e, a)
		}
	}
	return e
}
