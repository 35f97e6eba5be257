package check

import "github.com/lockstep-go/lockstep/distal/syntax"

// SendsInto says for each round whether a body may send into it, also through the actions it calls.
func (p *Program) SendsInto(body []*syntax.Stmt) []bool {
	out := make([]bool, len(p.Rounds))
	p.EachSend(body, func(s *syntax.Stmt) { out[p.Messages[p.Info.Slots[s]].Round] = true })
	return out
}

// EachSend visits every send statement of a body and of the actions it calls, each once.
func (p *Program) EachSend(body []*syntax.Stmt, visit func(*syntax.Stmt)) {
	p.eachStmt(body, func(s *syntax.Stmt) {
		if s.Kind == syntax.SendStmt {
			visit(s)
		}
	})
}

// eachStmt visits every statement of a body and of the actions it calls, each once.
func (p *Program) eachStmt(body []*syntax.Stmt, visit func(*syntax.Stmt)) {
	seen := map[int]bool{}
	var walk func([]*syntax.Stmt)
	walk = func(list []*syntax.Stmt) {
		syntax.WalkStmts(list, func(s *syntax.Stmt) {
			visit(s)
			if i := p.Info.Slots[s]; s.Kind == syntax.CallStmt && !seen[i] {
				seen[i] = true
				walk(p.Actions[i].Body)
			}
		})
	}
	walk(body)
}

// MostSends is the largest number of sends on any path through a body; false when there are too many paths or loops.
func (p *Program) MostSends(body []*syntax.Stmt) (int, bool) {
	most, loops := 0, false
	ok := p.explorePaths(body, p.symbolicStart(nil), func(e *symbolic) { most = max(most, len(e.sends)) })
	p.eachStmt(body, func(s *syntax.Stmt) { loops = loops || s.Kind == syntax.ForStmt })
	return most, ok && !loops
}

// After is the earliest round of the same phase in which a node can act after a rule: that of the message it sends, or
// the one after the rule's own on a path that sends nothing. It is -1 when every path sends into another phase.
func (p *Program) After(r *Rule) int {
	next := -1
	meet := func(round int) {
		if next < 0 || round < next {
			next = round
		}
	}
	ok := p.explorePaths(r.Decl.Body, p.symbolicStart(nil), func(e *symbolic) {
		if len(e.sends) == 0 {
			meet(r.Round + 1)
			return
		}
		// Conditions 1 and 2: the last send tells where the node is, and a round that is not later is one of a later phase.
		if last := e.sends[len(e.sends)-1]; last.round > r.Round {
			meet(last.round)
		}
	})
	if !ok {
		return r.Round + 1
	}
	return next
}

// ReadsMailbox says whether some rule uses received.
func (p *Program) ReadsMailbox() bool {
	//lockstep:unordered one is enough, whichever it is
	for _, r := range p.Info.Refs {
		if r == (Ref{RefBuiltin, BuiltinReceived}) {
			return true
		}
	}
	return false
}

// Chooses says whether a body, or an action it calls, uses choose.
func (p *Program) Chooses(body []*syntax.Stmt) bool {
	found := false
	p.eachStmt(body, func(s *syntax.Stmt) {
		s.Exprs(func(e *syntax.Expr) {
			syntax.Walk(e, func(x *syntax.Expr) {
				found = found || x.Kind == syntax.CallExpr && p.Info.Refs[x] == Ref{RefBuiltin, BuiltinChoose}
			})
		})
	})
	return found
}

// shape checks what concerns the protocol as a whole: rounds and messages in use, rules that can fire, order of arrival.
func (c *checker) shape() {
	c.usage()
	for _, r := range c.prog.Rules {
		c.canFire(r)
	}
	networks := []Network{c.prog.Network}
	for _, t := range c.prog.Tests {
		if t.Network != nil {
			networks = append(networks, *t.Network)
		}
	}
	for _, r := range c.prog.Rules {
		for _, n := range networks {
			if c.arrival(r, n) {
				break
			}
		}
	}
}

// usage wants every round to carry a message and every message to be sent and received.
func (c *checker) usage() {
	sent := map[int]bool{}
	mark := func(body []*syntax.Stmt) {
		c.prog.EachSend(body, func(s *syntax.Stmt) { sent[c.info.Slots[s]] = true })
	}
	mark(c.prog.Init.Body)
	received := map[int]bool{}
	for _, r := range c.prog.Rules {
		mark(r.Decl.Body)
		received[r.Message] = true
	}
	used := map[int]bool{}
	for i, m := range c.prog.Messages {
		used[m.Round] = true
		switch {
		case !sent[i] && received[i]:
			c.errorf(m.Pos, "never fires", "message %s is never sent, so no rule on it can fire", m.Type.Name)
		case !sent[i]:
			c.warnf(m.Pos, "unused", "message %s is never sent", m.Type.Name)
		case !received[i]:
			c.warnf(m.Pos, "unused", "no rule receives message %s", m.Type.Name)
		}
	}
	for _, d := range c.prog.File.Decls {
		if d.Kind != syntax.RoundsDecl {
			continue
		}
		for i, id := range d.Names {
			if !used[i] {
				c.errorf(id.Pos, "rounds", "round %s carries no message", id.Name)
			}
		}
	}
}

// canFire finds rules that an earlier rule always precedes.
func (c *checker) canFire(r *Rule) {
	h := r.Decl.Rule
	if h.Times != nil && h.Times.Count != nil && h.Times.Op == ">" && h.Times.Count.String() == "n" {
		c.errorf(h.Times.Pos, "never fires", "%s can never fire: there are only n senders", r.Label())
	}
	for _, earlier := range c.prog.Rules[:r.Index] {
		e := earlier.Decl.Rule
		if e.Timeout != h.Timeout || earlier.Message != r.Message || earlier.Round != r.Round {
			continue
		}
		if h.Tag != nil && h.Tag.Phase.String() != e.Tag.Phase.String() {
			continue
		}
		if covers(e, h) {
			c.errorf(r.Pos(), "never fires", "%s can never fire: the rule at %s is enabled whenever it is", r.Label(), earlier.Pos())
			return
		}
	}
}

// covers says whether a is certainly enabled whenever b is.
func covers(a, b *syntax.Rule) bool {
	weaker := a.Guard == nil || a.Guard.Name == "true" || b.Guard != nil && guardText(a) == guardText(b)
	if a.Times == nil {
		return weaker
	}
	return weaker && b.Times != nil && a.Times.String() == b.Times.String() && sameText(a) == sameText(b)
}

// arrival warns of a rule whose effect depends on the order in which messages arrive, when the network promises more
// messages than the rule waits for. Under network any it does not matter: a smaller mailbox is a behaviour of its own.
func (c *checker) arrival(r *Rule, n Network) bool {
	h := r.Decl.Rule
	if n.Kind == Any || h.Timeout {
		return false
	}
	switch {
	case h.Times == nil:
		if fixesSender(h.Guard) {
			return false
		}
		c.warnf(r.Pos(), "arrival order", "%s acts on the message that comes first, though network %s may deliver several; the sequential form tries each", r.Label(), n)
	case h.Times.Op == "all":
		return false
	case n.Kind == AtLeast && h.Times.Op == ">=" && h.Times.Count.String() == n.Count.String():
		return false
	case n.Kind == Reliable && h.Times.Op == ">=" && h.Times.Count.String() == "n - 1":
		return false
	default:
		c.warnf(r.Pos(), "arrival order", "%s may act before all messages that network %s promises have come; the sequential form lets it wait for them", r.Label(), n)
	}
	return true
}

// fixesSender says whether a guard demands a certain sender.
func fixesSender(g *syntax.Expr) bool {
	found := false
	syntax.Walk(g, func(x *syntax.Expr) {
		if x.Kind == syntax.BinaryExpr && x.Name == "==" && (x.Args[0].Name == "from" || x.Args[1].Name == "from") {
			found = true
		}
	})
	return found
}

// guardText writes a guard with the rule's own name replaced, so that equal guards of two rules read the same.
func guardText(r *syntax.Rule) string {
	copied := rename(r.Guard, r.Var.Name)
	return copied.String()
}

func rename(e *syntax.Expr, name string) *syntax.Expr {
	c := *e
	if c.Kind == syntax.NameExpr && c.Name == name {
		c.Name = "it"
	}
	c.Args = nil
	for _, a := range e.Args {
		c.Args = append(c.Args, rename(a, name))
	}
	return &c
}

func sameText(r *syntax.Rule) string {
	text := ""
	for _, s := range r.Same {
		text += s.String() + ","
	}
	return text
}
