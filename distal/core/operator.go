package core

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/syntax"
)

// Op is an operator: an index into Operators.
type Op int

// The operators.
const (
	Self Op = iota
	All
	Others
	Timely
	Now
	After
	Heard
	Not
	Neg
	And
	Or
	Implies
	Eq
	Ne
	Lt
	Le
	Gt
	Ge
	In
	Prefix
	Range
	Add
	Concat
	Union
	Sub
	Diff
	Mul
	Div
	Mod
	From
	Index
	SetOfAll
	SeqOfAll
	Len
	First
	Last
	NodeOf
	ID
	Some
	The
	Comparable
	Choose
	operators
)

// Form is how an operator is written.
type Form int

// The forms.
const (
	Word     Form = iota // self
	Unary                // not x
	Binary               // x + y
	Function             // len(x)
	Member               // m.from
	Bracket              // s[i], {x, y}, [x, y]
)

// Row is all that is known about an operator. Every column must be there: a row that lacks one panics when the program
// starts.
type Row struct {
	Name     string
	Form     Form
	Typing   Typing     // what it takes and gives
	Eval     Evaluation // what it computes
	C        string     // how it is written in C: $0 are operands, {0} the C names of their types, {r} that of the result
	Symbolic Symbolic   // what the proofs know about it
}

// Typing checks the operands of a written expression and makes the node; nil after an error that has been reported.
type Typing func(t Typer, e *syntax.Expr, want *Type) Expr

// Typer is the checker as operators see it.
type Typer interface {
	Infer(e *syntax.Expr, want *Type) Expr    // nil after an error
	Elements(e *syntax.Expr) (Expr, *Type)    // of a set or sequence; nil after an error
	Same(e *syntax.Expr, want *Type) []Expr   // two operands of one type; nil after an error
	Round(e *syntax.Expr) (Expr, bool)        // the name of a round, as its number
	May(what Permission, e *syntax.Expr) bool // whether it may stand here; if not, that is reported
	Errorf(pos syntax.Pos, check, format string, args ...any)
}

// Permission is what an operator needs of the place where it stands.
type Permission int

// The permissions.
const (
	MayAct    Permission = iota // a node acts here, so that there is a self
	MayChoose                   // choices are allowed
	MayAge                      // timely has a meaning
	MayHear                     // a network formula
	MayStep                     // a lock-step program
)

// Evaluation is how an operator computes: one of the functions is set.
type Evaluation struct {
	None func(f *Frame) Value
	One  func(f *Frame, pos syntax.Pos, a Value) Value
	Two  func(f *Frame, pos syntax.Pos, a, b Value) Value
	Lazy func(f *Frame, a, b Eval) Value
	Many func(f *Frame, elems []Value) Value
}

// Linear is a symbolic whole number: an unknown named base, plus a constant. The empty base is the constant zero.
type Linear struct {
	Base string
	Off  int64
}

// Relation compares whole numbers.
type Relation int

// The relations.
const (
	NoRelation Relation = iota
	Less
	AtMost
	More
	AtLeast
	Equal
	Different
)

// Negated is the relation that holds when r does not.
func (r Relation) Negated() Relation {
	return [...]Relation{NoRelation, AtLeast, More, AtMost, Less, Different, Equal}[r]
}

// Symbolic is what proofs know about an operator: one of the fields is set.
type Symbolic struct {
	Number   func(a, b Linear) (Linear, bool) // it adds or subtracts
	Relation Relation                         // it compares numbers
	Logic    bool                             // it joins conditions; proofs know not, and, or by name
	Opaque   bool                             // nothing is known about its result
}

var opaque = Symbolic{Opaque: true}
var logic = Symbolic{Logic: true}

func truth(ok func(a, b Value) bool) Evaluation {
	return Evaluation{Two: func(_ *Frame, _ syntax.Pos, a, b Value) Value { return Truth(ok(a, b)) }}
}

func arithmetic(compute func(a, b int64) int64) Evaluation {
	return Evaluation{Two: func(f *Frame, pos syntax.Pos, a, b Value) Value { return f.Number(pos, compute(a.N, b.N)) }}
}

func division(compute func(a, b int64) int64) Evaluation {
	return Evaluation{Two: func(f *Frame, pos syntax.Pos, a, b Value) Value {
		if b.N == 0 {
			f.Fail(pos, "division by zero")
		}
		return f.Number(pos, compute(a.N, b.N))
	}}
}

// Operators is the table.
var Operators [operators]Row

var rows = [operators]Row{
	Self: {"self", Word, word(NodeType, MayAct), Evaluation{None: func(f *Frame) Value { return Value{N: f.Self} }},
		"self", opaque},
	All: {"all", Word, word(NodeSet), Evaluation{None: func(f *Frame) Value { return f.nodes(0) }}, "ALL_NODES", opaque},
	Others: {"others", Word, word(NodeSet, MayAct), Evaluation{None: func(f *Frame) Value { return f.nodes(f.Self) }},
		"(ALL_NODES & ~(1u << self))", opaque},
	Timely: {"timely", Word, word(BoolType, MayAge), Evaluation{None: func(f *Frame) Value { return Truth(f.Timely) }},
		"1", opaque},
	Now: {"now", Function, typed(IntType, MayStep), Evaluation{None: func(f *Frame) Value { return Value{N: f.Now} }},
		"now.phase", opaque},
	After: {"after", Function, afterTyping, Evaluation{Two: func(f *Frame, _ syntax.Pos, a, b Value) Value {
		return Truth(a.N > f.Now || a.N == f.Now && 2*b.N+1 > int64(f.Half))
	}}, "after($0, $1)", opaque},
	Heard: {"heard", Function, heardTyping, Evaluation{One: func(f *Frame, pos syntax.Pos, a Value) Value {
		v := Value{}
		for i := int64(1); i <= f.Params[0]; i++ {
			if f.Heard[a.N-1]&(1<<(i-1)) != 0 {
				v.E = append(v.E, Value{N: i})
			}
		}
		return v
	}}, "#heard stands only in networks, which are exported as tables", opaque},
	Not: {"not", Unary, operands(BoolType, BoolType), Evaluation{One: func(_ *Frame, _ syntax.Pos,
		a Value) Value {
		return Value{N: 1 - a.N}
	}},
		"(!$0)", logic},
	Neg: {"-", Unary, operands(IntType, IntType), Evaluation{One: func(f *Frame, pos syntax.Pos,
		a Value) Value {
		return f.Number(pos, -a.N)
	}},
		"sub_i(0, $0)", opaque},
	And: {"and", Binary, operands(BoolType, BoolType, BoolType), Evaluation{Lazy: func(f *Frame, a, b Eval) Value {
		if a(f).N == 0 {
			return Value{}
		}
		return b(f)
	}}, "($0 && $1)", logic},
	Or: {"or", Binary, operands(BoolType, BoolType, BoolType), Evaluation{Lazy: func(f *Frame, a, b Eval) Value {
		if v := a(f); v.N != 0 {
			return v
		}
		return b(f)
	}}, "($0 || $1)", logic},
	Implies: {"implies", Binary, operands(BoolType, BoolType, BoolType), Evaluation{Lazy: func(f *Frame, a, b Eval) Value {
		if a(f).N == 0 {
			return Value{N: 1}
		}
		return b(f)
	}}, "(!$0 || $1)", logic},
	Eq: {"==", Binary, equality(Eq), truth(func(a, b Value) bool { return Compare(a, b) == 0 }), "(cmp_{0}($0, $1) == 0)",
		Symbolic{Relation: Equal}},
	Ne: {"!=", Binary, equality(Ne), truth(func(a, b Value) bool { return Compare(a, b) != 0 }), "(cmp_{0}($0, $1) != 0)",
		Symbolic{Relation: Different}},
	Lt: {"<", Binary, operands(BoolType, IntType, IntType), truth(func(a, b Value) bool { return a.N < b.N }), "($0 < $1)",
		Symbolic{Relation: Less}},
	Le: {"<=", Binary, operands(BoolType, IntType, IntType), truth(func(a, b Value) bool { return a.N <= b.N }),
		"($0 <= $1)", Symbolic{Relation: AtMost}},
	Gt: {">", Binary, operands(BoolType, IntType, IntType), truth(func(a, b Value) bool { return a.N > b.N }), "($0 > $1)",
		Symbolic{Relation: More}},
	Ge: {">=", Binary, operands(BoolType, IntType, IntType), truth(func(a, b Value) bool { return a.N >= b.N }),
		"($0 >= $1)", Symbolic{Relation: AtLeast}},
	In: {"in", Binary, inTyping, truth(func(a, b Value) bool { return Contains(b.E, a) }), "has_{1}($1, $0)", opaque},
	Prefix: {"prefix", Binary, sequences(Prefix, "prefix compares sequences, not %s"), truth(IsPrefix),
		"pre_{0}($0, $1)", opaque},
	Range: {"..", Binary, operands(IntSet, IntType, IntType), Evaluation{Two: rangeOf}, "range_{r}($0, $1)", opaque},
	Add: {"+", Binary, joining("+"), arithmetic(func(a, b int64) int64 { return a + b }), "sum_i($0, $1)",
		Symbolic{Number: plus}},
	Concat: {"+", Binary, joining("+"), Evaluation{Two: concat}, "cat_{r}($0, $1)", opaque},
	Union:  {"+", Binary, joining("+"), Evaluation{Two: union}, "union_{r}($0, $1)", opaque},
	Sub: {"-", Binary, joining("-"), arithmetic(func(a, b int64) int64 { return a - b }), "sub_i($0, $1)",
		Symbolic{Number: minus}},
	Diff: {"-", Binary, joining("-"), Evaluation{Two: diff}, "diff_{r}($0, $1)", opaque},
	Mul: {"*", Binary, operands(IntType, IntType, IntType), arithmetic(func(a, b int64) int64 { return a * b }),
		"mul_i($0, $1)", opaque},
	Div: {"/", Binary, operands(IntType, IntType, IntType), division(func(a, b int64) int64 { return a / b }),
		"quo_i($0, $1)", opaque},
	Mod: {"%", Binary, operands(IntType, IntType, IntType), division(func(a, b int64) int64 { return a % b }),
		"rem_i($0, $1)", opaque},
	From: {"from", Member, unwritten, Evaluation{One: func(_ *Frame, _ syntax.Pos,
		a Value) Value {
		return Value{N: a.N}
	}},
		"($0).from", opaque},
	Index: {"[]", Bracket, unwritten, Evaluation{Two: func(f *Frame, pos syntax.Pos, a, b Value) Value {
		if b.N < 0 || b.N >= int64(len(a.E)) {
			f.Fail(pos, "index %d is outside a sequence of %d elements", b.N, len(a.E))
		}
		return a.E[b.N]
	}}, "at_{0}($0, $1)", opaque},
	SetOfAll: {"{}", Bracket, unwritten, Evaluation{Many: func(_ *Frame, elems []Value) Value { return MakeSet(elems) }},
		"fold add_{r}", opaque},
	SeqOfAll: {"[]", Bracket, unwritten, Evaluation{Many: func(_ *Frame, elems []Value) Value { return Value{E: elems} }},
		"fold push_{r}", opaque},
	Len: {"len", Function, ofElements(Len, func(*Type) *Type { return IntType }),
		Evaluation{One: func(_ *Frame, _ syntax.Pos, a Value) Value { return Value{N: int64(len(a.E))} }}, "len_{0}($0)",
		opaque},
	First: {"first", Function, ofElements(First, func(t *Type) *Type { return t }),
		Evaluation{One: func(f *Frame, pos syntax.Pos, a Value) Value {
			if len(a.E) == 0 {
				f.Fail(pos, "first of nothing")
			}
			return a.E[0]
		}}, "first_{0}($0)", opaque},
	Last: {"last", Function, ofElements(Last, func(t *Type) *Type { return t }),
		Evaluation{One: func(f *Frame, pos syntax.Pos, a Value) Value {
			if len(a.E) == 0 {
				f.Fail(pos, "last of nothing")
			}
			return a.E[len(a.E)-1]
		}}, "last_{0}($0)", opaque},
	NodeOf: {"node", Function, operands(NodeType, IntType), Evaluation{One: func(f *Frame, pos syntax.Pos, a Value) Value {
		if a.N < 1 || a.N > f.Params[0] {
			f.Fail(pos, "there is no node %d; nodes are 1 to %d", a.N, f.Params[0])
		}
		return a
	}}, "node_i($0)", opaque},
	ID: {"id", Function, operands(IntType, NodeType), Evaluation{One: func(_ *Frame, _ syntax.Pos,
		a Value) Value {
		return a
	}}, "$0", opaque},
	Some: {"some", Function, someTyping, Evaluation{One: func(_ *Frame, _ syntax.Pos, a Value) Value { return SomeOf(a) }},
		"some_{r}($0)", opaque},
	The: {"the", Function, theTyping, Evaluation{One: func(f *Frame, pos syntax.Pos, a Value) Value {
		if a.N == 0 {
			f.Fail(pos, "the value is none")
		}
		return a.E[0]
	}}, "the_{0}($0)", opaque},
	Comparable: {"comparable", Function, sequences(Comparable, "comparable takes sequences, not %s"), truth(comparables),
		"comparable_{0}($0, $1)", opaque},
	Choose: {"choose", Function, ofElements(Choose, func(t *Type) *Type { return t }, MayChoose),
		Evaluation{One: func(f *Frame, pos syntax.Pos, a Value) Value {
			if len(a.E) == 0 {
				f.Fail(pos, "choose from an empty set")
			}
			if len(a.E) == 1 || f.Choose == nil {
				return a.E[0]
			}
			return a.E[f.Choose(len(a.E))]
		}}, "choose_{0}($0)", opaque},
}

func init() {
	Operators = rows
	for i, r := range Operators {
		if what := r.missing(); what != "" {
			panic(fmt.Sprintf("core: operator %d (%s) has no %s", i, r.Name, what))
		}
	}
}

// missing names a column that a row lacks.
func (r Row) missing() string {
	evaluations := 0
	for _, there := range []bool{r.Eval.None != nil, r.Eval.One != nil, r.Eval.Two != nil, r.Eval.Lazy != nil,
		r.Eval.Many != nil} {
		if there {
			evaluations++
		}
	}
	symbolic := 0
	for _, there := range []bool{r.Symbolic.Number != nil, r.Symbolic.Relation != NoRelation, r.Symbolic.Logic,
		r.Symbolic.Opaque} {
		if there {
			symbolic++
		}
	}
	switch {
	case r.Name == "":
		return "name"
	case r.Typing == nil:
		return "type rule"
	case evaluations != 1:
		return "evaluation"
	case r.C == "":
		return "form in C"
	case symbolic != 1:
		return "symbolic transfer"
	}
	return ""
}

// Written finds the operator with a given form and name. Of several that are written alike any one is found: they have
// the same type rule, which makes the right node.
func Written(form Form, name string) (Row, bool) {
	for _, r := range Operators {
		if r.Form == form && r.Name == name {
			return r, true
		}
	}
	return Row{}, false
}

// FunctionNames lists the built-in functions.
func FunctionNames() []string {
	var out []string
	for _, r := range Operators {
		if r.Form == Function {
			out = append(out, r.Name)
		}
	}
	return append(out, "received")
}

func plus(a, b Linear) (Linear, bool) {
	switch {
	case b.Base == "":
		return Linear{a.Base, a.Off + b.Off}, true
	case a.Base == "":
		return Linear{b.Base, a.Off + b.Off}, true
	}
	return Linear{}, false
}

func minus(a, b Linear) (Linear, bool) {
	if b.Base == "" {
		return Linear{a.Base, a.Off - b.Off}, true
	}
	return Linear{}, false
}

func rangeOf(f *Frame, pos syntax.Pos, a, b Value) Value {
	if b.N-a.N >= RangeMax {
		f.Fail(pos, "the range %d..%d has more than %d elements", a.N, b.N, RangeMax)
	}
	var v Value
	for i := a.N; i <= b.N; i++ {
		v.E = append(v.E, Value{N: i})
	}
	f.Burn(pos, len(v.E))
	return v
}

func concat(f *Frame, pos syntax.Pos, a, b Value) Value {
	f.Burn(pos, len(a.E)+len(b.E))
	return Value{E: append(append(make([]Value, 0, len(a.E)+len(b.E)), a.E...), b.E...)}
}

func union(f *Frame, pos syntax.Pos, a, b Value) Value { return MakeSet(concat(f, pos, a, b).E) }

func diff(f *Frame, pos syntax.Pos, a, b Value) Value {
	f.Burn(pos, len(a.E))
	var out Value
	for _, v := range a.E {
		if !Contains(b.E, v) {
			out.E = append(out.E, v)
		}
	}
	return out
}

// comparables says whether one sequence is a prefix of the other; as an optional value, none is comparable with
// everything.
func comparables(a, b Value) bool {
	if a.N == 0 && len(a.E) == 0 || b.N == 0 && len(b.E) == 0 {
		return true // none, or the empty sequence
	}
	if a.N == 1 && b.N == 1 {
		a, b = a.E[0], b.E[0]
	}
	return IsPrefix(a, b) || IsPrefix(b, a)
}
