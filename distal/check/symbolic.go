package check

import (
	"github.com/lockstep-go/lockstep/distal/syntax"
	"maps"
)

// symbolic follows an action along one path: what it knows about whole numbers, what it has sent, what it has changed.
type symbolic struct {
	prog    *Program
	vars    []linear
	locals  map[int]linear
	facts   facts
	message *MessageType // the rule's message; nil for init and timeouts
	sends   []sentAt
	changed *syntax.Stmt // the first statement that changed the state
	late    *syntax.Stmt // a change after a send
	depth   int          // how many actions deep
	counter *int
}

// sentAt is a send met on a path.
type sentAt struct {
	stmt  *syntax.Stmt
	phase linear
	round int
	own   linear // the phase variable at the time
	loop  bool   // inside a loop, to a receiver that is not the loop's own name
}

const maxPaths = 256

// explorePaths follows body along every path and calls visit at each end. It returns false when there are too many.
func (p *Program) explorePaths(body []*syntax.Stmt, start *symbolic, visit func(*symbolic)) bool {
	ends, ok := start.block(body, []*symbolic{start})
	if !ok {
		return false
	}
	for _, e := range ends {
		if !e.facts.absurd() {
			visit(e)
		}
	}
	return true
}

func (p *Program) symbolicStart(message *MessageType) *symbolic {
	e := &symbolic{prog: p, locals: map[int]linear{}, message: message, counter: new(int)}
	for _, v := range p.Vars {
		e.vars = append(e.vars, linear{"var " + v.Name, 0})
	}
	return e
}

func (e *symbolic) clone() *symbolic {
	c := *e
	c.vars = append([]linear(nil), e.vars...)
	c.locals = maps.Clone(e.locals)
	c.facts = append(facts(nil), e.facts...)
	c.sends = append([]sentAt(nil), e.sends...)
	return &c
}

func (e *symbolic) block(list []*syntax.Stmt, states []*symbolic) ([]*symbolic, bool) {
	for _, s := range list {
		var next []*symbolic
		for _, st := range states {
			after, ok := st.stmt(s)
			next = append(next, after...)
			if !ok || len(next) > maxPaths {
				return nil, false
			}
		}
		states = next
	}
	return states, true
}

func (e *symbolic) stmt(s *syntax.Stmt) ([]*symbolic, bool) {
	slot := e.prog.Info.Slots[s]
	switch s.Kind {
	case syntax.AssignStmt:
		e.change(s)
		v, ok := e.value(s.Expr)
		if !ok {
			v = e.unknown()
		}
		e.vars[slot] = v
	case syntax.OutputStmt:
		e.change(s)
	case syntax.LetStmt:
		if v, ok := e.value(s.Expr); ok {
			e.locals[slot] = v
		}
	case syntax.SendStmt:
		e.send(s, slot)
	case syntax.IfStmt:
		return e.branch(s)
	case syntax.ForStmt:
		return e.loop(s)
	case syntax.CallStmt:
		return e.call(s, slot)
	}
	return []*symbolic{e}, true
}

func (e *symbolic) change(s *syntax.Stmt) {
	if e.changed == nil {
		e.changed = s
	}
	if len(e.sends) > 0 && e.late == nil {
		e.late = s
	}
}

func (e *symbolic) send(s *syntax.Stmt, message int) {
	m := e.prog.Messages[message]
	phase, ok := e.value(s.Args[m.Phase])
	if !ok {
		phase = e.unknown()
	}
	at := sentAt{stmt: s, phase: phase, round: m.Round}
	if e.prog.Phase >= 0 {
		at.own = e.vars[e.prog.Phase]
	}
	e.sends = append(e.sends, at)
}

func (e *symbolic) branch(s *syntax.Stmt) ([]*symbolic, bool) {
	yes, no := e, e.clone()
	yes.learn(s.Expr, true)
	no.learn(s.Expr, false)
	a, okA := yes.block(s.Body, []*symbolic{yes})
	b, okB := no.block(s.Else, []*symbolic{no})
	return append(a, b...), okA && okB
}

// loop follows the body once, with nothing known about what it assigns; skipping it is a path too.
func (e *symbolic) loop(s *syntax.Stmt) ([]*symbolic, bool) {
	skip := e.clone()
	syntax.WalkStmts(s.Body, func(in *syntax.Stmt) {
		if in.Kind == syntax.AssignStmt {
			e.vars[e.prog.Info.Slots[in]] = e.unknown()
		}
	})
	before := len(e.sends)
	out, ok := e.block(s.Body, []*symbolic{e})
	for _, st := range out {
		for i := before; i < len(st.sends); i++ {
			to := st.sends[i].stmt.Expr
			st.sends[i].loop = !(to.Kind == syntax.NameExpr && to.Name == s.Name)
		}
	}
	return append(out, skip), ok
}

func (e *symbolic) call(s *syntax.Stmt, action int) ([]*symbolic, bool) {
	a := e.prog.Actions[action]
	outer := e.locals
	inner := map[int]linear{}
	for i, arg := range s.Args {
		if v, ok := e.value(arg); ok {
			inner[i] = v
		}
	}
	e.locals = inner
	e.depth++
	out, ok := e.block(a.Body, []*symbolic{e})
	for _, st := range out {
		st.locals = maps.Clone(outer)
		st.depth--
	}
	return out, ok
}
