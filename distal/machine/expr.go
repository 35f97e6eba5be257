package machine

import (
	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// expr compiles an expression.
func (p *Program) expr(e *syntax.Expr) eval {
	switch e.Kind {
	case syntax.IntExpr:
		v := Value{N: e.Int}
		return func(*frame) Value { return v }
	case syntax.NameExpr:
		return p.name(e)
	case syntax.UnaryExpr:
		x := p.expr(e.Args[0])
		if e.Name == "not" {
			return func(f *frame) Value { return Value{N: 1 - x(f).N} }
		}
		return func(f *frame) Value { return Value{N: -x(f).N} }
	case syntax.BinaryExpr:
		return p.binary(e)
	case syntax.CallExpr:
		return p.callExpr(e)
	case syntax.FieldExpr:
		return p.field(e)
	case syntax.DotExpr:
		return member(p.Checked.Info.Refs[e], func(f *frame) Value { return f.slots[1] })
	case syntax.IndexExpr:
		x, i := p.expr(e.Args[0]), p.expr(e.Args[1])
		return func(f *frame) Value {
			s, at := x(f), i(f).N
			if at < 0 || at >= int64(len(s.E)) {
				f.fail(e.Pos, "index %d is outside a sequence of %d elements", at, len(s.E))
			}
			return s.E[at]
		}
	case syntax.SetExpr:
		elems := p.list(e.Args)
		return func(f *frame) Value { return makeSet(elems(f)) }
	case syntax.SeqExpr:
		elems := p.list(e.Args)
		return func(f *frame) Value { return Value{E: elems(f)} }
	case syntax.IfExpr:
		c, a, b := p.expr(e.Args[0]), p.expr(e.Args[1]), p.expr(e.Args[2])
		return func(f *frame) Value {
			if c(f).N != 0 {
				return a(f)
			}
			return b(f)
		}
	default:
		return p.binding(e)
	}
}

func (p *Program) list(args []*syntax.Expr) func(*frame) []Value {
	evals := make([]eval, len(args))
	for i, a := range args {
		evals[i] = p.expr(a)
	}
	return func(f *frame) []Value {
		out := make([]Value, len(evals))
		for i, e := range evals {
			out[i] = e(f)
		}
		return out
	}
}

func (p *Program) name(e *syntax.Expr) eval {
	r := p.Checked.Info.Refs[e]
	i := r.Index
	switch r.Kind {
	case check.RefLocal:
		return func(f *frame) Value { return f.slots[i] }
	case check.RefVar:
		return func(f *frame) Value { return f.state.Vars[i] }
	case check.RefParam:
		return func(f *frame) Value { return Value{N: f.params[i]} }
	case check.RefEnum:
		return func(*frame) Value { return Value{N: int64(i)} }
	}
	switch e.Name {
	case "true":
		return func(*frame) Value { return Value{N: 1} }
	case "self":
		return func(f *frame) Value { return Value{N: f.self} }
	case "all":
		v := p.nodeSet(0)
		return func(*frame) Value { return v }
	case "timely":
		return func(f *frame) Value { return Bool(f.timely) }
	case "others":
		return func(f *frame) Value { return p.nodeSet(f.self) }
	}
	return func(*frame) Value { return Value{} } // false, none
}

// nodeSet is the set of all nodes but one; 0 leaves out none.
func (p *Program) nodeSet(without int64) Value {
	var v Value
	for i := int64(1); i <= p.params[0]; i++ {
		if i != without {
			v.E = append(v.E, Value{N: i})
		}
	}
	return v
}

func (p *Program) field(e *syntax.Expr) eval {
	x := p.expr(e.Args[0])
	r := p.Checked.Info.Refs[e]
	switch r.Kind {
	case check.RefNodeVar:
		return func(f *frame) Value { return f.node(e.Pos, x(f)).Vars[r.Index] }
	case check.RefNodeOutput:
		return func(f *frame) Value { return f.node(e.Pos, x(f)).Output }
	}
	return member(r, x)
}

func (f *frame) node(pos syntax.Pos, v Value) *State {
	if f.nodes == nil {
		return f.state
	}
	if v.N < 1 || v.N > int64(len(f.nodes)) {
		f.fail(pos, "there is no node %d", v.N)
	}
	return f.nodes[v.N-1]
}

// member reads a field of a record or message, or the sender of a message.
func member(r check.Ref, x eval) eval {
	if r.Kind == check.RefFrom {
		return func(f *frame) Value { return Value{N: x(f).N} }
	}
	return func(f *frame) Value { return x(f).E[r.Index] }
}

func (p *Program) binary(e *syntax.Expr) eval {
	a, b := p.expr(e.Args[0]), p.expr(e.Args[1])
	switch e.Name {
	case "and":
		return func(f *frame) Value {
			if a(f).N == 0 {
				return Value{}
			}
			return b(f)
		}
	case "or":
		return func(f *frame) Value {
			if v := a(f); v.N != 0 {
				return v
			}
			return b(f)
		}
	case "implies":
		return func(f *frame) Value {
			if a(f).N == 0 {
				return Value{N: 1}
			}
			return b(f)
		}
	case "==":
		return func(f *frame) Value { return Bool(Compare(a(f), b(f)) == 0) }
	case "!=":
		return func(f *frame) Value { return Bool(Compare(a(f), b(f)) != 0) }
	case "<":
		return func(f *frame) Value { return Bool(a(f).N < b(f).N) }
	case "<=":
		return func(f *frame) Value { return Bool(a(f).N <= b(f).N) }
	case ">":
		return func(f *frame) Value { return Bool(a(f).N > b(f).N) }
	case ">=":
		return func(f *frame) Value { return Bool(a(f).N >= b(f).N) }
	case "in":
		return func(f *frame) Value { x := a(f); return Bool(contains(b(f).E, x)) }
	case "prefix":
		return func(f *frame) Value { return Bool(isPrefix(a(f), b(f))) }
	case "..":
		return rangeOf(e, a, b)
	}
	return p.arithmetic(e, a, b)
}

func rangeOf(e *syntax.Expr, a, b eval) eval {
	return func(f *frame) Value {
		from, to := a(f).N, b(f).N
		if to >= from && (to-from >= rangeMax || to-from < 0) {
			f.fail(e.Pos, "the range %d..%d has more than %d elements", from, to, rangeMax)
		}
		var v Value
		for i := from; i <= to; i++ {
			v.E = append(v.E, Value{N: i})
		}
		return v
	}
}

func (p *Program) arithmetic(e *syntax.Expr, a, b eval) eval {
	t := p.Checked.Info.Types[e.Args[0]]
	if t.Kind == check.Seq || t.Kind == check.Set {
		return p.collections(e, a, b, t.Kind)
	}
	switch e.Name {
	case "+":
		return func(f *frame) Value { return Value{N: a(f).N + b(f).N} }
	case "-":
		return func(f *frame) Value { return Value{N: a(f).N - b(f).N} }
	case "*":
		return func(f *frame) Value { return Value{N: a(f).N * b(f).N} }
	}
	return func(f *frame) Value {
		x, y := a(f).N, b(f).N
		if y == 0 {
			f.fail(e.Pos, "division by zero")
		}
		if e.Name == "/" {
			return Value{N: x / y}
		}
		return Value{N: x % y}
	}
}

func (p *Program) collections(e *syntax.Expr, a, b eval, kind check.Kind) eval {
	if e.Name == "-" {
		return func(f *frame) Value {
			var out Value
			x, y := a(f), b(f)
			for _, v := range x.E {
				if !contains(y.E, v) {
					out.E = append(out.E, v)
				}
			}
			return out
		}
	}
	return func(f *frame) Value {
		x, y := a(f), b(f)
		f.burn(e.Pos, len(x.E)+len(y.E))
		elems := append(append(make([]Value, 0, len(x.E)+len(y.E)), x.E...), y.E...)
		if kind == check.Set {
			return makeSet(elems)
		}
		return Value{E: elems}
	}
}
