package async

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
)

// Replay checks a run against the sequential program, a model of the same program with free timeouts under any
// network: it takes from the run which messages each node had received when it acted in a round, delivers exactly
// these in that round, and compares. Every node must go through the same states in both, up to repetition. A run with
// breaches has no round structure and is refused.
func Replay(in *Instance, model *sequential.Model) error {
	if b := in.Breaches(); len(b) > 0 {
		return fmt.Errorf("the run breaks a condition: %s", b[0])
	}
	r := &replay{model: model, n: in.program.N, queue: make([][]Firing, in.program.N)}
	for _, f := range in.history {
		if f.Fault != nil {
			return fmt.Errorf("the run ends in a fault: %w", f.Fault)
		}
		r.queue[f.Node-1] = append(r.queue[f.Node-1], f)
	}
	return r.run()
}

type replay struct {
	model  *sequential.Model
	n      int
	queue  [][]Firing // what each node still has to do
	states []*machine.State
}

func (r *replay) run() error {
	r.states = make([]*machine.State, r.n)
	for i := range r.n {
		st, err := r.match(r.model.Initial(i+1), r.queue[i][0], machine.Before)
		if err != nil {
			return err
		}
		r.states[i] = st.State
		r.queue[i] = r.queue[i][1:]
	}
	for _, tag := range r.tags() {
		if tag.Phase < r.model.Program.Core.First {
			return fmt.Errorf("the run begins in phase %d, the sequential program in phase %d", tag.Phase,
				r.model.Program.Core.First)
		}
		if err := r.round(tag); err != nil {
			return fmt.Errorf("phase %d, round %s: %w", tag.Phase, r.model.Program.Round(tag), err)
		}
	}
	for i, q := range r.queue {
		if len(q) > 0 {
			return fmt.Errorf("node %d does something that has no place in a round: %s", i+1, r.describe(q[0]))
		}
	}
	return nil
}

// tags lists the tags in which something happens, in order.
func (r *replay) tags() []machine.Tag {
	var out []machine.Tag
	for _, q := range r.queue {
		for _, f := range q {
			if !f.plain() {
				out = append(out, f.Tag)
			}
			for _, s := range f.Sent {
				out = append(out, s.Tag)
			}
		}
	}
	for i := range r.n {
		for _, s := range r.model.Due(r.states[i]) {
			out = append(out, s.Tag)
		}
	}
	slices.SortFunc(out, machine.Tag.Compare)
	return slices.Compact(out)
}

func (r *replay) round(tag machine.Tag) error {
	sent := make([][]machine.Send, r.n)
	for i := range r.n {
		steps := r.model.Send(i+1, r.states[i], tag)
		f, ok := r.due(i)
		st, err := sequential.Step{}, error(nil)
		if ok && f.plain() && len(f.Sent) > 0 && f.Sent[0].Tag == tag {
			st, err = r.match(steps, f, tag)
			r.queue[i] = r.queue[i][1:]
		} else {
			st, err = idle(steps, i)
		}
		if err != nil {
			return err
		}
		r.states[i], sent[i] = st.State, st.Out
	}
	for i := range r.n {
		if err := r.update(i, tag, sent); err != nil {
			return err
		}
	}
	return nil
}

// idle finds the outcome in which a node does nothing.
func idle(steps []sequential.Step, i int) (sequential.Step, error) {
	for _, st := range steps {
		if st.Action == nil && st.Problem == nil {
			return st, nil
		}
	}
	return sequential.Step{}, fmt.Errorf("node %d cannot stay idle", i+1)
}

func (r *replay) due(i int) (Firing, bool) {
	if len(r.queue[i]) == 0 {
		return Firing{}, false
	}
	return r.queue[i][0], true
}

func (r *replay) update(i int, tag machine.Tag, sent [][]machine.Send) error {
	f, ok := r.due(i)
	acts := ok && !f.plain() && f.Tag == tag
	var mailbox []machine.Message
	if acts {
		for from, list := range sent {
			for _, s := range list {
				if s.To&(1<<i) != 0 && f.Received&(1<<from) != 0 {
					mailbox = append(mailbox, machine.Message{Type: s.Type, From: from + 1, Tag: tag, Fields: s.Fields})
				}
			}
		}
	}
	steps := r.model.Update(i+1, r.states[i], tag, mailbox)
	st, err := sequential.Step{}, error(nil)
	if acts {
		st, err = r.match(steps, f, machine.Before)
		r.queue[i] = r.queue[i][1:]
	} else {
		st, err = idle(steps, i)
	}
	r.states[i] = st.State
	return err
}

// match finds the outcome that agrees with what happened: same rule, same state, same messages sent. Those of the
// round that is beginning have been handed over, the others are due.
func (r *replay) match(steps []sequential.Step, f Firing, begins machine.Tag) (sequential.Step, error) {
	for _, st := range steps {
		var rule *core.Rule
		if st.Action != nil {
			rule = st.Action.Rule
		}
		if is(rule, f.Rule) && r.model.Agrees(st.State, f.After,
			slices.DeleteFunc(slices.Clone(f.Sent), func(s machine.Send) bool { return s.Tag == begins })) &&
			sequential.SameSends(st.Out, slices.DeleteFunc(slices.Clone(f.Sent),
				func(s machine.Send) bool { return s.Tag != begins })) {
			return st, nil
		}
	}
	return sequential.Step{}, fmt.Errorf("node %d: %s has no counterpart in the sequential program", f.Node, r.describe(f))
}

func (r *replay) describe(f Firing) string {
	if f.Rule == nil {
		return "init"
	}
	return fmt.Sprintf("%s in phase %d, round %d", f.Rule.Label(r.model.Program.Core), f.Tag.Phase, f.Tag.Round+1)
}
