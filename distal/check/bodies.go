package check

import (
	"github.com/lockstep-go/lockstep/distal/syntax"
	"maps"
	"slices"
)

// place says where an expression stands, which decides what it may use.
type place struct {
	state    bool // may read the local state and self
	choose   bool // may use choose
	mailbox  bool // may use received(M)
	nodes    bool // may read the state of any node (properties)
	dot      *Type
	selfOnly bool // a property on one output: state of self alone
	timely   bool // may use timely
}

// scope is the frame of one body: names in slots.
type scope struct {
	place place
	names []string
	typs  []*Type
	slots []int
	next  int
	max   int
}

func (s *scope) push(name string, t *Type) int {
	slot := s.next
	s.names, s.typs, s.slots = append(s.names, name), append(s.typs, t), append(s.slots, slot)
	s.next++
	s.max = max(s.max, s.next)
	return slot
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
func (c *checker) bind(pos syntax.Pos, name string, t *Type) int {
	_, isVar := c.vars[name]
	unseen := isVar && !c.scope.place.state // functions and properties cannot read the local state, so nothing is hidden
	if old, ok := c.taken[name]; ok && !unseen {
		c.errorf(pos, "names", "%s hides the name declared at %s", name, old)
	} else if c.scope.find(name) >= 0 {
		c.errorf(pos, "names", "%s hides another local name", name)
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

// bodies checks everything that contains expressions.
func (c *checker) bodies(f *syntax.File) {
	for i, p := range f.Params {
		// A default may use the parameters before it.
		c.within(place{}, func() { c.infer(p.Default, intType) })
		syntax.Walk(p.Default, func(e *syntax.Expr) {
			if r := c.info.Refs[e]; e.Kind == syntax.NameExpr && r.Kind == RefParam && r.Index >= i {
				c.errorf(e.Pos, "names", "the default of %s uses %s, which comes later", p.Name, e.Name)
			}
		})
	}
	for i := range c.prog.Vars {
		c.initial(&c.prog.Vars[i])
	}
	for _, fn := range c.prog.Funs {
		c.within(place{}, func() {
			for _, p := range fn.Params {
				c.bind(fn.Pos, p.Name, p.Type)
			}
			c.infer(fn.Expr, fn.Result)
		})
	}
	for _, a := range c.prog.Actions {
		c.callable(a)
	}
	c.noRecursion()
	for _, d := range f.Decls {
		c.bodyDecl(d)
	}
	if c.prog.Init == nil {
		c.prog.Init = &Callable{Name: "init"}
	}
	for _, d := range f.Decls {
		if d.Kind == syntax.TestDecl {
			c.test(d)
		}
	}
}

func (c *checker) initial(v *Var) {
	if v.Init == nil {
		switch v.Type.Kind {
		case Option, Seq, Set:
		default:
			c.errorf(v.Pos, "types", "variable %s needs an initial value: %s: %s = ...", v.Name, v.Name, v.Type)
		}
		return
	}
	c.within(place{choose: true}, func() { c.infer(v.Init, v.Type) })
}

func (c *checker) callable(a *Callable) {
	c.within(place{state: true, choose: true, mailbox: true}, func() {
		for _, p := range a.Params {
			c.bind(a.Pos, p.Name, p.Type)
		}
		c.stmts(a.Body)
	})
}

func (c *checker) bodyDecl(d *syntax.Decl) {
	switch d.Kind {
	case syntax.InitDecl:
		if c.prog.Init != nil {
			c.errorf(d.Pos, "names", "init is declared twice")
			return
		}
		c.prog.Init = &Callable{Pos: d.Pos, Name: "init", Body: d.Body}
		c.callable(c.prog.Init)
	case syntax.RuleDecl:
		c.rule(d)
	case syntax.NetworkDecl:
		c.prog.Network = c.network(d.Pos, d.Name, d.Expr)
	case syntax.PropertyDecl:
		c.property(d)
	case syntax.PhaseDecl:
		i, ok := c.vars[d.Name]
		if !ok {
			c.errorf(d.Pos, "names", "phase variable %s is not in the state%s", d.Name, syntax.Suggest(d.Name, keys(c.vars)))
			return
		}
		c.prog.Phase = i
	}
}

func (c *checker) rule(d *syntax.Decl) {
	h := d.Rule
	r := &Rule{Decl: d, Index: len(c.prog.Rules), Message: -1, Round: -1}
	bound := intType
	if h.Timeout {
		if h.Tag != nil {
			c.within(place{state: true}, func() { c.infer(h.Tag.Phase, intType) })
			r.Round = c.round(h.Tag.Round)
			bound = c.roundMessage(h.Tag.Round, r.Round, h.Var.Name != "")
		}
	} else {
		i, ok := c.msgs[h.Message.Name]
		if !ok {
			c.errorf(h.Message.Pos, "names", "unknown message %s%s", h.Message.Name,
				syntax.Suggest(h.Message.Name, append(keys(c.msgs), "timeout")))
			return
		}
		r.Message, r.Round = i, c.prog.Messages[i].Round
		bound = c.prog.Messages[i].Type
	}
	p := place{state: true, mailbox: !h.Timeout}
	if h.Times != nil {
		p.dot = bound
	}
	if h.Timeout && (h.Times != nil || h.Same != nil) {
		c.errorf(d.Pos, "types", "a timeout counts no messages: times and same need a message rule")
	}
	c.within(p, func() { c.ruleBody(h, d, bound) })
	r.Body = &Callable{Pos: d.Pos, Name: h.Label(), Body: d.Body}
	c.prog.Rules = append(c.prog.Rules, r)
}

// roundMessage is the type of what a timeout in a round sees: the messages of that round, if it carries one type.
func (c *checker) roundMessage(id syntax.Ident, round int, used bool) *Type {
	var found *Type
	for _, m := range c.prog.Messages {
		if m.Round != round || m.Type == nil {
			continue
		}
		if found != nil && used {
			c.errorf(id.Pos, "types", "round %s carries several message types, so a timeout in it cannot bind its messages", id.Name)
			return intType
		}
		found = m.Type
	}
	if found == nil {
		return intType
	}
	return found
}

func (c *checker) ruleBody(h *syntax.Rule, d *syntax.Decl, bound *Type) {
	many := h.Times != nil || h.Timeout
	name, pos := h.Var.Name, h.Var.Pos
	if name == "" {
		name, pos = "$m", d.Pos
	}
	t := bound
	if many {
		t = &Type{Kind: Set, Elem: bound}
	}
	if h.Timeout && h.Tag == nil {
		name = "$m"
	}
	c.bind(pos, name, t)
	c.scope.push("$dot", bound)
	if h.Guard != nil {
		if many && !h.Timeout {
			// The guard selects messages one by one; the set does not exist yet.
			c.scope.names[0] = "$m"
		}
		c.scope.place.timely = !h.Timeout
		c.infer(h.Guard, boolType)
		c.scope.place.timely = false
		c.scope.names[0] = name
	}
	for _, s := range h.Same {
		if s.Kind != syntax.DotExpr {
			c.errorf(s.Pos, "types", "same takes fields of the message, as in same (.ballot)")
			continue
		}
		c.infer(s, nil)
	}
	if h.Same != nil && h.Times == nil {
		c.errorf(d.Pos, "types", "same needs times")
	}
	if h.Times != nil && h.Times.Count != nil {
		c.infer(h.Times.Count, intType)
	}
	c.scope.place.choose = true
	c.scope.place.dot = nil
	c.stmts(d.Body)
}

func (c *checker) network(pos syntax.Pos, name string, count *syntax.Expr) Network {
	kind, ok := networkNames[name]
	if !ok {
		c.errorf(pos, "names", "unknown network %s%s; known are any, reliable, atleast(k) and kernel", name,
			syntax.Suggest(name, keys(networkNames)))
	}
	if (kind == AtLeast) != (count != nil) {
		c.errorf(pos, "types", "network atleast, and only it, takes a number: network atleast(n - f)")
		return Network{}
	}
	if count != nil {
		c.within(place{}, func() { c.infer(count, intType) })
	}
	return Network{kind, count}
}

func (c *checker) property(d *syntax.Decl) {
	if !c.claim(d.Pos, d.Name) {
		return
	}
	q := &Property{Pos: d.Pos, Name: d.Name, OnOutput: d.Output != "", Expr: d.Expr}
	if q.OnOutput && c.prog.Output == nil {
		c.errorf(d.Pos, "types", "property %s speaks of outputs, but the program declares no output type", d.Name)
		return
	}
	c.within(place{nodes: true, selfOnly: q.OnOutput}, func() {
		if q.OnOutput {
			c.bind(d.Pos, d.Output, c.prog.Output)
		}
		c.infer(d.Expr, boolType)
	})
	seen := map[int]bool{}
	syntax.Walk(d.Expr, func(e *syntax.Expr) {
		switch r := c.info.Refs[e]; {
		case e.Kind == syntax.FieldExpr && r.Kind == RefNodeVar && !seen[r.Index]:
			seen[r.Index] = true
			q.Vars = append(q.Vars, r.Index)
		case e.Kind == syntax.FieldExpr && r.Kind == RefNodeOutput:
			q.Outputs = true
		}
	})
	c.prog.Props = append(c.prog.Props, q)
}

func keys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
