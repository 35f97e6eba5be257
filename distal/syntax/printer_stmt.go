package syntax

// block prints a head that ends with an opening brace, and the statements up to the closing one.
func (p *printer) block(head doc, body []*Stmt, open, end Pos) {
	if len(body) == 0 && !p.commentBefore(end) {
		p.write(join(head, text(" }")))
		return
	}
	p.write(head)
	p.body(body, open, end)
	p.line("}")
}

func (p *printer) commentBefore(end Pos) bool {
	return p.next < len(p.comments) && p.comments[p.next].Pos.Before(end)
}

// body prints what stands between two braces; a comment behind the first one stays there.
func (p *printer) body(list []*Stmt, open, end Pos) {
	p.last = open.Line
	if len(list) > 0 && list[0].Pos.Line > open.Line {
		p.settle(Pos{open.Line, open.Col + len("{")})
	}
	p.indent++
	for _, s := range list {
		p.stmt(s)
	}
	p.flush(end)
	p.indent--
}

func (p *printer) stmt(s *Stmt) {
	switch s.Kind {
	case IfStmt:
		p.reach(s.Pos)
		p.ifChain(s)
		p.settle(s.End)
	case TryStmt:
		p.reach(s.Pos)
		p.try(s)
		p.settle(s.End)
	case ForStmt:
		p.reach(s.Pos)
		p.block(join(s.doc(), text(" {")), s.Body, s.Open, s.End)
		p.settle(s.End)
	default:
		p.item(s.Pos, s.End, s.doc())
	}
}

func (p *printer) ifChain(s *Stmt) {
	p.write(join(s.doc(), text(" {")))
	p.body(s.Body, s.Open, s.Close)
	for len(s.Else) == 1 && s.Else[0].Kind == IfStmt {
		s = s.Else[0]
		p.write(join(text("} else "), s.doc(), text(" {")))
		p.body(s.Body, s.Open, s.Close)
	}
	if len(s.Else) > 0 {
		p.line("} else {")
	}
	p.body(s.Else, s.ElseOpen, s.End) // or the comments of an else without statements
	p.line("}")
}

func (p *printer) try(s *Stmt) {
	p.line("try {")
	p.body(s.Body, s.Open, s.Close)
	end := join(text("} ensure "), nest(s.Expr.doc()))
	if len(s.Else) == 0 {
		p.write(end)
		return
	}
	p.write(join(end, text(" else {")))
	p.body(s.Else, s.ElseOpen, s.End)
	p.line("}")
}

// String writes a statement on one line; bodies of if and for are left out.
func (s *Stmt) String() string { return s.doc().flat() }

func (s *Stmt) doc() doc {
	switch s.Kind {
	case AssignStmt:
		return define(s.Name+" :=", s.Expr.doc())
	case LetStmt:
		return define("let "+s.Name+" =", s.Expr.doc())
	case SendStmt:
		return join(list("send "+s.Name+"(", tight, docs(s.Args), ") to "), nest(s.Expr.doc()))
	case OutputStmt:
		return define("output", s.Expr.doc())
	case CallStmt:
		return list(s.Name+"(", tight, docs(s.Args), ")")
	case AssertStmt:
		return define("assert "+s.Name+":", s.Expr.doc())
	case TryStmt:
		return then("try ensure ", nest(s.Expr.doc()))
	case IfStmt: // two tabs, to distinguish the condition from the statements below it
		return then("if ", nest(nest(s.Expr.doc())))
	}
	return then("for "+s.Name+" in ", nest(nest(s.Expr.doc())))
}
