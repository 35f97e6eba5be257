package explore

import (
	"github.com/lockstep-go/lockstep/distal/internal/levels"
	"github.com/lockstep-go/lockstep/distal/sequential"
)

// violation words what the search has found.
func (t *table) violation(f *levels.Found) *Violation {
	p := t.problems[f.Problem]
	v := &Violation{Property: p.Property, Text: p.Text, Round: len(f.Path), ActiveRounds: f.Active}
	if v.Round == 0 {
		return v
	}
	last := t.tag(v.Round - 1)
	v.Phase, v.RoundName = int(last.Phase), t.model.Program.Checked.Rounds[last.Round]
	state := f.Start
	for round, step := range f.Path {
		v.Trace = append(v.Trace, t.describe(round, state, step))
		state = step.State
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
		row.Nodes = append(row.Nodes, t.cell(tag, &begun[q], o.mask, o.Local, sent))
	}
	return row
}
