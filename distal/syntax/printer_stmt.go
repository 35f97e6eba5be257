package syntax

import "strings"

func (p *printer) block(open string, body []*Stmt, pos, end Pos) {
	if len(body) == 0 && !p.commentWithin(pos, end) {
		p.line(open + "{ }")
		return
	}
	p.line(open + "{")
	p.last = pos.Line
	if len(body) > 0 && body[0].Pos.Line > pos.Line {
		p.settle(pos.Line)
	}
	p.indent++
	p.stmts(body)
	p.flush(end)
	p.indent--
	p.line("}")
}

func (p *printer) commentWithin(pos, end Pos) bool {
	return p.next < len(p.comments) && pos.Before(p.comments[p.next].Pos) && p.comments[p.next].Pos.Before(end)
}

func (p *printer) stmts(list []*Stmt) {
	for _, s := range list {
		p.stmt(s)
	}
}

func (p *printer) stmt(s *Stmt) {
	switch s.Kind {
	case IfStmt:
		p.flush(s.Pos)
		p.ifChain(s)
		p.settle(s.End.Line)
	case ForStmt:
		p.flush(s.Pos)
		p.block("for "+s.Name+" in "+s.Expr.String()+" ", s.Body, s.Pos, s.End)
		p.settle(s.End.Line)
	default:
		p.item(s.Pos, s.End, s.String())
	}
}

func (p *printer) ifChain(s *Stmt) {
	p.line("if " + s.Expr.String() + " {")
	for {
		p.last = s.Pos.Line
		p.indent++
		p.stmts(s.Body)
		p.indent--
		if len(s.Else) == 0 {
			p.closing(s.End)
			return
		}
		if len(s.Else) == 1 && s.Else[0].Kind == IfStmt {
			s = s.Else[0]
			p.line("} else if " + s.Expr.String() + " {")
			continue
		}
		p.line("} else {")
		p.last = s.Else[0].Pos.Line
		p.indent++
		p.stmts(s.Else)
		p.indent--
		p.closing(s.End)
		return
	}
}

func (p *printer) closing(end Pos) {
	p.indent++
	p.flush(end)
	p.indent--
	p.line("}")
}

// String writes a statement on one line; bodies of if and for are left out.
func (s *Stmt) String() string {
	switch s.Kind {
	case AssignStmt:
		return s.Name + " := " + s.Expr.String()
	case LetStmt:
		return "let " + s.Name + " = " + s.Expr.String()
	case SendStmt:
		return "send " + s.Name + "(" + joinExprs(s.Args) + ") to " + s.Expr.String()
	case OutputStmt:
		return "output " + s.Expr.String()
	case CallStmt:
		return s.Name + "(" + joinExprs(s.Args) + ")"
	case IfStmt:
		return "if " + s.Expr.String()
	}
	return "for " + s.Name + " in " + s.Expr.String()
}

func joinExprs(list []*Expr) string {
	var parts []string
	for _, e := range list {
		parts = append(parts, e.String())
	}
	return strings.Join(parts, ", ")
}

// FormatStmts writes statements without comments, indented by the given number of tabs.
func FormatStmts(list []*Stmt, indent int) string {
	p := &printer{indent: indent}
	for _, s := range list {
		p.plain(s)
	}
	return p.out.String()
}

// plain prints a statement regardless of where it stood in the source.
func (p *printer) plain(s *Stmt) {
	if s.Kind != IfStmt && s.Kind != ForStmt {
		p.line(s.String())
		return
	}
	p.line(s.String() + " {")
	p.nested(s.Body)
	for len(s.Else) == 1 && s.Else[0].Kind == IfStmt {
		s = s.Else[0]
		p.line("} else " + s.String() + " {")
		p.nested(s.Body)
	}
	if len(s.Else) > 0 {
		p.line("} else {")
		p.nested(s.Else)
	}
	p.line("}")
}

func (p *printer) nested(list []*Stmt) {
	p.indent++
	for _, s := range list {
		p.plain(s)
	}
	p.indent--
}
