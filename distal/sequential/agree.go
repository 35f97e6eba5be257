package sequential

import (
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/machine"
)

// Due lists the messages that a state of the built program holds back for rounds to come, in no particular order.
func (m *Model) Due(s *machine.State) []machine.Send {
	var out []machine.Send
	for i, v := range m.Program.Core.Vars {
		message := i - len(m.Source.Core.Vars)
		if !v.Ghost || message >= len(m.Program.Core.Messages) {
			continue
		}
		t := m.Program.Core.Messages[message]
		for _, d := range s.Vars[i].E {
			send := machine.Send{Type: message, Tag: machine.Tag{Phase: d.E[1+t.Phase].N, Round: t.Round}, Fields: d.E[1:]}
			for _, node := range d.E[0].E {
				send.To |= 1 << (node.N - 1)
			}
			out = append(out, send)
		}
	}
	return out
}

// Agrees says whether a state of the built program stands for a state of the program as written, with these messages
// due.
func (m *Model) Agrees(built, written *machine.State, due []machine.Send) bool {
	n := len(m.Source.Core.Vars)
	for i := range n {
		if core.Compare(built.Vars[i], written.Vars[i]) != 0 {
			return false
		}
	}
	return SameSends(m.Due(built), due)
}

// SameSends says whether two lists hold the same messages; equal ones count once.
func SameSends(a, b []machine.Send) bool {
	keys := func(list []machine.Send) []string {
		var out []string
		for _, s := range list {
			out = append(out, string(machine.AppendSends(nil, []machine.Send{s})))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return slices.Equal(keys(a), keys(b))
}
