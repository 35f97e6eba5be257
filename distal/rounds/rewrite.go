package rounds

import (
	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// rewriter copies code and replaces names while it does. The copies are for printing only.
type rewriter struct {
	prog  *check.Program
	names map[string]*syntax.Expr                      // replacements for local names (parameters of inlined actions)
	state func(name string) string                     // how a state variable is written; nil: by its name
	send  func(*rewriter, *syntax.Stmt) []*syntax.Stmt // what a send becomes; nil: a send
}

func word(name string) *syntax.Expr { return &syntax.Expr{Kind: syntax.NameExpr, Name: name} }

// expr copies an expression.
func (w *rewriter) expr(e *syntax.Expr) *syntax.Expr {
	if e == nil {
		return nil
	}
	if e.Kind == syntax.NameExpr {
		if by, ok := w.names[e.Name]; ok {
			return by
		}
		ref, known := w.prog.Info.Refs[e]
		if known && ref.Kind == check.RefVar && w.state != nil {
			return word(w.state(e.Name))
		}
	}
	c := *e
	c.Args = nil
	for _, a := range e.Args {
		c.Args = append(c.Args, w.expr(a))
	}
	return &c
}

// stmts copies statements and puts the bodies of actions in place of their calls.
func (w *rewriter) stmts(list []*syntax.Stmt) []*syntax.Stmt {
	var out []*syntax.Stmt
	for _, s := range list {
		out = append(out, w.stmt(s)...)
	}
	return out
}

func (w *rewriter) stmt(s *syntax.Stmt) []*syntax.Stmt {
	if s.Kind == syntax.CallStmt {
		return w.inline(s)
	}
	c := *s
	c.Expr = w.expr(s.Expr)
	c.Args = nil
	for _, a := range s.Args {
		c.Args = append(c.Args, w.expr(a))
	}
	c.Body, c.Else = w.stmts(s.Body), w.stmts(s.Else)
	switch {
	case s.Kind == syntax.AssignStmt && w.state != nil:
		c.Name = w.state(s.Name)
	case s.Kind == syntax.SendStmt && w.send != nil:
		return w.send(w, &c)
	}
	return []*syntax.Stmt{&c}
}

// inline copies the body of an action with its parameters replaced by the arguments.
func (w *rewriter) inline(s *syntax.Stmt) []*syntax.Stmt {
	a := w.prog.Actions[w.prog.Info.Slots[s]]
	inner := *w
	inner.names = map[string]*syntax.Expr{}
	for i, p := range a.Params {
		inner.names[p.Name] = w.expr(s.Args[i])
	}
	return inner.stmts(a.Body)
}

// stateOnly says whether an expression still has its value when the message is sent in a later round: it uses nothing but
// the state, parameters and constants, and makes no choice.
func stateOnly(e *syntax.Expr, locals map[string]bool) bool {
	ok := true
	syntax.Walk(e, func(x *syntax.Expr) {
		switch {
		case x.Kind == syntax.NameExpr && locals[x.Name]:
			ok = false
		case x.Kind == syntax.DotExpr, x.Kind == syntax.CallExpr && (x.Name == "choose" || x.Name == "received"):
			ok = false
		}
	})
	return ok
}
