package promela

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal/core"
)

// stmts writes statements in C. What follows a let has a block of its own, because a slot may be bound again, with
// another type.
func (g *generator) stmts(list []core.Stmt, indent string) string {
	var b strings.Builder
	for i, s := range list {
		if _, let := s.(*core.Let); let {
			fmt.Fprintf(&b, "%s{\n%s%s%s}\n", indent, g.stmt(s, indent), g.stmts(list[i+1:], indent), indent)
			break
		}
		b.WriteString(g.stmt(s, indent))
	}
	return b.String()
}

func (g *generator) stmt(s core.Stmt, indent string) string {
	in := indent + "\t"
	switch s := s.(type) {
	case *core.Assign:
		return fmt.Sprintf("%ss->v%d = %s;\n", indent, s.Var, g.expr(s.X))
	case *core.Let:
		return fmt.Sprintf("%s%s %s = %s; (void)%s;\n", indent, g.ctype(s.X.Of()), slot(s.Slot.Slot), g.expr(s.X),
			slot(s.Slot.Slot))
	case *core.Branch:
		out := fmt.Sprintf("%sif (%s) {\n%s%s}", indent, g.expr(s.Cond), g.stmts(s.Then, in), indent)
		if len(s.Else) > 0 {
			out += fmt.Sprintf(" else {\n%s%s}", g.stmts(s.Else, in), indent)
		}
		return out + "\n"
	case *core.For:
		return indent + g.each(s.X, slot(s.Slot.Slot), "\n"+g.stmts(s.Body, in)+indent) + "\n"
	case *core.Send:
		return g.send(s, indent)
	case *core.Output:
		return fmt.Sprintf("%spublish(s, self, %s);\n", indent, g.expr(s.X))
	case *core.Do:
		args := "s, self"
		if len(s.Args) > 0 {
			args += ", " + g.args(s.Args)
		}
		return fmt.Sprintf("%sact_%d(%s);\n", indent, s.Action, args)
	case *core.Assert:
		return fmt.Sprintf("%sif (!%s) broken = 1; /* %s %+q */\n", indent, g.expr(s.X), s.Condition, s.Name)
	case *core.Try:
		return fmt.Sprintf("%s{ Local keep_ = *s; Out out_keep_[NODES_ + 1]; int b_ = broken; memcpy(out_keep_, out_, sizeof out_keep_);\n%s%sif (!%s) { *s = keep_; broken = b_; memcpy(out_, out_keep_, sizeof out_keep_);\n%s%s} }\n",
			indent, g.stmts(s.Body, in), in, g.expr(s.Ensure), g.stmts(s.Else, in), indent)
	}
	panic(fmt.Sprintf("promela: no C for %T", s))
}

// send hands a message over: it goes into the out-box of the node, by receiver.
func (g *generator) send(s *core.Send, indent string) string {
	m := g.prog.Messages[s.Message]
	args := "self"
	if len(s.Args) > 0 {
		args += ", " + g.args(s.Args)
	}
	return fmt.Sprintf("%s{ %s m_ = make_%s(%s); nodes to_ = %s; int i_; for (i_ = 1; i_ <= NODES_; i_++) if ((to_ >> i_) & 1) { out_[i_].kind = %d; out_[i_].u.m%d = m_; } }\n",
		indent, g.name(m.Type), g.name(m.Type), args, g.expr(s.To), s.Message+1, s.Message)
}
