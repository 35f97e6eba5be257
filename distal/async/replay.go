package async

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
)

// Replay checks a run against the sequential program: it takes from the run which messages each node had received when
// it acted in a round, delivers exactly these in that round, and compares. Every node must go through the same states
// in both, up to repetition. A run with breaches has no round structure and is refused; so is a program without a
// sequential form.
func Replay(in *Instance) error {
	if b := in.Breaches(); len(b) > 0 {
		return fmt.Errorf("the run breaks a condition: %s", b[0])
	}
	model, err := sequential.New(in.program, check.Network{}, check.Free)
	if err != nil {
		return err
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
		first := r.queue[i][0]
		st, err := match(r.model.Initial(i+1), first)
		if err != nil {
			return err
		}
		r.states[i] = st.State
		r.queue[i] = r.queue[i][1:]
	}
	for _, tag := range r.tags() {
		if err := r.round(tag); err != nil {
			return fmt.Errorf("phase %d, round %s: %w", tag.Phase, r.model.Program.Checked.Rounds[tag.Round], err)
		}
	}
	for i, q := range r.queue {
		if len(q) > 0 {
			return fmt.Errorf("node %d does something that has no place in a round: %s", i+1, describe(q[0]))
		}
	}
	return nil
}

// tags lists the tags in which something happens, in order.
func (r *replay) tags() []machine.Tag {
	seen := map[machine.Tag]bool{}
	var out []machine.Tag
	add := func(t machine.Tag) {
		if t.Round >= 0 && !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	for _, q := range r.queue {
		for _, f := range q {
			if !f.Rule.Plain() {
				add(f.Tag)
			}
			for _, s := range f.Sent {
				add(s.Tag)
			}
		}
	}
	slices.SortFunc(out, machine.Tag.Compare)
	return out
}

func (r *replay) round(tag machine.Tag) error {
	sent := make([][]machine.Send, r.n)
	for i := range r.n {
		steps := r.model.Send(i+1, r.states[i], tag)
		if f, ok := r.due(i); ok && f.Rule.Plain() && len(f.Sent) > 0 && f.Sent[0].Tag == tag {
			st, err := match(steps, f)
			if err != nil {
				return err
			}
			r.states[i], sent[i] = st.State, st.Out
			r.queue[i] = r.queue[i][1:]
			continue
		}
		if steps[0].Rule != nil {
			return fmt.Errorf("node %d cannot stay idle as the round begins", i+1)
		}
		r.states[i], sent[i] = steps[0].State, steps[0].Out
	}
	for i := range r.n {
		if err := r.update(i, tag, sent); err != nil {
			return err
		}
	}
	return nil
}

func (r *replay) due(i int) (Firing, bool) {
	if len(r.queue[i]) == 0 {
		return Firing{}, false
	}
	return r.queue[i][0], true
}

func (r *replay) update(i int, tag machine.Tag, sent [][]machine.Send) error {
	f, ok := r.due(i)
	acts := ok && !f.Rule.Plain() && f.Tag == tag
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
	if acts {
		st, err := match(steps, f)
		if err != nil {
			return err
		}
		r.states[i] = st.State
		r.queue[i] = r.queue[i][1:]
		return nil
	}
	if steps[0].Rule != nil {
		return fmt.Errorf("node %d acts without a message: %s", i+1, steps[0].Rule.Label())
	}
	return nil
}

// match finds the outcome that agrees with what happened: same rule, same state, same messages sent.
func match(steps []sequential.Step, f Firing) (sequential.Step, error) {
	want := string(machine.AppendSends(f.After.AppendVars(nil), f.Sent))
	for _, st := range steps {
		if st.Rule == f.Rule && string(machine.AppendSends(st.State.AppendVars(nil), st.Sent)) == want {
			return st, nil
		}
	}
	return sequential.Step{}, fmt.Errorf("node %d: %s has no counterpart in the sequential program", f.Node, describe(f))
}

func describe(f Firing) string {
	if f.Rule == nil {
		return "init"
	}
	return fmt.Sprintf("%s in phase %d, round %d", f.Rule.Label(), f.Tag.Phase, f.Tag.Round+1)
}
