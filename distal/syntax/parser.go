package syntax

import "fmt"

// Limits that keep bad input from costing much.
const (
	maxErrors = 20
	maxDepth  = 500
)

// reserved words cannot be names of variables, fields, functions or messages.
var reserved = map[string]bool{
	"true": true, "false": true, "none": true, "self": true, "all": true, "others": true,
	"if": true, "then": true, "else": true, "for": true, "in": true, "by": true, "and": true, "or": true,
	"not": true, "implies": true, "prefix": true, "forall": true, "exists": true, "count": true, "max": true,
	"min": true, "let": true, "send": true, "to": true, "output": true, "upon": true, "with": true, "times": true,
	"same": true, "do": true, "timely": true,
}

// declWords begin a declaration.
var declWords = []string{"type", "enum", "record", "message", "rounds", "phase", "state", "output", "fun", "action",
	"init", "upon", "network", "property", "test", "round"}

func isDeclWord(s string) bool {
	for _, w := range declWords {
		if w == s {
			return true
		}
	}
	return false
}

// bail is thrown inside the parser to reach the nearest place of recovery.
type bail struct{}

type parser struct {
	tokens []token
	at     int
	depth  int
	errs   Diagnostics
}

// Parse reads a program. The File is never nil; when there are errors it holds what could be read.
func Parse(src string) (*File, Diagnostics) {
	tokens, comments, errs := lex(src)
	p := &parser{tokens: tokens, errs: errs}
	f := &File{Pos: Pos{1, 1}, Comments: comments}
	p.recovering(func() { p.header(f) }, p.skipToDecl)
	for p.tok().kind != tokenEOF && len(p.errs) < maxErrors {
		before := p.at
		p.recovering(func() { f.Decls = append(f.Decls, p.decl()) }, p.skipToDecl)
		if p.at == before {
			p.at++
		}
	}
	p.errs.Sort()
	if len(p.errs) > maxErrors {
		p.errs = p.errs[:maxErrors]
	}
	return f, p.errs
}

// recovering runs parse; after an error in it, skip finds the place to continue.
func (p *parser) recovering(parse, skip func()) {
	depth := p.depth
	defer func() {
		if r := recover(); r != nil {
			if _, ours := r.(bail); !ours {
				panic(r)
			}
			p.depth = depth
			skip()
		}
	}()
	parse()
}

func (p *parser) tok() token { return p.tokens[p.at] }

func (p *parser) peek() token {
	if p.at+1 < len(p.tokens) {
		return p.tokens[p.at+1]
	}
	return p.tokens[len(p.tokens)-1]
}

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != tokenEOF {
		p.at++
	}
	return t
}

// lastEnd is the end of the token before the current one.
func (p *parser) lastEnd() Pos {
	if p.at == 0 {
		return Pos{1, 1}
	}
	return p.tokens[p.at-1].end
}

func (p *parser) is(text string) bool {
	t := p.tok()
	return t.text == text && t.kind != tokenEOF
}

func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) fail(pos Pos, format string, args ...any) {
	p.errs = append(p.errs, Diagnostic{Pos: pos, Check: "syntax", Text: fmt.Sprintf(format, args...)})
	panic(bail{})
}

func (p *parser) expect(text, where string) {
	if !p.is(text) {
		p.fail(p.tok().pos, "expected '%s' %s, found %s", text, where, p.tok())
	}
	p.at++
}

func (p *parser) name(what string) Ident {
	t := p.tok()
	if t.kind != tokenName {
		p.fail(t.pos, "expected %s, found %s", what, t)
	}
	if reserved[t.text] {
		p.fail(t.pos, "expected %s, but '%s' is a reserved word", what, t.text)
	}
	if t.pos.Col == 1 && isDeclWord(t.text) && p.startsLine() {
		p.fail(p.lastEnd(), "expected %s before the next declaration", what)
	}
	p.at++
	return Ident{t.pos, t.text}
}

// deeper guards against input whose nesting would exhaust the stack of the parser; call what it returns on the way
// back.
func (p *parser) deeper() func() {
	p.depth++
	if p.depth > maxDepth {
		p.tooDeep(p.tok().pos)
	}
	return func() { p.depth-- }
}

// node guards against expressions whose height would exhaust the stack of functions that walk the tree. Not all of
// these are nested for the parser: it reads a + b + c and a.b.c in a loop.
func (p *parser) node(e *Expr) *Expr {
	e.height = 1
	for _, a := range e.Args {
		e.height = max(e.height, a.height+1)
	}
	if e.height > maxDepth {
		p.tooDeep(e.Pos)
	}
	return e
}

func (p *parser) tooDeep(pos Pos) { p.fail(pos, "nested too deeply (at most %d levels)", maxDepth) }

// skipToDecl moves on to a word that begins a declaration at the start of a line.
func (p *parser) skipToDecl() {
	for p.tok().kind != tokenEOF {
		t := p.tok()
		if t.kind == tokenName && isDeclWord(t.text) && p.startsLine() && !(t.text == "output" && t.pos.Col > 1) {
			return
		}
		p.at++
	}
}

func (p *parser) startsLine() bool {
	return p.at == 0 || p.tokens[p.at-1].end.Line < p.tok().pos.Line
}

// skipToStmt moves on to something that can begin a statement on a new line, or to the closing brace.
func (p *parser) skipToStmt() {
	nested := 0
	for p.tok().kind != tokenEOF {
		t := p.tok()
		switch {
		case t.text == "{":
			nested++
		case t.text == "}":
			if nested == 0 {
				return
			}
			nested--
		case nested == 0 && t.kind == tokenName && p.startsLine():
			return
		case t.kind == tokenName && t.pos.Col == 1 && isDeclWord(t.text):
			return
		}
		p.at++
	}
}

func (p *parser) header(f *File) {
	f.Lockstep = p.accept("lockstep")
	p.expect("protocol", "at the start of the program")
	name := p.name("the protocol's name")
	f.Pos, f.End, f.Name = name.Pos, p.lastEnd(), name.Name
	if !p.accept("(") {
		return
	}
	for !p.is(")") {
		id := p.name("a parameter")
		p.expect("=", "and a default after the parameter "+id.Name)
		f.Params = append(f.Params, &Param{id.Pos, id.Name, p.expr()})
		if !p.accept(",") {
			break
		}
	}
	p.expect(")", "after the parameters")
	f.End = p.lastEnd()
}

func (p *parser) typeExpr() *TypeExpr {
	defer p.deeper()()
	id := p.name("a type")
	t := &TypeExpr{Pos: id.Pos, Name: id.Name}
	if p.accept("<") {
		t.Arg = p.typeExpr()
		p.expect(">", "after the element type")
	}
	if t.Name == "int" && p.accept("(") {
		t.Range = p.expr()
		p.expect(")", "after the range")
	}
	if p.accept("?") {
		t.Optional = true
	}
	return t
}

// fields reads `name: Type` with an optional `= expr` until close; commas and semicolons between them are optional.
func (p *parser) fields(close string, values bool) []*Field {
	var out []*Field
	for !p.is(close) {
		id := p.name("a field name")
		p.expect(":", "and a type after "+id.Name)
		f := &Field{Pos: id.Pos, Name: id.Name, Type: p.typeExpr()}
		if values && p.accept("=") {
			f.Value = p.expr()
		}
		f.End = p.lastEnd()
		out = append(out, f)
		if !p.accept(",") && !p.accept(";") && !values {
			break
		}
	}
	p.expect(close, "after the fields")
	return out
}
