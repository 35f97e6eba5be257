package machine

import (
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep/distal/check"
)

// Format writes a value as it is written in a program.
func Format(t *check.Type, v Value) string {
	switch t.Kind {
	case check.Bool:
		return strconv.FormatBool(v.N != 0)
	case check.Enum:
		if v.N >= 0 && int(v.N) < len(t.Values) {
			return t.Values[v.N]
		}
	case check.Node:
		return "node(" + strconv.FormatInt(v.N, 10) + ")"
	case check.Option:
		if v.N == 0 {
			return "none"
		}
		return "some(" + Format(t.Elem, v.E[0]) + ")"
	case check.Seq:
		return "[" + formatAll(t.Elem, v.E) + "]"
	case check.Set:
		return "{" + formatAll(t.Elem, v.E) + "}"
	case check.Record, check.Message:
		return t.Name + "(" + formatFields(t, v.E) + ")"
	}
	return strconv.FormatInt(v.N, 10)
}

func formatAll(t *check.Type, elems []Value) string {
	parts := make([]string, len(elems))
	for i, e := range elems {
		parts[i] = Format(t, e)
	}
	return strings.Join(parts, ", ")
}

func formatFields(t *check.Type, fields []Value) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = Format(t.Fields[i].Type, f)
	}
	return strings.Join(parts, ", ")
}

// FormatMessage writes a message as it is sent: Prepare(1).
func (p *Program) FormatMessage(m Message) string {
	t := p.Checked.Messages[m.Type].Type
	return t.Name + "(" + formatFields(t, m.Fields) + ")"
}

// FormatState writes the variables of a state, and its last output if there is one.
func (p *Program) FormatState(s *State) string {
	var parts []string
	for i, v := range p.Checked.Vars {
		parts = append(parts, v.Name+"="+Format(v.Type, s.Vars[i]))
	}
	if s.Output.N != 0 {
		parts = append(parts, "output="+Format(p.Checked.Output, s.Output.E[0]))
	}
	return strings.Join(parts, " ")
}
