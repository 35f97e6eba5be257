package check

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// shape checks what concerns the protocol as a whole: rounds and messages in use, rules that can fire, order of
// arrival.
func (c *checker) shape() {
	c.usage()
	for i, r := range c.prog.Rules {
		c.canFire(r, c.prog.heads[i])
	}
	used := []int{c.prog.Network}
	for _, t := range c.prog.Tests {
		if t.Network >= 0 {
			used = append(used, t.Network)
		}
	}
	for _, d := range c.prog.heads {
		for _, n := range used {
			if w := arrival(d, c.prog.Networks[n]); w != nil {
				c.diags = append(c.diags, *w)
				break
			}
		}
	}
}

// usage wants every round to carry a message and every message to be sent and received.
func (c *checker) usage() {
	sent := map[int]bool{}
	mark := func(body []core.Stmt) {
		c.prog.Reach(body, func(s core.Stmt) {
			if m, ok := s.(*core.Send); ok {
				sent[m.Message] = true
			}
		})
	}
	mark(c.prog.Init.Body)
	received, read := map[int]bool{}, map[int]bool{} // by rules on messages, by timeouts and by received
	look := func(e core.Expr) {
		if m, ok := e.(*core.Mail); ok {
			read[m.Message] = true
		}
	}
	for i, r := range c.prog.Rules {
		mark(r.Body.Body)
		received[r.Message()] = true
		if c.prog.heads[i].Rule.Var.Name != "" { // a timeout that does not name its messages does not look at them
			core.Walk(r.Enabling.Matching, look)
			core.Walk(r.Enabling.Bound, look)
		}
		core.Walk(r.Enabling.Test, look)
		c.prog.ReachExprs(r.Body.Body, look)
	}
	if c.prog.Lockstep {
		for i := range c.prog.Messages {
			sent[i], received[i] = true, true
		}
	}
	used := map[int]bool{}
	for i, m := range c.prog.Messages {
		used[m.Round] = true
		switch {
		case !sent[i] && received[i]:
			c.Errorf(m.Pos, "never fires", "message %s is never sent, so no rule on it can fire", m.Type.Name)
		case !sent[i]:
			c.warnf(m.Pos, "unused", "message %s is never sent", m.Type.Name)
		case !received[i] && !read[i]:
			c.warnf(m.Pos, "unused", "no rule receives message %s", m.Type.Name)
		}
	}
	for _, d := range c.prog.File.Decls {
		if d.Kind != syntax.RoundsDecl {
			continue
		}
		for i, id := range d.Names {
			if !used[i] {
				c.Errorf(id.Pos, "rounds", "round %s carries no message", id.Name)
			}
		}
	}
}

// canFire finds rules that an earlier rule always precedes.
func (c *checker) canFire(r *core.Rule, d *syntax.Decl) {
	h := d.Rule
	if h.Times != nil && h.Times.Count != nil && h.Times.Op == ">" && h.Times.Count.String() == "n" {
		c.Errorf(h.Times.Pos, "never fires", "%s can never fire: there are only n senders", h.Label())
	}
	for i, earlier := range c.prog.Rules[:r.Index] {
		e := c.prog.heads[i].Rule
		if e.Timeout != h.Timeout || earlier.Message() != r.Message() ||
			earlier.Round(c.prog.Program) != r.Round(c.prog.Program) {
			continue
		}
		if h.Timeout && h.Tag == nil {
			continue // every plain timeout is a clock of its own
		}
		if h.Tag != nil && h.Tag.Phase.String() != e.Tag.Phase.String() {
			continue
		}
		if covers(e, h) {
			c.Errorf(d.Pos, "never fires", "%s can never fire: the rule at %s is enabled whenever it is", h.Label(),
				c.prog.heads[i].Pos)
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

// ArrivalOrder is the check that warns of rules whose effect depends on the order in which messages arrive.
const ArrivalOrder = "arrival order"

// Arrival warns of the rules whose effect depends on the order in which messages arrive under one of the program's
// networks.
func (p *Program) Arrival(network int) (out syntax.Diagnostics) {
	for _, d := range p.heads {
		if w := arrival(d, p.Networks[network]); w != nil {
			out = append(out, *w)
		}
	}
	return out
}

// arrival warns of a rule whose effect depends on the order in which messages arrive, when the network promises more
// messages than the rule waits for. Under network any it does not matter: a smaller mailbox is a behavior of its own.
func arrival(d *syntax.Decl, n *core.Network) *syntax.Diagnostic {
	h := d.Rule
	var text string
	switch {
	case n.Name == "any" || n.Name == "own" || h.Timeout:
		return nil
	case h.Times == nil:
		if fixesSender(h.Guard, h.Var.Name) {
			return nil
		}
		text = "%s acts on the message that comes first, though network %s may deliver several; the sequential form " +
			"explores each"
	case h.Times.Op == "all":
		return nil
	case h.Times.Op == ">=" && n.Name == "atleast("+h.Times.Count.String()+")":
		return nil
	case n.Name == "reliable" && h.Times.Op == ">=" && h.Times.Count.String() == "n - 1":
		return nil
	default:
		text = "%s may act before all messages that network %s promises have come; the sequential form lets it wait for them"
	}
	return &syntax.Diagnostic{Pos: d.Pos, Severity: syntax.Warning, Check: ArrivalOrder,
		Text: fmt.Sprintf(text, h.Label(), n.Name)}
}

// fixesSender says whether the guard of a rule on one message demands a certain sender: one that does not depend on
// the message.
func fixesSender(g *syntax.Expr, message string) bool {
	if g == nil || g.Kind != syntax.BinaryExpr {
		return false
	}
	a, b := g.Args[0], g.Args[1]
	switch g.Name {
	case "and":
		return fixesSender(a, message) || fixesSender(b, message)
	case "or":
		return false // either side may admit another sender
	case "==":
		return isSender(a, message) && !mentions(b, message) || isSender(b, message) && !mentions(a, message)
	}
	return false
}

// isSender says whether an expression is `m.from`.
func isSender(e *syntax.Expr, message string) bool {
	return e.Kind == syntax.FieldExpr && e.Name == "from" && e.Args[0].Kind == syntax.NameExpr && e.Args[0].Name == message
}

func mentions(e *syntax.Expr, name string) bool {
	found := false
	syntax.Walk(e, func(x *syntax.Expr) { found = found || x.Kind == syntax.NameExpr && x.Name == name })
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
