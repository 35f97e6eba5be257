package core

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

// Type of a value. Declared types are compared by name, built types by structure; a declared range does not make a
// type of its own, it is a promise about the places where values are stored.
type Type struct {
	Kind   Kind
	Name   string  // of enums, records and messages
	Elem   *Type   // of options, sequences and sets
	Fields []Field // of records and messages
	Values []string
	Low    Expr // of integers with a declared range: its ends, which depend on parameters alone
	High   Expr
}

// Field of a record or message, parameter of a function or action.
type Field struct {
	Name string
	Type *Type
}

// The types without parts.
var (
	BoolType = &Type{Kind: Bool, Name: "bool"}
	IntType  = &Type{Kind: Int, Name: "int"}
	NodeType = &Type{Kind: Node, Name: "node"}
	NodeSet  = SetOf(NodeType)
	IntSet   = SetOf(IntType)
)

// SetOf is the type of sets of t.
func SetOf(t *Type) *Type { return &Type{Kind: Set, Elem: t} }

// SeqOf is the type of sequences of t.
func SeqOf(t *Type) *Type { return &Type{Kind: Seq, Elem: t} }

// OptionOf is the type of optional values of t.
func OptionOf(t *Type) *Type { return &Type{Kind: Option, Elem: t} }

func (t *Type) String() string {
	switch t.Kind {
	case Option:
		return t.Elem.String() + "?"
	case Seq:
		return "seq<" + t.Elem.String() + ">"
	case Set:
		return "set<" + t.Elem.String() + ">"
	case Bool, Int, Node, Enum, Record, Message:
	}
	return t.Name
}

// Equal says whether two types are the same, whatever ranges they declare.
func (t *Type) Equal(u *Type) bool {
	if t == nil || u == nil || t.Kind != u.Kind {
		return false
	}
	if t.Elem != nil {
		return t.Elem.Equal(u.Elem)
	}
	return t.Kind == Int || t.Name == u.Name
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

// Contains says whether values of t hold values of u inside.
func (t *Type) Contains(u *Type) bool {
	return t.inside(func(v *Type) bool { return v == u }, map[*Type]bool{})
}

// Ranged says whether t is, or holds, an integer with a declared range.
func (t *Type) Ranged() bool {
	ranged := func(v *Type) bool { return v.Low != nil }
	return ranged(t) || t.inside(ranged, map[*Type]bool{})
}

// inside looks for a type inside t; seen holds the types looked into already.
func (t *Type) inside(found func(*Type) bool, seen map[*Type]bool) bool {
	parts := t.Fields
	if t.Elem != nil {
		parts = []Field{{Type: t.Elem}}
	}
	for _, f := range parts {
		if f.Type == nil || seen[f.Type] {
			continue
		}
		if found(f.Type) {
			return true
		}
		seen[f.Type] = true
		if f.Type.inside(found, seen) {
			return true
		}
	}
	return false
}
