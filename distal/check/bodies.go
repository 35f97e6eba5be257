package check

import (
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// place says where an expression or statement stands, which decides what it may use.
type place struct {
	state    bool // may read the local state and self
	choose   bool // may use choose
	mailbox  bool // may use received(M)
	nodes    bool // may read the state of any node (properties)
	selfOnly bool // a property on one output: state of self alone
	timely   bool // may use timely
	hear     bool // a network formula
	step     bool // a lock-step program
	send     bool // may send
	dot      *core.Type
}

// scope is the frame of one body: names in slots.
type scope struct {
	place place
	names []string
	typs  []*core.Type
	slots []int
	next  int
	max   int
}

func (s *scope) push(name string, t *core.Type) core.Binder {
	slot := s.next
	s.names, s.typs, s.slots = append(s.names, name), append(s.typs, t), append(s.slots, slot)
	s.next++
	s.max = max(s.max, s.next)
	return core.Binder{Slot: slot, Name: name}
}

func (s *scope) pop(to int) { s.names, s.typs, s.slots = s.names[:to], s.typs[:to], s.slots[:to] }

func (s *scope) find(name string) int {
	for i := len(s.names) - 1; i >= 0; i-- {
		if s.names[i] == name {
			return i
		}
	}
	return -1
}

// bind opens a name in the current scope and refuses to hide another one.
func (c *checker) bind(pos syntax.Pos, name string, t *core.Type) core.Binder {
	_, isVar := c.vars[name]
	unseen := isVar && !c.scope.place.state // functions and properties cannot read the local state, so nothing is hidden
	if old, ok := c.taken[name]; ok && !unseen {
		c.Errorf(pos, "names", "%s hides the name declared at %s", name, old)
	} else if c.scope.find(name) >= 0 {
		c.Errorf(pos, "names", "%s hides another local name", name)
	}
	return c.scope.push(name, t)
}

// within runs f in a fresh scope and notes how many slots it needs.
func (c *checker) within(p place, f func()) {
	old := c.scope
	c.scope = &scope{place: p}
	f()
	c.prog.Slots = max(c.prog.Slots, c.scope.max)
	c.scope = old
}

// bodies lowers everything that contains expressions.
func (c *checker) bodies(f *syntax.File) {
	for i, p := range f.Params {
		if i >= len(c.prog.Params) {
			break
		}
		// A default may use the parameters before it.
		c.within(place{}, func() { c.prog.Params[i].Default = c.Infer(p.Default, core.IntType) })
		core.Walk(c.prog.Params[i].Default, func(e core.Expr) {
			if r, ok := e.(*core.Param); ok && r.Index >= i {
				c.Errorf(e.At(), "names", "the default of %s uses %s, which comes later", p.Name, c.prog.Params[r.Index].Name)
			}
		})
	}
	c.declared(f, syntax.StateDecl, c.initials)
	c.declared(f, syntax.FunDecl, c.fun)
	c.declared(f, syntax.ActionDecl, func(d *syntax.Decl) {
		i, ok := c.actions[d.Name]
		if ok && c.prog.Actions[i].Pos == d.Pos {
			c.callable(c.prog.Actions[i], d.Body, place{state: true, choose: true, mailbox: true, send: !c.prog.Lockstep})
		}
	})
	c.noRecursion()
	c.declared(f, syntax.NetworkDecl, c.networkDecl)
	for _, d := range f.Decls {
		c.bodyDecl(d)
	}
	if c.prog.Init == nil {
		c.prog.Init = &core.Action{Name: "init"}
	}
	if c.prog.Network < 0 {
		c.prog.Network = c.namedNetwork(syntax.Pos{}, "any", nil)
	}
	c.declared(f, syntax.TestDecl, c.test)
}

// declared runs lower on the declarations of a kind.
func (c *checker) declared(f *syntax.File, kind syntax.DeclKind, lower func(*syntax.Decl)) {
	for _, d := range f.Decls {
		if d.Kind == kind {
			lower(d)
		}
	}
}

func (c *checker) initials(d *syntax.Decl) {
	for _, f := range d.Fields {
		i, ok := c.vars[f.Name]
		if !ok || c.prog.Vars[i].Pos != f.Pos {
			continue
		}
		v := &c.prog.Vars[i]
		if f.Value != nil {
			c.within(place{choose: true}, func() { v.Init = c.stored(f.Value, v.Type) })
			continue
		}
		switch v.Type.Kind {
		case core.Option, core.Seq, core.Set:
		case core.Bool, core.Int, core.Node, core.Enum, core.Record, core.Message:
			c.Errorf(v.Pos, "types", "variable %s needs an initial value: %s: %s = ...", v.Name, v.Name, v.Type)
		}
	}
}

func (c *checker) fun(d *syntax.Decl) {
	i, ok := c.funs[d.Name]
	if !ok || c.prog.Funs[i].Pos != d.Pos {
		return
	}
	fn := c.prog.Funs[i]
	c.within(place{}, func() {
		for _, p := range fn.Params {
			c.bind(fn.Pos, p.Name, p.Type)
		}
		fn.Body = c.stored(d.Expr, fn.Result)
	})
}

// callable lowers the body of an action.
func (c *checker) callable(a *core.Action, body []*syntax.Stmt, p place) {
	p.step = c.prog.Lockstep
	c.within(p, func() {
		for _, q := range a.Params {
			c.bind(a.Pos, q.Name, q.Type)
		}
		a.Body = c.stmts(body)
	})
}

func (c *checker) bodyDecl(d *syntax.Decl) {
	switch d.Kind {
	case syntax.InitDecl:
		if c.prog.Init != nil {
			c.Errorf(d.Pos, "names", "init is declared twice")
			return
		}
		c.prog.Init = &core.Action{Pos: d.Pos, Name: "init"}
		c.callable(c.prog.Init, d.Body, place{state: true, choose: true, send: !c.prog.Lockstep})
	case syntax.RuleDecl:
		if c.prog.Lockstep {
			c.Errorf(d.Pos, "rounds", "a lock-step program has rounds, not rules")
			return
		}
		c.rule(d)
	case syntax.RoundDecl:
		c.roundDecl(d)
	case syntax.PropertyDecl:
		c.property(d)
	case syntax.PhaseDecl:
		i, ok := c.vars[d.Name]
		if !ok {
			c.Errorf(d.Pos, "names", "phase variable %s is not in the state%s", d.Name, syntax.Suggest(d.Name, keys(c.vars)))
			return
		}
		if c.prog.Vars[i].Type.Kind != core.Int {
			c.Errorf(d.Pos, "types", "phase variable %s is %s; it must be int", d.Name, c.prog.Vars[i].Type)
			return
		}
		c.prog.Phase = i
	case syntax.TypeDecl, syntax.EnumDecl, syntax.RecordDecl, syntax.MessageDecl, syntax.RoundsDecl, syntax.StateDecl,
		syntax.OutputDecl, syntax.FunDecl, syntax.ActionDecl, syntax.NetworkDecl, syntax.TestDecl:
	}
}

// roundDecl lowers a round of a lock-step program.
func (c *checker) roundDecl(d *syntax.Decl) {
	if !c.prog.Lockstep {
		c.Errorf(d.Pos, "rounds", "only a lock-step program has rounds with blocks; begin it with lockstep protocol")
		return
	}
	i, ok := c.rounds[d.Name]
	if !ok {
		c.Errorf(d.Pos, "rounds", "round %s is not in the declared order%s", d.Name,
			syntax.Suggest(d.Name, c.prog.RoundNames()))
		return
	}
	r := &c.prog.Rounds[i]
	lower := func(body []*syntax.Stmt, p place) []core.Stmt {
		p.state, p.choose, p.step = true, true, true
		a := &core.Action{}
		c.callable(a, body, p)
		return a.Body
	}
	r.Send = lower(d.First, place{send: true})
	r.Update = lower(d.Body, place{mailbox: true})
}

func (c *checker) property(d *syntax.Decl) {
	if !c.claim(d.Pos, d.Name) {
		return
	}
	q := &core.Property{Pos: d.Pos, Name: d.Name, Bound: d.Output}
	if d.Output != "" {
		q.Moment = core.OnOutput
		if c.prog.Output < 0 {
			c.Errorf(d.Pos, "types", "property %s speaks of outputs, but the program declares no output type", d.Name)
			return
		}
	}
	c.within(place{nodes: true, selfOnly: d.Output != ""}, func() {
		if d.Output != "" {
			c.bind(d.Pos, d.Output, c.prog.OutputType())
		}
		q.X = c.Infer(d.Expr, core.BoolType)
	})
	core.Walk(q.X, func(e core.Expr) {
		if v, ok := e.(*core.NodeVar); ok && !slices.Contains(q.Vars, v.Index) {
			q.Vars = append(q.Vars, v.Index)
		}
	})
	q.Joint = q.Moment == core.OnStates && q.X != nil && joint(q.X)
	c.prog.Props = append(c.prog.Props, q)
}

// joint says whether a property of states may relate several nodes. It does not if it is `forall p in all: e` where e
// reads the state of p alone, or a conjunction of such.
func joint(x core.Expr) bool {
	switch x := x.(type) {
	case *core.Apply:
		if x.Op == core.And {
			return joint(x.Args[0]) || joint(x.Args[1])
		}
	case *core.Quant:
		if x.Kind != core.Forall || len(x.Slots) != 1 {
			return true
		}
		others := false
		core.Walk(x.Body, func(e core.Expr) {
			if v, ok := e.(*core.NodeVar); ok {
				l, ok := v.Node.(*core.Local)
				others = others || !ok || l.Slot != x.Slots[0].Slot
			}
		})
		return others
	}
	return true
}

func keys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
