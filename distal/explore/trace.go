package explore

import (
	"github.com/lockstep-go/lockstep/distal/internal/levels"
	"github.com/lockstep-go/lockstep/distal/sequential"
)

// violation words what the search has found.
func (t *table) violation(f *levels.Found) *Violation {
	p := t.problems[f.Problem]
	v := &Violation{Property: p.Property, Pos: p.Pos, Text: p.Text, Round: len(f.Path), ActiveRounds: f.Active}
	state := f.Start
	for _, id := range state {
		v.Start = append(v.Start, t.local(id).state)
	}
	for round, step := range f.Path {
		v.Trace = append(v.Trace, t.describe(round, state, step))
		state = step.State
	}
	if v.Round > 0 {
		last := t.tag(v.Round - 1)
		v.Phase, v.RoundName = int(last.Phase), t.model.Program.Round(last)
	}
	return v
}

// describe says what each node does in a step from a state.
func (t *table) describe(round int, state []uint32, step levels.Step) sequential.Row {
	tag := t.tag(round)
	begun := make([]alternative, t.n)
	for p, id := range state {
		begun[p] = t.begin(tag, id)[step.Begin[p]]
	}
	row := sequential.Row{Tag: tag}
	for q := range t.n {
		sent := make([]uint32, t.n)
		for p := range t.n {
			sent[p] = begun[p].Sent[q]
		}
		o := t.end(tag, step.Mode, begun[q].After, sent)[step.End[q]]
		row.Nodes = append(row.Nodes, t.cell(tag, &begun[q], o.mask, o.Local, o.Problem, sent))
	}
	return row
}
