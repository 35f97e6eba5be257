package machine

import (
	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// binding compiles set builders, quantifiers, max and min.
func (p *Program) binding(e *syntax.Expr) eval {
	slots := p.Checked.Info.Binders[e]
	switch e.Kind {
	case syntax.BuildExpr:
		elem, set := p.expr(e.Args[0]), p.expr(e.Args[1])
		var cond eval
		if len(e.Args) > 2 {
			cond = p.expr(e.Args[2])
		}
		return func(f *frame) Value {
			var out []Value
			for _, v := range set(f).E {
				f.burn(e.Pos, 1)
				f.slots[slots[0]] = v
				if cond == nil || cond(f).N != 0 {
					out = append(out, elem(f))
				}
			}
			return makeSet(out)
		}
	case syntax.QuantExpr:
		return p.quantifier(e, slots)
	}
	return p.best(e, slots[0])
}

func (p *Program) quantifier(e *syntax.Expr, slots []int) eval {
	set, cond := p.expr(e.Args[0]), p.expr(e.Args[1])
	return func(f *frame) Value {
		elems := set(f).E
		total, stop := int64(0), false
		var walk func(int)
		walk = func(depth int) {
			if depth == len(slots) {
				f.burn(e.Pos, 1)
				ok := cond(f).N
				total += ok
				stop = e.Name == "exists" && ok != 0 || e.Name == "forall" && ok == 0
				return
			}
			for _, v := range elems {
				f.slots[slots[depth]] = v
				if walk(depth + 1); stop {
					return
				}
			}
		}
		walk(0)
		switch e.Name {
		case "exists":
			return Bool(stop)
		case "forall":
			return Bool(!stop)
		}
		return Value{N: total}
	}
}

// best compiles max and min: the first element, in the order of the set, whose keys none exceeds.
func (p *Program) best(e *syntax.Expr, slot int) eval {
	set := p.expr(e.Args[0])
	keys := p.list(e.Args[1:])
	return func(f *frame) Value {
		elems := set(f).E
		if len(elems) == 0 {
			f.fail(e.Pos, "%s of an empty set", e.Name)
		}
		var best, bestKeys Value
		for i, v := range elems {
			f.burn(e.Pos, 1)
			f.slots[slot] = v
			k := Value{E: keys(f)}
			if len(k.E) == 0 {
				k = v
			}
			c := Compare(k, bestKeys)
			if i == 0 || c > 0 && e.Name == "max" || c < 0 && e.Name == "min" {
				best, bestKeys = v, k
			}
		}
		return best
	}
}

func (p *Program) callExpr(e *syntax.Expr) eval {
	r := p.Checked.Info.Refs[e]
	switch r.Kind {
	case check.RefFun:
		args := p.list(e.Args)
		return func(f *frame) (v Value) {
			f.burn(e.Pos, 1)
			f.call(args(f), func() { v = p.funs[r.Index](f) })
			return v
		}
	case check.RefRecord:
		args := p.list(e.Args)
		return func(f *frame) Value { return Value{E: args(f)} }
	}
	if r.Index == check.BuiltinReceived {
		return p.received(e)
	}
	return p.builtin(e, r.Index)
}

func (p *Program) builtin(e *syntax.Expr, b int) eval {
	x := p.expr(e.Args[0])
	switch b {
	case check.BuiltinLen:
		return func(f *frame) Value { return Value{N: int64(len(x(f).E))} }
	case check.BuiltinFirst, check.BuiltinLast:
		return func(f *frame) Value {
			s := x(f).E
			if len(s) == 0 {
				f.fail(e.Pos, "%s of nothing", e.Name)
			}
			if b == check.BuiltinFirst {
				return s[0]
			}
			return s[len(s)-1]
		}
	case check.BuiltinNode:
		return func(f *frame) Value {
			v := x(f)
			if v.N < 1 || v.N > f.params[0] {
				f.fail(e.Pos, "there is no node %d; nodes are 1 to %d", v.N, f.params[0])
			}
			return v
		}
	case check.BuiltinSome:
		return func(f *frame) Value { return Some(x(f)) }
	case check.BuiltinThe:
		return func(f *frame) Value {
			v := x(f)
			if v.N == 0 {
				f.fail(e.Pos, "the value is none")
			}
			return v.E[0]
		}
	case check.BuiltinComparable:
		return p.comparable(e, x, p.expr(e.Args[1]))
	case check.BuiltinChoose:
		return func(f *frame) Value {
			s := x(f).E
			if len(s) == 0 {
				f.fail(e.Pos, "choose from an empty set")
			}
			if len(s) == 1 || f.choose == nil {
				return s[0]
			}
			return s[f.choose(len(s))]
		}
	}
	return x // id: a node is its number
}

func (p *Program) comparable(e *syntax.Expr, a, b eval) eval {
	optional := p.Checked.Info.Types[e.Args[0]].Kind == check.Option
	return func(f *frame) Value {
		x, y := a(f), b(f)
		if optional {
			if x.N == 0 || y.N == 0 {
				return Value{N: 1}
			}
			x, y = x.E[0], y.E[0]
		}
		return Bool(isPrefix(x, y) || isPrefix(y, x))
	}
}

// received reads the mailbox directly. Only messages of the current tag may be used (condition 4).
func (p *Program) received(e *syntax.Expr) eval {
	kind := p.Checked.Info.Refs[e.Args[0]].Index
	return func(f *frame) Value {
		var out []Value
		for _, m := range f.mailbox {
			if m.Type != kind {
				continue
			}
			if m.Tag != f.tag {
				f.breach(e.Pos, "condition 4", "%s reads a message of phase %d, round %s, but the node is in phase %d, round %s",
					e, m.Tag.Phase, p.round(m.Tag), f.tag.Phase, p.round(f.tag))
			}
			out = append(out, m.Value())
		}
		return makeSet(out)
	}
}

func (p *Program) round(t Tag) string {
	if t.Round < 0 || t.Round >= len(p.Checked.Rounds) {
		return "none"
	}
	return p.Checked.Rounds[t.Round]
}
