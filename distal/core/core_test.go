package core

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal/syntax"
)

// TestMissingColumns takes every column out of every row: each time the table must be refused, with the name of the
// column.
func TestMissingColumns(t *testing.T) {
	for op, row := range Operators {
		if what := row.missing(); what != "" {
			t.Errorf("%s has no %s", row.Name, what)
		}
		for want, without := range map[string]func(r Row) Row{
			"name":              func(r Row) Row { r.Name = ""; return r },
			"type rule":         func(r Row) Row { r.Typing = nil; return r },
			"evaluation":        func(r Row) Row { r.Eval = Evaluation{}; return r },
			"form in C":         func(r Row) Row { r.C = ""; return r },
			"symbolic transfer": func(r Row) Row { r.Symbolic = Symbolic{}; return r },
		} {
			if got := without(row).missing(); got != want {
				t.Errorf("operator %d without its %s: %q is missed", op, want, got)
			}
		}
	}
}

// TestTemplates wants the C of an operator to use each of its operands.
func TestTemplates(t *testing.T) {
	for _, r := range Operators {
		operands := 0
		switch {
		case r.Eval.One != nil:
			operands = 1
		case r.Eval.Two != nil, r.Eval.Lazy != nil:
			operands = 2
		}
		for i := range operands {
			if !strings.Contains(r.C, fmt.Sprint("$", i)) && !strings.HasPrefix(r.C, "#") {
				t.Errorf("%s: operand %d is not in %q", r.Name, i, r.C)
			}
		}
	}
}

// TestRelations wants the negation of a relation to hold exactly when it does not.
func TestRelations(t *testing.T) {
	holds := func(r Relation, a, b int) bool {
		return map[Relation]bool{Less: a < b, AtMost: a <= b, More: a > b, AtLeast: a >= b, Equal: a == b,
			Different: a != b}[r]
	}
	for r := Less; r <= Different; r++ {
		for a := range 3 {
			for b := range 3 {
				if holds(r, a, b) == holds(r.Negated(), a, b) {
					t.Errorf("relation %d and its negation agree on %d and %d", r, a, b)
				}
			}
		}
	}
}

func ExampleFormat() {
	t := SeqOf(OptionOf(NodeType))
	fmt.Println(t, Format(t, Value{E: []Value{{}, SomeOf(Value{N: 2})}}))
	// Output: seq<node?> [none, some(node(2))]
}

func ExampleWritten() {
	row, ok := Written(Binary, "prefix")
	fmt.Println(row.Name, row.C, ok)
	// Output: prefix pre_{0}($0, $1) true
}

func ExampleRewrite() {
	x := NewApply(syntax.Pos{}, Add, IntType, NewInt(syntax.Pos{}, 1), NewInt(syntax.Pos{}, 2))
	y := Rewrite(x, func(e Expr) Expr {
		if c, ok := e.(*Const); ok {
			return NewInt(c.Pos, 10*c.Value.N)
		}
		return e
	})
	Walk(y, func(e Expr) {
		if c, ok := e.(*Const); ok {
			fmt.Print(c.Value.N, " ")
		}
	})
	// Output: 10 20
}
