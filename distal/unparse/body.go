package unparse

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// body writes the code of one frame. A slot may be bound again and again: it has the name it was bound with last.
type body struct {
	w     *writer
	names map[int]string
	open  map[string]bool // every name bound so far: none is used twice
}

func (w *writer) body(params []core.Field) *body {
	b := &body{w: w, names: map[int]string{}, open: map[string]bool{}}
	for i, p := range params {
		b.bind(core.Binder{Slot: i, Name: p.Name})
	}
	return b
}

func (b *body) bind(s core.Binder) string {
	name := b.w.fresh(s.Name, b.open)
	b.names[s.Slot] = name
	b.open[name] = true
	return name
}

// params are the parameters with the names they are bound to.
func (b *body) params(list []core.Field) []*syntax.Field {
	out := b.w.fields(list)
	for i := range out {
		out[i].Name = b.names[i]
	}
	return out
}

func (b *body) stmts(list []core.Stmt) []*syntax.Stmt {
	var out []*syntax.Stmt
	for _, s := range list {
		out = append(out, b.stmt(s))
	}
	return out
}

func (b *body) stmt(s core.Stmt) *syntax.Stmt {
	switch s := s.(type) {
	case *core.Assign:
		return &syntax.Stmt{Kind: syntax.AssignStmt, Name: b.w.p.Vars[s.Var].Name, Expr: b.expr(s.X)}
	case *core.Let:
		x := b.expr(s.X)
		return &syntax.Stmt{Kind: syntax.LetStmt, Name: b.bind(s.Slot), Expr: x}
	case *core.Branch:
		return &syntax.Stmt{Kind: syntax.IfStmt, Expr: b.expr(s.Cond), Body: b.stmts(s.Then), Else: b.stmts(s.Else)}
	case *core.For:
		x := b.expr(s.X)
		return &syntax.Stmt{Kind: syntax.ForStmt, Name: b.bind(s.Slot), Expr: x, Body: b.stmts(s.Body)}
	case *core.Send:
		return &syntax.Stmt{Kind: syntax.SendStmt, Name: b.w.p.Messages[s.Message].Type.Name, Args: b.exprs(s.Args),
			Expr: b.expr(s.To)}
	case *core.Output:
		return &syntax.Stmt{Kind: syntax.OutputStmt, Expr: b.expr(s.X)}
	case *core.Do:
		return &syntax.Stmt{Kind: syntax.CallStmt, Name: b.w.p.Actions[s.Action].Name, Args: b.exprs(s.Args)}
	case *core.Assert:
		name := s.Name
		if s.Condition != core.Own {
			name = s.Condition.Word()
		}
		return &syntax.Stmt{Kind: syntax.AssertStmt, Name: name, Expr: b.expr(s.X)}
	case *core.Try:
		return &syntax.Stmt{Kind: syntax.TryStmt, Body: b.stmts(s.Body), Expr: b.expr(s.Ensure), Else: b.stmts(s.Else)}
	}
	panic(fmt.Sprintf("unparse: no text for %T", s))
}

func (b *body) exprs(list []core.Expr) []*syntax.Expr {
	var out []*syntax.Expr
	for _, e := range list {
		out = append(out, b.expr(e))
	}
	return out
}

func (b *body) expr(e core.Expr) *syntax.Expr {
	switch e := e.(type) {
	case *core.Const:
		return constant(e.Type, e.Value)
	case *core.Local:
		return word(b.names[e.Slot])
	case *core.Param:
		return word(b.w.p.Params[e.Index].Name)
	case *core.Var:
		return word(b.w.p.Vars[e.Index].Name)
	case *core.NodeVar:
		return &syntax.Expr{Kind: syntax.FieldExpr, Name: b.w.p.Vars[e.Index].Name, Args: []*syntax.Expr{b.expr(e.Node)}}
	case *core.Get:
		return &syntax.Expr{Kind: syntax.FieldExpr, Name: e.X.Of().Fields[e.Index].Name, Args: []*syntax.Expr{b.expr(e.X)}}
	case *core.Make:
		return call(e.Type.Name, b.exprs(e.Args)...)
	case *core.Apply:
		return b.apply(e)
	case *core.Call:
		return call(b.w.p.Funs[e.Fun].Name, b.exprs(e.Args)...)
	case *core.If:
		return &syntax.Expr{Kind: syntax.IfExpr, Args: b.exprs([]core.Expr{e.Cond, e.Then, e.Else})}
	case *core.Mail:
		return call("received", word(b.w.p.Messages[e.Message].Type.Name))
	case *core.Build:
		set := b.expr(e.Set)
		out := &syntax.Expr{Kind: syntax.BuildExpr, Vars: []syntax.Ident{ident(b.bind(e.Slot))}}
		out.Args = []*syntax.Expr{b.expr(e.Elem), set}
		if e.Cond != nil {
			out.Args = append(out.Args, b.expr(e.Cond))
		}
		return out
	case *core.Quant:
		out := &syntax.Expr{Kind: syntax.QuantExpr, Name: e.Kind.String(), Args: []*syntax.Expr{b.expr(e.Set)}}
		for _, s := range e.Slots {
			out.Vars = append(out.Vars, ident(b.bind(s)))
		}
		out.Args = append(out.Args, b.expr(e.Body))
		return out
	case *core.Best:
		out := &syntax.Expr{Kind: syntax.BestExpr, Name: map[bool]string{true: "max", false: "min"}[e.Max],
			Args: []*syntax.Expr{b.expr(e.Set)}}
		out.Vars = []syntax.Ident{ident(b.bind(e.Slot))}
		out.Args = append(out.Args, b.exprs(e.Keys)...)
		return out
	case *core.Fit:
		return b.expr(e.X)
	}
	panic(fmt.Sprintf("unparse: no text for %T", e))
}

func call(name string, args ...*syntax.Expr) *syntax.Expr {
	return &syntax.Expr{Kind: syntax.CallExpr, Name: name, Args: args}
}

// apply writes an operator in its form.
func (b *body) apply(e *core.Apply) *syntax.Expr {
	row := core.Operators[e.Op]
	switch row.Form {
	case core.Word:
		return word(row.Name)
	case core.Unary:
		return &syntax.Expr{Kind: syntax.UnaryExpr, Name: row.Name, Args: b.exprs(e.Args)}
	case core.Binary:
		return &syntax.Expr{Kind: syntax.BinaryExpr, Name: row.Name, Args: b.exprs(e.Args)}
	case core.Member:
		return &syntax.Expr{Kind: syntax.FieldExpr, Name: row.Name, Args: b.exprs(e.Args)}
	case core.Function:
		if e.Op == core.After {
			round := e.Args[1].(*core.Const)
			return call(row.Name, b.expr(e.Args[0]), word(b.w.p.Rounds[round.Value.N].Name))
		}
		return call(row.Name, b.exprs(e.Args)...)
	case core.Bracket:
	}
	kind := map[core.Op]syntax.ExprKind{core.Index: syntax.IndexExpr, core.SetOfAll: syntax.SetExpr,
		core.SeqOfAll: syntax.SeqExpr}[e.Op]
	return &syntax.Expr{Kind: kind, Args: b.exprs(e.Args)}
}

// constant writes a value.
func constant(t *core.Type, v core.Value) *syntax.Expr {
	all := func(of func(int) *core.Type) []*syntax.Expr {
		var out []*syntax.Expr
		for i, x := range v.E {
			out = append(out, constant(of(i), x))
		}
		return out
	}
	elem := func(int) *core.Type { return t.Elem }
	switch t.Kind {
	case core.Bool:
		return word(fmt.Sprint(v.N != 0))
	case core.Int:
		return number(v.N)
	case core.Node:
		return call("node", number(v.N))
	case core.Enum:
		return word(t.Values[v.N])
	case core.Option:
		if v.N == 0 {
			return word("none")
		}
		return call("some", all(elem)...)
	case core.Seq:
		return &syntax.Expr{Kind: syntax.SeqExpr, Args: all(elem)}
	case core.Set:
		return &syntax.Expr{Kind: syntax.SetExpr, Args: all(elem)}
	case core.Record, core.Message:
		return call(t.Name, all(func(i int) *core.Type { return t.Fields[i].Type })...)
	}
	panic("unparse: a type of no kind")
}
