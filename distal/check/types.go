package check

import (
	"github.com/lockstep-go/lockstep/distal/syntax"
	"maps"
	"slices"
)

// Kind of a type.
type Kind int

// The kinds of type.
const (
	Bool Kind = iota
	Int
	Node
	Enum
	Option
	Seq
	Set
	Record
	Message
)

// Type of a value. Declared types are compared by identity of their declaration, built types by structure.
type Type struct {
	Kind   Kind
	Name   string  // of enums, records and messages
	Elem   *Type   // of options, sequences and sets
	Fields []Field // of records and messages
	Values []string
}

// Field of a record or message.
type Field struct {
	Name string
	Type *Type
}

// The types without parts.
var (
	boolType = &Type{Kind: Bool, Name: "bool"}
	intType  = &Type{Kind: Int, Name: "int"}
	nodeType = &Type{Kind: Node, Name: "node"}
	nodeSet  = &Type{Kind: Set, Elem: nodeType}
	intSet   = &Type{Kind: Set, Elem: intType}
)

func (t *Type) String() string {
	switch t.Kind {
	case Option:
		return t.Elem.String() + "?"
	case Seq:
		return "seq<" + t.Elem.String() + ">"
	case Set:
		return "set<" + t.Elem.String() + ">"
	}
	return t.Name
}

// Equal says whether two types are the same.
func (t *Type) Equal(u *Type) bool {
	if t == nil || u == nil || t.Kind != u.Kind {
		return false
	}
	if t.Elem != nil {
		return t.Elem.Equal(u.Elem)
	}
	return t.Name == u.Name
}

// Field finds a field by name; -1 when there is none.
func (t *Type) Field(name string) int {
	for i, f := range t.Fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// resolve turns a written type into a Type and complains about unknown names.
func (c *checker) resolve(t *syntax.TypeExpr) *Type {
	var out *Type
	switch t.Name {
	case "bool":
		out = boolType
	case "int":
		out = intType
	case "node":
		out = nodeType
	case "seq", "set":
		if t.Arg == nil {
			c.errorf(t.Pos, "types", "%s needs an element type, as in %s<int>", t.Name, t.Name)
			return intType
		}
		out = &Type{Kind: Seq, Elem: c.resolve(t.Arg)}
		if t.Name == "set" {
			out.Kind = Set
		}
	default:
		out = c.types[t.Name]
		if out == nil {
			c.errorf(t.Pos, "names", "unknown type %s%s", t.Name, syntax.Suggest(t.Name, c.typeNames()))
			out = intType
		}
	}
	if t.Arg != nil && out.Kind != Seq && out.Kind != Set {
		c.errorf(t.Pos, "types", "type %s takes no element type", t.Name)
	}
	if t.Optional {
		if out.Kind == Option {
			c.errorf(t.Pos, "types", "type %s is optional already", out)
			return out
		}
		return &Type{Kind: Option, Elem: out}
	}
	return out
}

func (c *checker) typeNames() []string {
	return append([]string{"bool", "int", "node", "seq", "set"}, slices.Sorted(maps.Keys(c.types))...)
}
