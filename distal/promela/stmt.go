package promela

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// stmts writes statements in C.
func (g *generator) stmts(list []*syntax.Stmt, indent string) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(g.stmt(s, indent))
	}
	return b.String()
}

func (g *generator) stmt(s *syntax.Stmt, indent string) string {
	slot := g.prog.Info.Slots[s]
	switch s.Kind {
	case syntax.AssignStmt:
		return fmt.Sprintf("%ss->v_%s = %s;\n", indent, s.Name, g.expr(s.Expr))
	case syntax.LetStmt:
		return fmt.Sprintf("%s%s l%d = %s;\n", indent, g.ctype(g.typ(s.Expr)), slot, g.expr(s.Expr))
	case syntax.IfStmt:
		out := fmt.Sprintf("%sif (%s) {\n%s%s}", indent, g.expr(s.Expr), g.stmts(s.Body, indent+"\t"), indent)
		if len(s.Else) > 0 {
			out += fmt.Sprintf(" else {\n%s%s}", g.stmts(s.Else, indent+"\t"), indent)
		}
		return out + "\n"
	case syntax.ForStmt:
		return indent + g.each(s.Expr, fmt.Sprintf("l%d", slot), "\n"+g.stmts(s.Body, indent+"\t")+indent) + "\n"
	case syntax.SendStmt:
		return g.send(s, indent, slot)
	case syntax.OutputStmt:
		return fmt.Sprintf("%spublish(s, self, %s);\n", indent, g.expr(s.Expr))
	}
	args := "s, self"
	if len(s.Args) > 0 {
		args += ", " + g.args(s.Args)
	}
	return fmt.Sprintf("%sact_%s(%s);\n", indent, s.Name, args)
}

func (g *generator) send(s *syntax.Stmt, indent string, slot int) string {
	m := g.prog.Messages[slot]
	to := g.expr(s.Expr)
	if g.typ(s.Expr).Kind == check.Node {
		to = "1 << " + to
	}
	return fmt.Sprintf("%s{ %s m_ = {self, %s}; u16 to_ = %s; if (to_) { Pending *p_ = post(s, %d, m_.f_%s, %d, to_); if (p_) p_->u.%s = m_; } }\n",
		indent, g.ctype(m.Type), g.args(s.Args), to, slot+1, m.Type.Fields[m.Phase].Name, m.Round, s.Name)
}
