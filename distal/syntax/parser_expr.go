package syntax

import "slices"

// binaryLevels lists the operators from the weakest to the strongest; all associate to the left but implies.
var binaryLevels = [][]string{
	{"implies"},
	{"or"},
	{"and"},
	{"==", "!=", "<", "<=", ">", ">=", "in", "prefix"},
	{".."},
	{"+", "-"},
	{"*", "/", "%"},
}

// Indexes into binaryLevels that the rest of the package needs by name.
const (
	levelImplies = 0
	levelCompare = 3
	levelSum     = 5
)

// levelUnary is the strength of unary minus; everything stronger is levelPrimary.
var (
	levelUnary   = len(binaryLevels)
	levelPrimary = levelUnary + 1
)

// binaryLevel is the strength of an operator, or -1 for any other word.
func binaryLevel(op string) int {
	return slices.IndexFunc(binaryLevels, func(ops []string) bool { return slices.Contains(ops, op) })
}

func (p *parser) expr() *Expr { return p.binary(0) }

// sum is an expression that stops before comparisons, as in `times > n / 2`.
func (p *parser) sum() *Expr { return p.binary(levelSum) }

// binary reads operands joined by operators that are at least as strong as weakest.
func (p *parser) binary(weakest int) *Expr {
	defer p.deeper()()
	left := p.operand(weakest)
	for last := levelUnary; ; {
		t := p.tok()
		level := binaryLevel(t.text)
		if level < weakest {
			return left
		}
		if level == levelCompare && last == levelCompare {
			p.fail(t.pos, "comparisons do not chain; join them with 'and'")
		}
		p.at++
		right := level + 1
		if level == levelImplies {
			right = levelImplies
		}
		left = p.node(&Expr{Pos: t.pos, Kind: BinaryExpr, Name: t.text, Args: []*Expr{left, p.binary(right)}})
		last = level
	}
}

// operand reads what stands before the first operator; not is as weak as a comparison.
func (p *parser) operand(weakest int) *Expr {
	if weakest > levelCompare || !p.is("not") {
		return p.unary()
	}
	t := p.take()
	return p.node(&Expr{Pos: t.pos, Kind: UnaryExpr, Name: "not", Args: []*Expr{p.binary(levelCompare)}})
}

func (p *parser) unary() *Expr {
	if p.is("-") {
		defer p.deeper()()
		t := p.take()
		return p.node(&Expr{Pos: t.pos, Kind: UnaryExpr, Name: "-", Args: []*Expr{p.unary()}})
	}
	e := p.primary()
	for {
		switch {
		case p.is("."):
			p.at++
			id := p.fieldName()
			e = p.node(&Expr{Pos: id.Pos, Kind: FieldExpr, Name: id.Name, Args: []*Expr{e}})
		case p.is("[") && !p.startsLine():
			t := p.take()
			index := p.expr()
			p.expect("]", "after the index")
			e = p.node(&Expr{Pos: t.pos, Kind: IndexExpr, Args: []*Expr{e, index}})
		default:
			return e
		}
	}
}

// fieldName allows the word output, which is reserved elsewhere, because nodes have it as a field.
func (p *parser) fieldName() Ident {
	if t := p.tok(); t.text == "output" {
		p.at++
		return Ident{t.pos, t.text}
	}
	return p.name("a field")
}

func (p *parser) primary() *Expr {
	t := p.tok()
	switch {
	case t.kind == tokenInt:
		p.at++
		return p.node(&Expr{Pos: t.pos, Kind: IntExpr, Int: t.num})
	case t.text == "(":
		p.at++
		e := p.expr()
		p.expect(")", "after the expression")
		return e
	case t.text == ".":
		p.at++
		id := p.fieldName()
		return p.node(&Expr{Pos: t.pos, Kind: DotExpr, Name: id.Name})
	case t.text == "[":
		p.at++
		return p.node(&Expr{Pos: t.pos, Kind: SeqExpr, Args: p.list("]")})
	case t.text == "{":
		p.at++
		return p.braces(t.pos)
	case t.kind != tokenName:
		p.fail(t.pos, "expected an expression, found %s", t)
	}
	return p.word(t)
}

func (p *parser) list(close string) []*Expr {
	var out []*Expr
	for !p.is(close) {
		out = append(out, p.expr())
		if !p.accept(",") {
			break
		}
	}
	p.expect(close, "after the elements")
	return out
}

// braces reads {a, b} or {e for x in S if c} after the opening brace.
func (p *parser) braces(pos Pos) *Expr {
	if p.accept("}") {
		return p.node(&Expr{Pos: pos, Kind: SetExpr})
	}
	first := p.expr()
	if p.accept("for") {
		e := &Expr{Pos: pos, Kind: BuildExpr, Vars: []Ident{p.name("a name")}}
		p.expect("in", "after the name")
		e.Args = []*Expr{first, p.expr()}
		if p.accept("if") {
			e.Args = append(e.Args, p.expr())
		}
		p.expect("}", "after the set")
		return p.node(e)
	}
	e := &Expr{Pos: pos, Kind: SetExpr, Args: []*Expr{first}}
	if p.accept(",") {
		e.Args = append(e.Args, p.list("}")...)
		return p.node(e)
	}
	p.expect("}", "after the elements")
	return p.node(e)
}

func (p *parser) word(t token) *Expr {
	switch t.text {
	case "true", "false", "none", "self", "all", "others", "timely":
		p.at++
		return p.node(&Expr{Pos: t.pos, Kind: NameExpr, Name: t.text})
	case "if":
		p.at++
		e := &Expr{Pos: t.pos, Kind: IfExpr, Args: []*Expr{p.expr()}}
		p.expect("then", "after the condition")
		e.Args = append(e.Args, p.expr())
		p.expect("else", "after the value")
		e.Args = append(e.Args, p.expr())
		return p.node(e)
	case "forall", "exists", "count":
		return p.quantifier(t)
	case "max", "min":
		return p.best(t)
	}
	id := p.name("an expression")
	if p.is("(") && !p.startsLine() {
		return p.node(&Expr{Pos: id.Pos, Kind: CallExpr, Name: id.Name, Args: p.args()})
	}
	return p.node(&Expr{Pos: id.Pos, Kind: NameExpr, Name: id.Name})
}

func (p *parser) quantifier(t token) *Expr {
	p.at++
	e := &Expr{Pos: t.pos, Kind: QuantExpr, Name: t.text, Vars: []Ident{p.name("a name")}}
	for p.accept(",") {
		e.Vars = append(e.Vars, p.name("a name"))
	}
	p.expect("in", "after the names")
	set := p.binary(levelCompare + 1)
	p.expect(":", "before the condition")
	e.Args = []*Expr{set, p.expr()}
	return p.node(e)
}

func (p *parser) best(t token) *Expr {
	p.at++
	e := &Expr{Pos: t.pos, Kind: BestExpr, Name: t.text, Vars: []Ident{p.name("a name")}}
	p.expect("in", "after the name")
	e.Args = []*Expr{p.binary(levelCompare + 1)}
	if p.accept("by") {
		if p.accept("(") {
			e.Args = append(e.Args, p.list(")")...)
		} else {
			e.Args = append(e.Args, p.binary(levelCompare+1))
		}
	}
	return p.node(e)
}

// ParseExpr reads a single expression.
func ParseExpr(src string) (*Expr, Diagnostics) {
	tokens, _, errs := lex(src)
	p := &parser{tokens: tokens, errs: errs}
	var e *Expr
	p.recovering(func() {
		e = p.expr()
		if p.tok().kind != tokenEOF {
			p.fail(p.tok().pos, "unexpected %s after the expression", p.tok())
		}
	}, func() {})
	return e, p.errs
}
