package syntax

import "strings"

func (p *parser) decl() *Decl {
	t := p.tok()
	if t.kind != tokenName || !isDeclWord(t.text) {
		p.fail(t.pos, "expected a declaration (%s), found %s%s", strings.Join(declWords, ", "), t,
			Suggest(t.text, declWords))
	}
	p.at++
	d := &Decl{Pos: t.pos}
	switch t.text {
	case "type", "enum", "record", "message":
		p.typeLike(d, t.text)
	case "rounds":
		d.Kind = RoundsDecl
		d.Names = append(d.Names, p.name("a round"))
		for p.accept("<") {
			d.Names = append(d.Names, p.name("a round"))
		}
		if p.accept("from") {
			d.Expr = p.expr()
		}
	case "phase":
		d.Kind = PhaseDecl
		d.Name = p.name("the phase variable").Name
	case "state":
		d.Kind = StateDecl
		p.expect("{", "after state")
		d.Fields = p.fields("}", true)
	case "output":
		d.Kind = OutputDecl
		d.Type = p.typeExpr()
	case "fun", "action":
		p.callable(d, t.text)
	case "init":
		d.Kind = InitDecl
		d.Body, d.Open, _ = p.block()
	case "upon":
		p.rule(d)
	case "network":
		d.Kind = NetworkDecl
		d.Name = p.name("a network assumption").Name
		if p.accept("(") {
			d.Expr = p.expr()
			p.expect(")", "after the number of messages")
		} else if p.accept(":") {
			d.Formula = p.expr()
		}
	case "round":
		p.round(d)
	case "property":
		p.property(d)
	case "test":
		d.Kind = TestDecl
		d.Name = p.name("the test's name").Name
		d.Fields = p.settings()
	}
	d.End = p.lastEnd()
	return d
}

func (p *parser) typeLike(d *Decl, word string) {
	d.Name = p.name("a name").Name
	switch word {
	case "type":
		d.Kind = TypeDecl
		p.expect("=", "after the type's name")
		d.Type = p.typeExpr()
	case "enum":
		d.Kind = EnumDecl
		p.expect("{", "after the enum's name")
		for !p.is("}") {
			d.Names = append(d.Names, p.name("a value"))
			if !p.accept(",") {
				break
			}
		}
		p.expect("}", "after the values")
	case "record":
		d.Kind = RecordDecl
		p.expect("{", "after the record's name")
		d.Fields = p.fields("}", false)
	case "message":
		d.Kind = MessageDecl
		if p.accept("{") {
			d.Fields = p.fields("}", false)
		}
		for p.accept("tag") {
			d.Tags = append(d.Tags, p.tag())
		}
	}
}

func (p *parser) tag() *Tag {
	t := &Tag{Pos: p.tok().pos}
	p.expect("(", "and (phase, Round)")
	t.Phase = p.expr()
	p.expect(",", "between phase and round")
	t.Round = p.name("a round")
	p.expect(")", "after the round")
	return t
}

func (p *parser) callable(d *Decl, word string) {
	d.Name = p.name("a name").Name
	p.expect("(", "after "+d.Name)
	d.Fields = p.fields(")", false)
	if word == "action" {
		d.Kind = ActionDecl
		d.Body, d.Open, _ = p.block()
		return
	}
	d.Kind = FunDecl
	p.expect(":", "and the result's type")
	d.Type = p.typeExpr()
	p.expect("=", "and the function's value")
	d.Expr = p.expr()
}

func (p *parser) property(d *Decl) {
	d.Kind = PropertyDecl
	d.Name = p.name("the property's name").Name
	p.expect(":", "after the property's name")
	if p.is("on") && p.peek().text == "output" {
		p.at += 2
		d.Output = p.name("a name for the output").Name
		p.expect(":", "after "+d.Output)
	}
	d.Expr = p.expr()
}

func (p *parser) settings() []*Field {
	var out []*Field
	p.expect("{", "after the test's name")
	for !p.is("}") {
		id := p.name("a setting")
		p.expect("=", "after "+id.Name)
		f := &Field{Pos: id.Pos, Name: id.Name, Value: p.expr()}
		f.End = p.lastEnd()
		out = append(out, f)
		if !p.accept(",") {
			p.accept(";")
		}
	}
	p.expect("}", "after the settings")
	return out
}

// rule reads everything after upon.
func (p *parser) rule(d *Decl) {
	d.Kind = RuleDecl
	r := &Rule{}
	d.Rule = r
	if p.is("timeout") {
		p.at++
		r.Timeout = true
		if p.accept("in") {
			r.Tag = p.tag()
			if !p.is("with") && !p.is("do") {
				r.Var = p.name("a name for the messages received so far")
			}
		}
	} else {
		r.Message = p.name("a message type or 'timeout'")
		if !p.is("with") && !p.is("do") && !p.is("times") && !p.is("same") {
			r.Var = p.name("a name for the message")
		}
	}
	if p.accept("with") {
		r.Guard = p.expr()
	}
	if p.accept("same") {
		p.expect("(", "after same")
		for !p.is(")") {
			r.Same = append(r.Same, p.expr())
			if !p.accept(",") {
				break
			}
		}
		p.expect(")", "after the fields")
	}
	if p.is("times") {
		r.Times = p.times()
	}
	p.expect("do", "before the rule's action")
	d.Body, d.Open, _ = p.block()
}

func (p *parser) times() *Times {
	t := &Times{Pos: p.take().pos, Op: ">="}
	switch {
	case p.accept("all"):
		t.Op = "all"
		return t
	case p.is(">") || p.is(">="):
		t.Op = p.take().text
	}
	t.Count = p.sum()
	return t
}

func (p *parser) block() (list []*Stmt, open, end Pos) {
	defer p.deeper()()
	open = p.tok().pos
	p.expect("{", "before the statements")
	for !p.is("}") {
		if p.tok().kind == tokenEOF {
			p.fail(p.tok().pos, "expected '}' after the statements, found end of file")
		}
		if t := p.tok(); t.pos.Col == 1 && isDeclWord(t.text) && t.text != "output" {
			p.fail(t.pos, "expected '}' before the next declaration")
		}
		if p.accept(";") {
			continue
		}
		before := p.at
		p.recovering(func() { list = append(list, p.stmt()) }, p.skipToStmt)
		if len(p.errs) >= maxErrors {
			panic(bail{})
		}
		if p.at == before {
			p.at++
		}
	}
	end = p.tok().pos
	p.expect("}", "after the statements")
	return list, open, end
}

func (p *parser) stmt() *Stmt {
	t := p.tok()
	s := &Stmt{Pos: t.pos}
	switch t.text {
	case "let":
		p.at++
		s.Kind = LetStmt
		s.Name = p.name("a name").Name
		p.expect("=", "after let "+s.Name)
		s.Expr = p.expr()
	case "if":
		p.ifStmt(s)
	case "for":
		p.at++
		s.Kind = ForStmt
		s.Name = p.name("a name").Name
		p.expect("in", "after for "+s.Name)
		s.Expr = p.expr()
		s.Body, s.Open, s.Close = p.block()
	case "send":
		p.at++
		s.Kind = SendStmt
		s.Name = p.name("a message type").Name
		s.Args = p.args()
		p.expect("to", "and a receiver after the message")
		s.Expr = p.expr()
	case "output":
		p.at++
		s.Kind = OutputStmt
		s.Expr = p.expr()
	default:
		p.special(s)
	}
	s.End = p.lastEnd()
	return s
}

// special reads the statements of lock-step programs, whose words are not reserved, and those that begin with a name.
func (p *parser) special(s *Stmt) {
	switch next := p.peek(); {
	case p.is("assert") && next.kind == tokenName:
		p.at++
		s.Kind = AssertStmt
		s.Name = p.name("a name for the assertion").Name
		p.expect(":", "after assert "+s.Name)
		s.Expr = p.expr()
	case p.is("try") && next.text == "{":
		p.at++
		s.Kind = TryStmt
		s.Body, s.Open, s.Close = p.block()
		p.expect("ensure", "and a condition after what is tried")
		s.Expr = p.expr()
		if p.accept("else") {
			s.Else, s.ElseOpen, _ = p.block()
		}
	default:
		p.simple(s)
	}
}

// round reads a round of a lock-step program.
func (p *parser) round(d *Decl) {
	d.Kind = RoundDecl
	d.Name = p.name("a round").Name
	p.expect("{", "after the round's name")
	p.expect("send", "and what is sent in the round")
	d.First, d.Mid[0], d.Mid[1] = p.block()
	p.expect("deliver", "between send and update")
	p.expect("update", "after deliver")
	d.Body, d.Open, _ = p.block()
	p.expect("}", "after the round")
}

func (p *parser) ifStmt(s *Stmt) {
	defer p.deeper()()
	p.at++
	s.Kind = IfStmt
	s.Expr = p.expr()
	s.Body, s.Open, s.Close = p.block()
	if !p.accept("else") {
		return
	}
	if p.is("if") {
		inner := &Stmt{Pos: p.tok().pos}
		p.ifStmt(inner)
		inner.End = p.lastEnd()
		s.Else = []*Stmt{inner}
		return
	}
	s.Else, s.ElseOpen, _ = p.block()
}

func (p *parser) simple(s *Stmt) {
	id := p.name("a statement")
	s.Name = id.Name
	switch {
	case p.is("("):
		s.Kind = CallStmt
		s.Args = p.args()
	case p.is("="):
		p.fail(p.tok().pos, "assignment is written ':=', equality '=='")
	default:
		s.Kind = AssignStmt
		p.expect(":=", "after "+id.Name)
		s.Expr = p.expr()
	}
}

func (p *parser) args() []*Expr {
	p.expect("(", "before the arguments")
	var out []*Expr
	for !p.is(")") {
		out = append(out, p.expr())
		if !p.accept(",") {
			break
		}
	}
	p.expect(")", "after the arguments")
	return out
}
