package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/distal/core"
)

// Transition is an action of a node, without numbers that grow during a run: its rule, and the kinds of the node's
// state before and after it.
type Transition struct {
	Rule          int
	Before, After string
}

// Compare orders transitions by their rules and states.
func (t Transition) Compare(u Transition) int {
	return cmp.Or(cmp.Compare(t.Rule, u.Rule), cmp.Compare(t.Before, u.Before), cmp.Compare(t.After, u.After))
}

// RuleText names a rule with its line.
func RuleText(p *core.Program, r *core.Rule) string {
	return fmt.Sprintf("%s (line %d)", r.Label(p), r.Body.Pos.Line)
}

// Kind describes a local state by the values of its booleans and enums, the signs of its numbers, and by which of its
// sets, sequences and options have elements. There are finitely many kinds, and a program and its sequential form have
// the same. It is without the variables to skip.
func (p *Program) Kind(s *State, skip []string) string {
	var parts []string
	for i, v := range p.Core.Vars {
		switch {
		case v.Ghost || slices.Contains(skip, v.Name):
		case i == p.Core.Output:
			if s.Vars[i].N != 0 {
				parts = append(parts, "output")
			}
		default:
			parts = kindOf(parts, v.Name, v.Type, s.Vars[i])
		}
	}
	if len(parts) == 0 {
		return "nothing set"
	}
	return strings.Join(parts, " ")
}

// kindOf adds what is noted of a value.
func kindOf(parts []string, name string, t *core.Type, v core.Value) []string {
	switch t.Kind {
	case core.Enum:
		return append(parts, name+"="+core.Format(t, v))
	case core.Record:
		for i, f := range t.Fields {
			parts = kindOf(parts, name+"."+f.Name, f.Type, v.E[i])
		}
		return parts
	case core.Int:
		if v.N < 0 {
			return append(parts, name+"<0")
		}
		if v.N > 0 {
			return append(parts, name+">0")
		}
		return parts
	case core.Node:
		return parts
	}
	if v.N != 0 || len(v.E) > 0 {
		return append(parts, name)
	}
	return parts
}
