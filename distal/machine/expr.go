package machine

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// expr compiles an expression.
func (p *Program) expr(e core.Expr) core.Eval {
	switch e := e.(type) {
	case *core.Const:
		return func(*core.Frame) Value { return e.Value }
	case *core.Local:
		return func(f *core.Frame) Value { return f.Slots[e.Slot] }
	case *core.Param:
		return func(f *core.Frame) Value { return Value{N: f.Params[e.Index]} }
	case *core.Var:
		return func(f *core.Frame) Value { return f.Vars[e.Index] }
	case *core.NodeVar:
		return p.nodeVar(e)
	case *core.Get:
		x := p.expr(e.X)
		return func(f *core.Frame) Value { return x(f).E[e.Index] }
	case *core.Make:
		args := p.list(e.Args)
		return func(f *core.Frame) Value { return Value{E: args(f)} }
	case *core.Apply:
		return p.apply(e)
	case *core.Call:
		args := p.exprs(e.Args)
		return func(f *core.Frame) Value {
			f.Burn(e.Pos, 1)
			caller := f.Enter(args)
			v := p.funs[e.Fun](f)
			f.Leave(caller)
			return v
		}
	case *core.If:
		c, a, b := p.expr(e.Cond), p.expr(e.Then), p.expr(e.Else)
		return func(f *core.Frame) Value {
			if c(f).N != 0 {
				return a(f)
			}
			return b(f)
		}
	case *core.Mail:
		return func(f *core.Frame) Value { return f.Mail(f, e) }
	case *core.Build:
		return p.build(e)
	case *core.Quant:
		return p.quantifier(e)
	case *core.Best:
		return p.best(e)
	case *core.Fit:
		return p.fit(e)
	}
	panic(fmt.Sprintf("machine: no meaning of %T", e))
}

// exprs compiles expressions one by one.
func (p *Program) exprs(args []core.Expr) []core.Eval {
	evals := make([]core.Eval, len(args))
	for i, a := range args {
		evals[i] = p.expr(a)
	}
	return evals
}

// list compiles expressions whose values are wanted together.
func (p *Program) list(args []core.Expr) func(*core.Frame) []Value {
	evals := p.exprs(args)
	return func(f *core.Frame) []Value {
		out := make([]Value, len(evals))
		for i, e := range evals {
			out[i] = e(f)
		}
		return out
	}
}

// apply compiles an operator by its row.
func (p *Program) apply(e *core.Apply) core.Eval {
	row := core.Operators[e.Op].Eval
	switch {
	case row.None != nil:
		return row.None
	case row.One != nil:
		a := p.expr(e.Args[0])
		return func(f *core.Frame) Value { return row.One(f, e.Pos, a(f)) }
	case row.Two != nil:
		a, b := p.expr(e.Args[0]), p.expr(e.Args[1])
		return func(f *core.Frame) Value { return row.Two(f, e.Pos, a(f), b(f)) }
	case row.Lazy != nil:
		a, b := p.expr(e.Args[0]), p.expr(e.Args[1])
		return func(f *core.Frame) Value { return row.Lazy(f, a, b) }
	}
	args := p.list(e.Args)
	return func(f *core.Frame) Value { return row.Many(f, args(f)) }
}

// nodeVar reads the state of any node, or, where only one is at hand, of that.
func (p *Program) nodeVar(e *core.NodeVar) core.Eval {
	x := p.expr(e.Node)
	return func(f *core.Frame) Value {
		n := x(f).N
		if f.Nodes == nil {
			return f.Vars[e.Index]
		}
		if n < 1 || n > int64(len(f.Nodes)) {
			f.Fail(e.Pos, "there is no node %d", n)
		}
		return f.Nodes[n-1][e.Index]
	}
}

func (p *Program) build(e *core.Build) core.Eval {
	elem, set, cond := p.expr(e.Elem), p.expr(e.Set), p.optional(e.Cond)
	return func(f *core.Frame) Value {
		var out []Value
		for _, v := range set(f).E {
			f.Burn(e.Pos, 1)
			f.Slots[e.Slot.Slot] = v
			if cond == nil || cond(f).N != 0 {
				out = append(out, elem(f))
			}
		}
		return core.MakeSet(out)
	}
}

func (p *Program) quantifier(e *core.Quant) core.Eval {
	set, cond := p.expr(e.Set), p.expr(e.Body)
	return func(f *core.Frame) Value {
		elems := set(f).E
		total, stop := int64(0), false
		var walk func(int)
		walk = func(depth int) {
			if depth == len(e.Slots) {
				f.Burn(e.Pos, 1)
				ok := cond(f).N
				total += ok
				stop = e.Kind == core.Exists && ok != 0 || e.Kind == core.Forall && ok == 0
				return
			}
			for _, v := range elems {
				f.Slots[e.Slots[depth].Slot] = v
				if walk(depth + 1); stop {
					return
				}
			}
		}
		walk(0)
		switch e.Kind {
		case core.Exists:
			return core.Truth(stop)
		case core.Forall:
			return core.Truth(!stop)
		case core.Count:
		}
		return Value{N: total}
	}
}

// best compiles max and min: the first element, in the order of the set, whose keys none exceeds.
func (p *Program) best(e *core.Best) core.Eval {
	set := p.expr(e.Set)
	keys := p.list(e.Keys)
	return func(f *core.Frame) Value {
		elems := set(f).E
		if len(elems) == 0 {
			f.Fail(e.Pos, "%s of an empty set", map[bool]string{true: "max", false: "min"}[e.Max])
		}
		var best, bestKeys Value
		for i, v := range elems {
			f.Burn(e.Pos, 1)
			f.Slots[e.Slot.Slot] = v
			k := v
			if len(e.Keys) > 0 {
				k = Value{E: keys(f)}
			}
			c := core.Compare(k, bestKeys)
			if i == 0 || c > 0 && e.Max || c < 0 && !e.Max {
				best, bestKeys = v, k
			}
		}
		return best
	}
}

// fit compiles a value that must be in the declared ranges.
func (p *Program) fit(e *core.Fit) core.Eval {
	x, check := p.expr(e.X), p.ranges(e.Pos, e.Type)
	return func(f *core.Frame) Value {
		v := x(f)
		check(f, v)
		return v
	}
}

// Range is the range of an integer type.
func (p *Program) Range(t *core.Type) (low, high int64, err error) {
	if t.Low == nil {
		return core.MinInt, core.MaxInt, nil
	}
	if low, err = p.Constant(t.Low); err != nil {
		return 0, 0, err
	}
	if high, err = p.Constant(t.High); err != nil {
		return 0, 0, err
	}
	return low, high, nil
}

// ranges compiles the check that a value is in the ranges of a type.
func (p *Program) ranges(pos syntax.Pos, t *core.Type) func(*core.Frame, Value) {
	if !t.Ranged() {
		return func(*core.Frame, Value) {}
	}
	switch t.Kind {
	case core.Int:
		low, high, err := p.Range(t)
		if err != nil {
			panic(&core.Fault{Pos: pos, Text: "the ends of a range: " + err.Error()})
		}
		return func(f *core.Frame, v Value) {
			if v.N < low || v.N > high {
				f.Fail(pos, "overflow: %d is outside the declared range %d..%d", v.N, low, high)
			}
		}
	case core.Option, core.Seq, core.Set:
		elem := p.ranges(pos, t.Elem)
		return func(f *core.Frame, v Value) {
			for _, e := range v.E {
				elem(f, e)
			}
		}
	case core.Record, core.Message:
		var fields []func(*core.Frame, Value)
		for _, x := range t.Fields {
			fields = append(fields, p.ranges(pos, x.Type))
		}
		return func(f *core.Frame, v Value) {
			for i, e := range v.E {
				fields[i](f, e)
			}
		}
	case core.Bool, core.Node, core.Enum:
	}
	panic("machine: a range in a type without numbers")
}
