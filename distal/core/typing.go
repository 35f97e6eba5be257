package core

import "github.com/lockstep-go/lockstep/distal/syntax"

// apply makes the node of an operator.
func apply(op Op, e *syntax.Expr, t *Type, args ...Expr) Expr {
	return &Apply{Info{e.Pos, t}, op, args}
}

// which finds the operator whose row has this name and form.
func which(e *syntax.Expr, form Form) Op {
	for i, r := range Operators {
		if r.Form == form && r.Name == e.Name {
			return Op(i)
		}
	}
	panic("core: no operator " + e.Name)
}

func formOf(e *syntax.Expr) Form {
	switch e.Kind {
	case syntax.UnaryExpr:
		return Unary
	case syntax.BinaryExpr:
		return Binary
	case syntax.CallExpr:
		return Function
	}
	return Word
}

func permitted(t Typer, e *syntax.Expr, need []Permission) bool {
	for _, p := range need {
		if !t.May(p, e) {
			return false
		}
	}
	return true
}

// word types an operator without operands.
func word(result *Type, need ...Permission) Typing {
	return func(t Typer, e *syntax.Expr, _ *Type) Expr {
		if !permitted(t, e, need) {
			return nil
		}
		return apply(which(e, Word), e, result)
	}
}

// typed types a function without arguments.
func typed(result *Type, need ...Permission) Typing {
	return func(t Typer, e *syntax.Expr, _ *Type) Expr {
		if !permitted(t, e, need) || !arity(t, e, 0) {
			return nil
		}
		return apply(which(e, Function), e, result)
	}
}

func arity(t Typer, e *syntax.Expr, n int) bool {
	if len(e.Args) != n {
		t.Errorf(e.Pos, "types", "%s takes %d arguments, not %d", e.Name, n, len(e.Args))
		return false
	}
	return true
}

// operands types an operator whose operands have fixed types.
func operands(result *Type, params ...*Type) Typing {
	return func(t Typer, e *syntax.Expr, _ *Type) Expr {
		if !arity(t, e, len(params)) {
			return nil
		}
		var args []Expr
		for i, a := range e.Args {
			if x := t.Infer(a, params[i]); x != nil {
				args = append(args, x)
			}
		}
		if len(args) < len(params) {
			return nil
		}
		return apply(which(e, formOf(e)), e, result, args...)
	}
}

func equality(op Op) Typing {
	return func(t Typer, e *syntax.Expr, _ *Type) Expr {
		args := t.Same(e, nil)
		if args == nil {
			return nil
		}
		return apply(op, e, BoolType, args...)
	}
}

// sequences types a comparison of sequences; comparable takes optional ones as well.
func sequences(op Op, complaint string) Typing {
	return func(t Typer, e *syntax.Expr, _ *Type) Expr {
		if !arity(t, e, 2) {
			return nil
		}
		args := t.Same(e, nil)
		if args == nil {
			return nil
		}
		of := args[0].Of()
		if of.Kind != Seq && !(op == Comparable && of.Kind == Option && of.Elem.Kind == Seq) {
			t.Errorf(e.Pos, "types", complaint, of)
			return nil
		}
		return apply(op, e, BoolType, args...)
	}
}

func inTyping(t Typer, e *syntax.Expr, _ *Type) Expr {
	set, elem := t.Elements(e.Args[1])
	if set == nil {
		return nil
	}
	x := t.Infer(e.Args[0], elem)
	if x == nil {
		return nil
	}
	return apply(In, e, BoolType, x, set)
}

// joining types + and -, which apply to numbers, sets and, for +, sequences.
func joining(name string) Typing {
	return func(t Typer, e *syntax.Expr, want *Type) Expr {
		var hint *Type
		if want != nil && (want.Kind == Seq || want.Kind == Set) {
			hint = want
		}
		args := t.Same(e, hint)
		if args == nil {
			return nil
		}
		of := args[0].Of()
		var op Op
		switch {
		case of.Kind == Int && name == "+":
			op, of = Add, IntType
		case of.Kind == Int:
			op, of = Sub, IntType
		case of.Kind == Set && name == "+":
			op = Union
		case of.Kind == Set:
			op = Diff
		case of.Kind == Seq && name == "+":
			op = Concat
		default:
			t.Errorf(e.Pos, "types", "'%s' does not apply to %s", name, of)
			return nil
		}
		return apply(op, e, of, args...)
	}
}

// ofElements types a function of one collection.
func ofElements(op Op, result func(*Type) *Type, need ...Permission) Typing {
	return func(t Typer, e *syntax.Expr, _ *Type) Expr {
		if !arity(t, e, 1) || !permitted(t, e, need) {
			return nil
		}
		x, elem := t.Elements(e.Args[0])
		if x == nil {
			return nil
		}
		return apply(op, e, result(elem), x)
	}
}

func someTyping(t Typer, e *syntax.Expr, want *Type) Expr {
	if !arity(t, e, 1) {
		return nil
	}
	var inner *Type
	if want != nil && want.Kind == Option {
		inner = want.Elem
	}
	x := t.Infer(e.Args[0], inner)
	if x == nil {
		return nil
	}
	return apply(Some, e, OptionOf(x.Of()), x)
}

func theTyping(t Typer, e *syntax.Expr, _ *Type) Expr {
	if !arity(t, e, 1) {
		return nil
	}
	x := t.Infer(e.Args[0], nil)
	if x == nil {
		return nil
	}
	if x.Of().Kind != Option {
		t.Errorf(e.Pos, "types", "the(...) opens an optional value, not %s", x.Of())
		return nil
	}
	return apply(The, e, x.Of().Elem, x)
}

func afterTyping(t Typer, e *syntax.Expr, _ *Type) Expr {
	if !arity(t, e, 2) || !t.May(MayStep, e) {
		return nil
	}
	phase := t.Infer(e.Args[0], IntType)
	round, ok := t.Round(e.Args[1])
	if phase == nil || !ok {
		return nil
	}
	return apply(After, e, BoolType, phase, round)
}

func heardTyping(t Typer, e *syntax.Expr, _ *Type) Expr {
	if !arity(t, e, 1) || !t.May(MayHear, e) {
		return nil
	}
	p := t.Infer(e.Args[0], NodeType)
	if p == nil {
		return nil
	}
	return apply(Heard, e, NodeSet, p)
}

// unwritten is the type rule of operators whose shape alone says what they are: the checker makes their nodes.
func unwritten(t Typer, e *syntax.Expr, _ *Type) Expr {
	t.Errorf(e.Pos, "types", "unexpected %s", e)
	return nil
}
