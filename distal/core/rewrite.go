package core

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/syntax"
)

// NewApply makes the node of an operator.
func NewApply(pos syntax.Pos, op Op, t *Type, args ...Expr) Expr {
	return &Apply{Info{pos, t}, op, args}
}

// NewBool makes a truth value.
func NewBool(pos syntax.Pos, ok bool) Expr { return &Const{Info{pos, BoolType}, Truth(ok)} }

// NewInt makes a number.
func NewInt(pos syntax.Pos, n int64) Expr { return &Const{Info{pos, IntType}, Value{N: n}} }

// Empty makes the empty value of an optional, set or sequence type.
func Empty(pos syntax.Pos, t *Type) Expr { return &Const{Info{pos, t}, Value{}} }

// Conjunction joins conditions; none is true.
func Conjunction(pos syntax.Pos, list ...Expr) Expr {
	var out Expr
	for _, x := range list {
		if c, ok := x.(*Const); ok && c.Value.N != 0 {
			continue
		}
		if out == nil {
			out = x
		} else {
			out = NewApply(pos, And, BoolType, out, x)
		}
	}
	if out == nil {
		return NewBool(pos, true)
	}
	return out
}

// Rewrite copies an expression from the leaves up; change may replace each copy by something else.
func Rewrite(e Expr, change func(Expr) Expr) Expr {
	if e == nil {
		return nil
	}
	in := func(x Expr) Expr { return Rewrite(x, change) }
	all := func(list []Expr) []Expr {
		var out []Expr
		for _, x := range list {
			out = append(out, in(x))
		}
		return out
	}
	switch e := e.(type) {
	case *Const, *Local, *Param, *Var, *Mail:
		return change(e)
	case *NodeVar:
		return change(&NodeVar{e.Info, in(e.Node), e.Index})
	case *Get:
		return change(&Get{e.Info, in(e.X), e.Index})
	case *Make:
		return change(&Make{e.Info, all(e.Args)})
	case *Apply:
		return change(&Apply{e.Info, e.Op, all(e.Args)})
	case *Call:
		return change(&Call{e.Info, e.Fun, all(e.Args)})
	case *If:
		return change(&If{e.Info, in(e.Cond), in(e.Then), in(e.Else)})
	case *Build:
		return change(&Build{e.Info, e.Slot, in(e.Set), in(e.Cond), in(e.Elem)})
	case *Quant:
		return change(&Quant{e.Info, e.Kind, e.Slots, in(e.Set), in(e.Body)})
	case *Best:
		return change(&Best{e.Info, e.Max, e.Slot, in(e.Set), all(e.Keys)})
	case *Fit:
		return change(&Fit{e.Info, in(e.X)})
	}
	panic(fmt.Sprintf("core: cannot rewrite %T", e))
}
