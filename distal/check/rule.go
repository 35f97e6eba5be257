package check

import (
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// rule lowers an upon rule: when it is enabled, and what it does.
func (c *checker) rule(d *syntax.Decl) {
	h := d.Rule
	r := &core.Rule{Index: len(c.prog.Rules), Timely: demandsTimely(h.Guard)}
	var bound *core.Type
	ok := false
	if h.Timeout {
		bound, ok = c.timeout(d, r)
	} else {
		bound, ok = c.onMessages(d, r)
	}
	r.Body = &core.Action{Pos: d.Pos, Name: h.Label(), Rule: r}
	c.within(place{state: true, choose: true, mailbox: !h.Timeout, send: true}, func() {
		if bound != nil {
			name := h.Var.Name
			if name == "" {
				c.scope.push("$m", bound)
			} else {
				c.bind(h.Var.Pos, name, bound)
			}
			r.Body.Params = []core.Field{{Name: name, Type: bound}}
		}
		r.Body.Body = c.stmts(d.Body)
	})
	if !ok {
		return // the body has been checked all the same
	}
	c.prog.Rules = append(c.prog.Rules, r)
	c.prog.heads = append(c.prog.heads, d)
}

// timeout lowers the head of a timeout; the result is the type of what it binds, nil for nothing.
func (c *checker) timeout(d *syntax.Decl, r *core.Rule) (*core.Type, bool) {
	h := d.Rule
	if h.Times != nil || h.Same != nil {
		c.Errorf(d.Pos, "types", "a timeout counts no messages: times and same need a message rule")
		return nil, false
	}
	if h.Tag == nil {
		r.Trigger = core.OnTimeout{}
		c.within(place{state: true}, func() { r.Enabling.Test = c.guard(d) })
		r.Enabling.Guard = r.Enabling.Test
		return nil, r.Enabling.Test != nil
	}
	var bound *core.Type
	t := core.OnRoundTimeout{Round: c.round(h.Tag.Round)}
	c.within(place{state: true}, func() { t.Phase = c.Infer(h.Tag.Phase, core.IntType) })
	r.Trigger = t
	m, several := c.roundMessage(t.Round)
	if several && h.Var.Name != "" {
		c.Errorf(h.Tag.Round.Pos, "types",
			"round %s carries several message types, so a timeout in it cannot bind its messages", h.Tag.Round.Name)
		return nil, false
	}
	c.within(place{state: true}, func() {
		if m >= 0 && !several {
			bound = core.SetOf(c.prog.Messages[m].Type)
			at := core.Info{Pos: d.Pos, Type: bound}
			r.Enabling.Matching = &core.Mail{Info: at, Message: m}
			r.Enabling.Bound = &core.Local{Info: at}
			c.scope.push("$m", bound)
			c.scope.names[0] = h.Var.Name
		}
		r.Enabling.Test = c.guard(d)
	})
	r.Enabling.Guard = r.Enabling.Test
	return bound, r.Enabling.Test != nil && t.Phase != nil
}

// guard lowers a guard; none is true.
func (c *checker) guard(d *syntax.Decl) core.Expr {
	if d.Rule.Guard == nil {
		return yes(d.Pos)
	}
	return c.Infer(d.Rule.Guard, core.BoolType)
}

func yes(pos syntax.Pos) core.Expr {
	return &core.Const{Info: core.Info{Pos: pos, Type: core.BoolType}, Value: core.Truth(true)}
}

// roundMessage finds the message of a round; several says that there is more than one.
func (c *checker) roundMessage(round int) (message int, several bool) {
	message = -1
	for i, m := range c.prog.Messages {
		if m.Round == round {
			several = message >= 0
			message = i
		}
	}
	return message, several
}

// onMessages lowers the head of a rule on messages; the result is the type of what it binds.
func (c *checker) onMessages(d *syntax.Decl, r *core.Rule) (*core.Type, bool) {
	h := d.Rule
	i, ok := c.msgs[h.Message.Name]
	if !ok {
		c.Errorf(h.Message.Pos, "names", "unknown message %s%s", h.Message.Name,
			syntax.Suggest(h.Message.Name, append(keys(c.msgs), "timeout")))
		return nil, false
	}
	m := c.prog.Messages[i].Type
	many := core.Info{Pos: d.Pos, Type: core.SetOf(m)}
	b := enabler{pos: d.Pos, message: m, many: many}
	p := place{state: true, mailbox: true, timely: true}
	if h.Times != nil {
		p.dot = m
	}
	var guard core.Expr
	c.within(p, func() {
		c.scope.push("$matching", many.Type)
		if name := h.Var.Name; name != "" && h.Times == nil {
			c.bind(h.Var.Pos, name, m)
		} else {
			c.scope.push("$m", m)
		}
		guard = c.guard(d)
		for _, s := range h.Same {
			if s.Kind != syntax.DotExpr {
				c.Errorf(s.Pos, "types", "same takes fields of the message, as in same (.ballot)")
				continue
			}
			if x := c.Infer(s, nil); x != nil {
				b.same = append(b.same, x)
			}
		}
	})
	if h.Same != nil && h.Times == nil {
		c.Errorf(d.Pos, "types", "same needs times")
	}
	bound := m
	if h.Times != nil {
		bound = many.Type
	}
	if guard == nil {
		return bound, false
	}
	one := b.local(1)
	r.Enabling.Matching = &core.Build{Info: many, Slot: core.Binder{Slot: 1, Name: "m"},
		Set:  &core.Mail{Info: many, Message: i},
		Cond: guard, Elem: one}
	r.Enabling.Guard = guard
	c.prog.Slots = max(c.prog.Slots, 4)
	if h.Times == nil {
		r.Trigger = core.OnMessage{Message: i}
		r.Enabling.Test, r.Enabling.Options, r.Enabling.Bound = b.some(b.local(0)), b.local(0), one
		return m, true
	}
	r.Trigger = core.OnQuorum{Message: i}
	b.op = core.Ge
	if h.Times.Op == ">" {
		b.op = core.Gt
	}
	b.count = &core.Param{Info: core.Info{Pos: h.Times.Pos, Type: core.IntType}}
	if h.Times.Count != nil {
		// The count is about no message in particular: it cannot use the fields of one.
		c.within(place{state: true}, func() { b.count = c.Infer(h.Times.Count, core.IntType) })
	}
	if b.count == nil || len(b.same) != len(h.Same) {
		return bound, false
	}
	b.quorum(&r.Enabling)
	return bound, true
}

// enabler builds the expressions that say when a rule with times is enabled.
type enabler struct {
	pos     syntax.Pos
	message *core.Type
	many    core.Info
	same    []core.Expr // over the message in slot 1
	op      core.Op
	count   core.Expr
}

func (e enabler) local(slot int) core.Expr {
	if slot == 0 {
		return &core.Local{Info: e.many}
	}
	return &core.Local{Info: core.Info{Pos: e.pos, Type: e.message}, Slot: slot}
}

func (e enabler) apply(op core.Op, t *core.Type, args ...core.Expr) core.Expr {
	return &core.Apply{Info: core.Info{Pos: e.pos, Type: t}, Op: op, Args: args}
}

// some says that a set of messages is not empty.
func (e enabler) some(set core.Expr) core.Expr {
	return e.apply(core.Ne, core.BoolType, set, &core.Const{Info: e.many})
}

func (e enabler) enough(set core.Expr) core.Expr {
	// Senders are counted, not messages.
	one := &core.Local{Info: core.Info{Pos: e.pos, Type: e.message}, Slot: 3}
	senders := &core.Build{Info: core.Info{Pos: e.pos, Type: core.NodeSet}, Slot: core.Binder{Slot: 3, Name: "m"},
		Set:  set,
		Elem: e.apply(core.From, core.NodeType, one)}
	return e.apply(e.op, core.BoolType, e.apply(core.Len, core.IntType, senders), e.count)
}

// group is the set of matching messages that agree with the one in slot 1.
func (e enabler) group() core.Expr {
	var agree core.Expr
	for _, s := range e.same {
		equal := e.apply(core.Eq, core.BoolType, moved(s), s)
		if agree == nil {
			agree = equal
		} else {
			agree = e.apply(core.And, core.BoolType, agree, equal)
		}
	}
	return &core.Build{Info: e.many, Slot: core.Binder{Slot: 2, Name: "other"}, Set: e.local(0), Cond: agree,
		Elem: e.local(2)}
}

// moved is a field of the message in slot 2 instead of that in slot 1.
func moved(s core.Expr) core.Expr {
	switch s := s.(type) {
	case *core.Get:
		return &core.Get{Info: s.Info, X: moved(s.X), Index: s.Index}
	case *core.Apply:
		return &core.Apply{Info: s.Info, Op: s.Op, Args: []core.Expr{moved(s.Args[0])}}
	case *core.Local:
		return &core.Local{Info: s.Info, Slot: 2}
	}
	panic("check: same of something that is not a field")
}

// quorum: without same all matching messages are one group. With it every message stands for its group if it is the
// first of it.
func (e enabler) quorum(out *core.Enabling) {
	if len(e.same) == 0 {
		out.Test = e.apply(core.And, core.BoolType, e.some(e.local(0)), e.enough(e.local(0)))
		out.Bound = e.local(0)
		return
	}
	slot := core.Binder{Slot: 1, Name: "one"}
	out.Test = &core.Quant{Info: core.Info{Pos: e.pos, Type: core.BoolType}, Kind: core.Exists, Slots: []core.Binder{slot},
		Set: e.local(0), Body: e.enough(e.group())}
	first := e.apply(core.Eq, core.BoolType, e.apply(core.From, core.NodeType, e.local(1)),
		e.apply(core.From, core.NodeType, e.apply(core.First, e.message, e.group())))
	out.Options = &core.Build{Info: e.many, Slot: slot, Set: e.local(0), Elem: e.local(1),
		Cond: e.apply(core.And, core.BoolType, e.enough(e.group()), first)}
	out.Bound = e.group()
}

// demandsTimely says whether a guard holds only for timely messages.
func demandsTimely(g *syntax.Expr) bool {
	switch {
	case g == nil:
		return false
	case g.Kind == syntax.BinaryExpr && g.Name == "and":
		return demandsTimely(g.Args[0]) || demandsTimely(g.Args[1])
	}
	return g.Kind == syntax.NameExpr && g.Name == "timely"
}
