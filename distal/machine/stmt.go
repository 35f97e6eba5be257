package machine

import (
	"slices"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

func (p *Program) stmts(list []*syntax.Stmt) code {
	codes := make([]code, len(list))
	for i, s := range list {
		codes[i] = p.stmt(s)
	}
	return func(f *frame) {
		for _, c := range codes {
			c(f)
		}
	}
}

func (p *Program) stmt(s *syntax.Stmt) code {
	slot := p.Checked.Info.Slots[s]
	switch s.Kind {
	case syntax.AssignStmt:
		x := p.expr(s.Expr)
		return func(f *frame) {
			f.afterSend(s.Pos, s.Name)
			f.state.Vars[slot] = x(f)
		}
	case syntax.LetStmt:
		x := p.expr(s.Expr)
		return func(f *frame) { f.slots[slot] = x(f) }
	case syntax.IfStmt:
		x, yes, no := p.expr(s.Expr), p.stmts(s.Body), p.stmts(s.Else)
		return func(f *frame) {
			if x(f).N != 0 {
				yes(f)
			} else {
				no(f)
			}
		}
	case syntax.ForStmt:
		x, body := p.expr(s.Expr), p.stmts(s.Body)
		return func(f *frame) {
			for _, v := range x(f).E {
				f.burn(s.Pos, 1)
				f.slots[slot] = v
				body(f)
			}
		}
	case syntax.SendStmt:
		return p.send(s)
	case syntax.OutputStmt:
		x := p.expr(s.Expr)
		return func(f *frame) {
			f.afterSend(s.Pos, "output")
			v := x(f)
			f.outputs = append(f.outputs, v)
		}
	}
	args := p.list(s.Args)
	return func(f *frame) {
		f.burn(s.Pos, 1)
		f.call(args(f), func() { p.actions[slot](f) })
	}
}

// afterSend watches condition 5: between a send and the next receive nothing changes.
func (f *frame) afterSend(pos syntax.Pos, what string) {
	if len(f.sends) > 0 {
		f.breach(pos, "condition 5", "%s changes after the action has sent", what)
	}
}

// send appends the message to what is pending. It watches condition 1 (the tag grows), condition 2 (the tag is the
// node's own phase) and that no receiver gets two messages of one round.
func (p *Program) send(s *syntax.Stmt) code {
	kind := p.Checked.Info.Slots[s]
	m := p.Checked.Messages[kind]
	args, to := p.list(s.Args), p.expr(s.Expr)
	single := p.Checked.Info.Types[s.Expr].Kind == check.Node
	return func(f *frame) {
		f.burn(s.Pos, 1)
		out := Send{Type: kind, Fields: args(f)}
		out.Tag = Tag{out.Fields[m.Phase].N, m.Round}
		if v := to(f); single {
			out.To = 1 << (v.N - 1)
		} else {
			for _, e := range v.E {
				out.To |= 1 << (e.N - 1)
			}
		}
		if out.To == 0 {
			return
		}
		p.watch(f, s, out)
		f.tag = out.Tag
		f.sends = append(f.sends, out)
		f.state.Pending = append(f.state.Pending, out)
		slices.SortStableFunc(f.state.Pending, func(a, b Send) int { return a.Tag.Compare(b.Tag) })
	}
}

func (p *Program) watch(f *frame, s *syntax.Stmt, out Send) {
	switch {
	case out.Tag.Before(f.tag), out.Tag == f.tag && len(f.sends) == 0:
		f.breach(s.Pos, "condition 1", "%s is sent in phase %d, round %s, but the node is in phase %d, round %s already",
			s.Name, out.Tag.Phase, p.round(out.Tag), f.tag.Phase, p.round(f.tag))
	case p.Checked.Phase >= 0 && f.state.Vars[p.Checked.Phase].N != out.Tag.Phase:
		f.breach(s.Pos, "condition 2", "%s is sent with phase %d while %s is %d", s.Name, out.Tag.Phase,
			p.Checked.Vars[p.Checked.Phase].Name, f.state.Vars[p.Checked.Phase].N)
	}
	for _, old := range f.state.Pending {
		if old.Tag == out.Tag && old.To&out.To != 0 {
			f.breach(s.Pos, "one message", "a second message of phase %d, round %s goes to the same receiver", out.Tag.Phase,
				p.round(out.Tag))
		}
	}
}
