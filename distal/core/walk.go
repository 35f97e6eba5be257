package core

import "fmt"

// Parts calls visit for every expression directly below e.
func Parts(e Expr, visit func(Expr)) {
	some := func(list ...Expr) {
		for _, x := range list {
			if x != nil {
				visit(x)
			}
		}
	}
	switch e := e.(type) {
	case *Const, *Local, *Param, *Var, *Mail:
	case *NodeVar:
		some(e.Node)
	case *Get:
		some(e.X)
	case *Make:
		some(e.Args...)
	case *Apply:
		some(e.Args...)
	case *Call:
		some(e.Args...)
	case *If:
		some(e.Cond, e.Then, e.Else)
	case *Build:
		some(e.Set, e.Cond, e.Elem)
	case *Quant:
		some(e.Set, e.Body)
	case *Best:
		some(e.Set)
		some(e.Keys...)
	case *Fit:
		some(e.X)
	default:
		panic(fmt.Sprintf("core: no parts for %T", e))
	}
}

// Walk calls visit for e and everything below it, parents first.
func Walk(e Expr, visit func(Expr)) {
	if e == nil {
		return
	}
	visit(e)
	Parts(e, func(x Expr) { Walk(x, visit) })
}

// Exprs calls visit for every expression written directly in s, not in statements below it.
func Exprs(s Stmt, visit func(Expr)) {
	switch s := s.(type) {
	case *Assign:
		visit(s.X)
	case *Let:
		visit(s.X)
	case *Branch:
		visit(s.Cond)
	case *For:
		visit(s.X)
	case *Send:
		for _, a := range s.Args {
			visit(a)
		}
		visit(s.To)
	case *Output:
		visit(s.X)
	case *Do:
		for _, a := range s.Args {
			visit(a)
		}
	case *Assert:
		visit(s.X)
	case *Try:
		visit(s.Ensure)
	default:
		panic(fmt.Sprintf("core: no expressions for %T", s))
	}
}

// Blocks lists the blocks directly below a statement.
func Blocks(s Stmt) [][]Stmt {
	switch s := s.(type) {
	case *Branch:
		return [][]Stmt{s.Then, s.Else}
	case *For:
		return [][]Stmt{s.Body}
	case *Try:
		return [][]Stmt{s.Body, s.Else}
	}
	return nil
}

// WalkStmts calls visit for every statement of the list and below, parents first.
func WalkStmts(list []Stmt, visit func(Stmt)) {
	for _, s := range list {
		visit(s)
		for _, b := range Blocks(s) {
			WalkStmts(b, visit)
		}
	}
}

// Reach calls visit for every statement of a body and of the actions it calls, each once.
func (p *Program) Reach(body []Stmt, visit func(Stmt)) {
	seen := map[int]bool{}
	var walk func([]Stmt)
	walk = func(list []Stmt) {
		WalkStmts(list, func(s Stmt) {
			visit(s)
			if d, ok := s.(*Do); ok && !seen[d.Action] {
				seen[d.Action] = true
				walk(p.Actions[d.Action].Body)
			}
		})
	}
	walk(body)
}

// ReachExprs calls visit for every expression of a body and of the actions it calls, each once.
func (p *Program) ReachExprs(body []Stmt, visit func(Expr)) {
	p.Reach(body, func(s Stmt) { Exprs(s, func(e Expr) { Walk(e, visit) }) })
}

// SendsInto says for each round whether a body may send into it, also through the actions it calls.
func (p *Program) SendsInto(body []Stmt) []bool {
	out := make([]bool, len(p.Rounds))
	p.Reach(body, func(s Stmt) {
		if m, ok := s.(*Send); ok {
			out[p.Messages[m.Message].Round] = true
		}
	})
	return out
}
