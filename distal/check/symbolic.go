package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
)

// symbolic follows an action along one path: what it knows about whole numbers, what it has sent, what it has changed.
type symbolic struct {
	prog    *core.Program
	vars    []core.Linear
	locals  map[int]core.Linear
	facts   facts
	message *core.MessageType // the rule's message; nil for init and timeouts
	slot    int               // where the message is
	depth   int               // how many actions deep; the message is known only at 0
	sends   []sentAt
	changed core.Stmt // the first statement that changed the state
	late    core.Stmt // a change after a send
	work    *work     // shared by all paths
}

// work counts what following costs, so that it ends.
type work struct {
	unknowns int
	steps    int
	loops    int
}

// sentAt is a send met on a path.
type sentAt struct {
	stmt  *core.Send
	phase core.Linear
	round int
	own   core.Linear // the phase variable at the time
	loop  bool        // it stands in a loop
	deep  bool        // it stands in an action that was called
	each  int         // the run of the loop over a set whose element is the one receiver; 0: none
}

const (
	maxPaths = 256
	maxSteps = 20_000
)

// follow follows body along every path and calls visit at each end. It returns false when that takes too much.
func follow(body []core.Stmt, start *symbolic, visit func(*symbolic)) bool {
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

func symbolicStart(p *core.Program, message *core.MessageType) *symbolic {
	e := &symbolic{prog: p, locals: map[int]core.Linear{}, message: message, work: &work{}}
	for i := range p.Vars {
		e.vars = append(e.vars, varOf(i))
	}
	return e
}

func varOf(i int) core.Linear { return core.Linear{Base: fmt.Sprint("var ", i)} }

func (e *symbolic) clone() *symbolic {
	c := *e
	c.vars = slices.Clone(e.vars)
	c.locals = maps.Clone(e.locals)
	c.facts = slices.Clone(e.facts)
	c.sends = slices.Clone(e.sends)
	return &c
}

func (e *symbolic) block(list []core.Stmt, states []*symbolic) ([]*symbolic, bool) {
	for _, s := range list {
		var next []*symbolic
		for _, st := range states {
			st.work.steps++
			if st.work.steps > maxSteps {
				return nil, false
			}
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

func (e *symbolic) stmt(s core.Stmt) ([]*symbolic, bool) {
	switch s := s.(type) {
	case *core.Assign:
		e.change(s)
		e.vars[s.Var] = e.known(s.X)
	case *core.Output:
		e.change(s)
	case *core.Let:
		if v, ok := e.value(s.X); ok {
			e.locals[s.Slot.Slot] = v
		} else {
			delete(e.locals, s.Slot.Slot)
		}
	case *core.Send:
		e.send(s)
	case *core.Branch:
		return e.branch(s)
	case *core.For:
		return e.loop(s)
	case *core.Do:
		return e.call(s)
	case *core.Assert:
		e.learn(s.X, true)
	case *core.Try:
		return nil, false // only in lock-step programs, about which nothing is to be proved
	default:
		panic(fmt.Sprintf("check: no symbolic meaning of %T", s))
	}
	return []*symbolic{e}, true
}

func (e *symbolic) change(s core.Stmt) {
	if e.changed == nil {
		e.changed = s
	}
	if len(e.sends) > 0 && e.late == nil {
		e.late = s
	}
}

func (e *symbolic) send(s *core.Send) {
	m := e.prog.Messages[s.Message]
	at := sentAt{stmt: s, phase: e.known(s.Args[m.Phase]), round: m.Round, deep: e.depth > 0}
	if e.prog.Phase >= 0 {
		at.own = e.vars[e.prog.Phase]
	}
	e.sends = append(e.sends, at)
}

func (e *symbolic) branch(s *core.Branch) ([]*symbolic, bool) {
	yes, no := e, e.clone()
	yes.learn(s.Cond, true)
	no.learn(s.Cond, false)
	a, okA := yes.block(s.Then, []*symbolic{yes})
	b, okB := no.block(s.Else, []*symbolic{no})
	return append(a, b...), okA && okB
}

// loop follows two arbitrary passes of the body, one after the other, each with nothing known about what the body
// assigns; fewer passes are paths too. What can go wrong in a loop goes wrong between two of its passes.
func (e *symbolic) loop(s *core.For) ([]*symbolic, bool) {
	e.work.loops++
	run := e.work.loops
	ends := []*symbolic{e.clone()}
	states := []*symbolic{e}
	for range 2 {
		var next []*symbolic
		for _, st := range states {
			before := len(st.sends)
			st.forget(s)
			out, ok := st.block(s.Body, []*symbolic{st})
			if !ok {
				return nil, false
			}
			for _, o := range out {
				o.enclose(before, s, run)
			}
			next = append(next, out...)
		}
		states = next
		for _, st := range states {
			st.forget(s) // the pass was not the last one
			ends = append(ends, st.clone())
		}
		if len(ends) > maxPaths {
			return nil, false
		}
	}
	return ends, true
}

// forget drops what is known about everything that a loop assigns, also through actions. Names need no care: every
// name of a body has a slot of its own, and is bound before it is read in every pass.
func (e *symbolic) forget(s *core.For) {
	e.prog.Reach(s.Body, func(in core.Stmt) {
		if a, ok := in.(*core.Assign); ok {
			e.vars[a.Var] = e.unknown()
		}
	})
}

// enclose notes that the sends from the given one on stand in a loop, and which of them go to the loop's own element.
// Those of a loop within the loop keep the number of that loop's run: every pass of the outer one is a new run of the
// inner one.
func (e *symbolic) enclose(from int, s *core.For, run int) {
	for i := from; i < len(e.sends); i++ {
		at := &e.sends[i]
		nested := at.loop
		at.loop = true
		if lit, ok := at.stmt.To.(*core.Apply); ok && lit.Op == core.SetOfAll && len(lit.Args) == 1 &&
			!nested && directly(s, at.stmt) {
			l, ok := lit.Args[0].(*core.Local)
			if ok && l.Slot == s.Slot.Slot && s.X.Of().Kind == core.Set {
				at.each = run
			}
		}
	}
}

// directly says whether a send stands in the loop itself, not in an action that it calls, where slots mean something
// else.
func directly(s *core.For, send *core.Send) bool {
	found := false
	core.WalkStmts(s.Body, func(in core.Stmt) { found = found || in == core.Stmt(send) })
	return found
}

func (e *symbolic) call(s *core.Do) ([]*symbolic, bool) {
	a := e.prog.Actions[s.Action]
	outer := e.locals
	inner := map[int]core.Linear{}
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

// learn adds what a condition (or its negation) says about symbolic numbers; the rest is ignored.
func (e *symbolic) learn(x core.Expr, truth bool) {
	switch x := x.(type) {
	case *core.Const:
		if (x.Value.N != 0) != truth {
			e.facts = append(e.facts, fact{"", "", -1})
		}
	case *core.Apply:
		switch row := core.Operators[x.Op].Symbolic; {
		case x.Op == core.Not:
			e.learn(x.Args[0], !truth)
		case x.Op == core.And && truth, x.Op == core.Or && !truth:
			e.learn(x.Args[0], truth)
			e.learn(x.Args[1], truth)
		case row.Relation != core.NoRelation:
			a, okA := e.value(x.Args[0])
			b, okB := e.value(x.Args[1])
			if !okA || !okB {
				return
			}
			r := row.Relation
			if !truth {
				r = r.Negated()
			}
			e.facts.add(r, a, b)
		}
	}
}

// known is the value of an expression, or a new unknown.
func (e *symbolic) known(x core.Expr) core.Linear {
	if v, ok := e.value(x); ok {
		return v
	}
	return e.unknown()
}

func (e *symbolic) unknown() core.Linear {
	e.work.unknowns++
	return core.Linear{Base: fmt.Sprintf("unknown %d", e.work.unknowns)}
}

// value gives an expression of type int a symbolic value, if it is simple enough.
func (e *symbolic) value(x core.Expr) (core.Linear, bool) {
	if x.Of().Kind != core.Int {
		return core.Linear{}, false
	}
	switch x := x.(type) {
	case *core.Const:
		return core.Linear{Off: x.Value.N}, true
	case *core.Var:
		return e.vars[x.Index], true
	case *core.Param:
		return core.Linear{Base: fmt.Sprint("param ", x.Index)}, true
	case *core.Local:
		v, ok := e.locals[x.Slot]
		return v, ok
	case *core.Fit:
		return e.value(x.X)
	case *core.Get:
		if e.isMessage(x.X) && x.Index == e.message.Phase {
			return core.Linear{Base: "tag"}, true
		}
	case *core.Apply:
		if number := core.Operators[x.Op].Symbolic.Number; number != nil {
			a, okA := e.value(x.Args[0])
			b, okB := e.value(x.Args[1])
			if okA && okB {
				return number(a, b)
			}
		}
	}
	return core.Linear{}, false
}

// isMessage says whether x is the rule's message, or the first of its messages, which all have one tag.
func (e *symbolic) isMessage(x core.Expr) bool {
	if e.message == nil || e.depth > 0 {
		return false
	}
	if a, ok := x.(*core.Apply); ok && a.Op == core.First {
		x = a.Args[0]
	}
	l, ok := x.(*core.Local)
	return ok && l.Slot == e.slot
}
