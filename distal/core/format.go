package core

import (
	"strconv"
	"strings"
)

// Format writes a value as it is written in a program.
func Format(t *Type, v Value) string {
	switch t.Kind {
	case Bool:
		return strconv.FormatBool(v.N != 0)
	case Int:
		return strconv.FormatInt(v.N, 10)
	case Enum:
		return t.Values[v.N]
	case Node:
		return "node(" + strconv.FormatInt(v.N, 10) + ")"
	case Option:
		if v.N == 0 {
			return "none"
		}
		return "some(" + Format(t.Elem, v.E[0]) + ")"
	case Seq:
		return "[" + formatAll(v.E, func(int) *Type { return t.Elem }) + "]"
	case Set:
		return "{" + formatAll(v.E, func(int) *Type { return t.Elem }) + "}"
	case Record, Message:
		return t.Name + "(" + formatAll(v.E, func(i int) *Type { return t.Fields[i].Type }) + ")"
	}
	panic("core: a type of no kind")
}

func formatAll(elems []Value, of func(int) *Type) string {
	parts := make([]string, len(elems))
	for i, e := range elems {
		parts[i] = Format(of(i), e)
	}
	return strings.Join(parts, ", ")
}
