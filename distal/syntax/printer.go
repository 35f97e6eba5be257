package syntax

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

// Format writes a program in canonical form: tabs for indentation, one statement a line, lines of code at most 100
// columns wide (a tab counts four) where they can be broken, at most one blank line between two things. Comments stay
// where they were: before the thing they precede, or behind the thing on whose line they stand. Formatting twice gives
// the same text as formatting once.
func Format(f *File) string {
	p := &printer{comments: f.Comments}
	p.reach(f.Pos)
	p.write(headerDoc(f))
	p.settle(f.End)
	for i, d := range f.Decls {
		p.gap(d.Pos, i == 0 || breaks(f.Decls[i-1]) || breaks(d))
		p.reach(d.Pos)
		p.decl(d)
		p.settle(d.End)
	}
	p.flush(Pos{Line: math.MaxInt})
	return p.out.String()
}

// breaks says whether a declaration always stands alone, with a blank line around it.
func breaks(d *Decl) bool {
	return slices.Contains([]DeclKind{StateDecl, ActionDecl, InitDecl, RuleDecl, RoundDecl}, d.Kind)
}

func headerDoc(f *File) doc {
	head := "protocol "
	if f.Lockstep {
		head = "lockstep protocol "
	}
	if len(f.Params) == 0 {
		return text(head + f.Name)
	}
	var params []doc
	for _, q := range f.Params {
		params = append(params, define(q.Name+" =", q.Default.doc()))
	}
	return list(head+f.Name+"(", tight, params, ")")
}

type printer struct {
	out      bytes.Buffer
	indent   int
	comments []Comment
	next     int  // the first comment not yet printed
	last     int  // source line on which the last printed thing ended
	opened   bool // the last line opened a block, so no blank line follows
}

func (p *printer) line(text string) {
	p.out.WriteString(strings.Repeat("\t", p.indent))
	p.out.WriteString(text)
	p.out.WriteString("\n")
	p.opened = strings.HasSuffix(text, "{")
}

// write puts a doc on a line of its own, or on several.
func (p *printer) write(d doc) { p.line(d.layout(p.indent)) }

func (p *printer) blank() {
	if p.out.Len() > 0 && !bytes.HasSuffix(p.out.Bytes(), []byte("\n\n")) && !p.opened {
		p.out.WriteString("\n")
	}
}

// gap puts one blank line before the thing at pos if the source had one there, or if always is set.
func (p *printer) gap(pos Pos, always bool) {
	first := pos.Line
	if p.next < len(p.comments) && p.comments[p.next].Pos.Before(pos) {
		first = p.comments[p.next].Pos.Line
	}
	if always || p.last > 0 && first > p.last+1 {
		p.blank()
	}
}

// flush prints the comments that stand before pos on lines of their own.
func (p *printer) flush(pos Pos) {
	for p.next < len(p.comments) && p.comments[p.next].Pos.Before(pos) {
		c := p.comments[p.next]
		if p.last > 0 && c.Pos.Line > p.last+1 {
			p.blank()
		}
		p.line(c.Text)
		p.last = c.Pos.Line
		p.next++
	}
}

// reach prints what stands in the source before the thing at pos: comments, and a blank line if there is one.
func (p *printer) reach(pos Pos) {
	p.flush(pos)
	if p.last > 0 && pos.Line > p.last+1 {
		p.blank()
	}
}

// settle notes that the thing just printed ended at end in the source, and appends a comment that stands behind it.
func (p *printer) settle(end Pos) {
	p.last = end.Line
	if p.next == len(p.comments) {
		return
	}
	if c := p.comments[p.next]; c.Pos.Line <= end.Line && !end.Before(c.after) {
		p.out.Truncate(p.out.Len() - len("\n"))
		p.out.WriteString(" " + c.Text + "\n")
		p.next++
	}
}

// item prints a thing inside a block with its comments.
func (p *printer) item(pos, end Pos, d doc) {
	p.reach(pos)
	p.write(d)
	p.settle(end)
}

func (p *printer) decl(d *Decl) {
	switch d.Kind {
	case StateDecl:
		p.fieldBlock("state {", d)
	case TestDecl:
		p.test(d)
	case ActionDecl:
		p.block(list("action "+d.Name+"(", tight, fieldDocs(d.Fields), ") {"), d.Body, d.Open, d.End)
	case InitDecl:
		p.block(text("init {"), d.Body, d.Open, d.End)
	case RuleDecl:
		p.block(group(d.Rule.doc(), space, text("do {")), d.Body, d.Open, d.End)
	case RoundDecl:
		p.round(d)
	default:
		p.write(d.doc())
	}
}

// round prints a round of a lock-step program.
func (p *printer) round(d *Decl) {
	p.line("round " + d.Name + " {")
	p.last = d.Pos.Line
	p.indent++
	p.flush(d.Mid[0])
	p.block(text("send {"), d.First, d.Mid[0], d.Mid[1])
	p.last = d.Mid[1].Line
	p.line("deliver")
	p.flush(d.Open)
	p.block(text("update {"), d.Body, d.Open, d.End)
	p.flush(d.End)
	p.indent--
	p.line("}")
}

// doc is a declaration without a block.
func (d *Decl) doc() doc {
	switch d.Kind {
	case TypeDecl:
		return text("type " + d.Name + " = " + d.Type.String())
	case EnumDecl:
		return list("enum "+d.Name+" {", space, identDocs(d.Names), "}")
	case RecordDecl:
		return list("record "+d.Name+" {", space, fieldDocs(d.Fields), "}")
	case MessageDecl:
		return d.message()
	case RoundsDecl:
		return d.rounds()
	case PhaseDecl:
		return text("phase " + d.Name)
	case OutputDecl:
		return text("output " + d.Type.String())
	case FunDecl:
		head := list("fun "+d.Name+"(", tight, fieldDocs(d.Fields), "): "+d.Type.String()+" =")
		return group(head, nest(space, d.Expr.doc()))
	case NetworkDecl:
		if d.Formula != nil {
			return define("network "+d.Name+":", d.Formula.doc())
		}
		if d.Expr == nil {
			return text("network " + d.Name)
		}
		return list("network "+d.Name+"(", tight, []doc{d.Expr.doc()}, ")")
	}
	head := "property " + d.Name + ":"
	if d.Output != "" {
		head += " on output " + d.Output + ":"
	}
	return define(head, d.Expr.doc())
}

func (d *Decl) message() doc {
	out := text("message " + d.Name)
	if len(d.Fields) > 0 {
		out = list("message "+d.Name+" {", space, fieldDocs(d.Fields), "}")
	}
	for _, t := range d.Tags {
		out = join(out, then(" tag ", t.doc()))
	}
	return out
}

func (d *Decl) rounds() doc {
	var later []doc
	for _, id := range d.Names[1:] {
		later = append(later, space, text("< "+id.Name))
	}
	if d.Expr != nil {
		later = append(later, space, then("from ", d.Expr.doc()))
	}
	return group(text("rounds "+d.Names[0].Name), nest(later...))
}

func (t *Tag) doc() doc { return list("(", tight, []doc{t.Phase.doc(), text(t.Round.Name)}, ")") }

func (p *printer) fieldBlock(open string, d *Decl) {
	p.line(open)
	p.indent++
	p.last = d.Pos.Line
	for _, f := range d.Fields {
		p.item(f.Pos, f.End, f.doc())
	}
	p.flush(d.End)
	p.indent--
	p.line("}")
}

// test prints short tests on one line, as they are mostly written.
func (p *printer) test(d *Decl) {
	var parts []string
	for _, f := range d.Fields {
		parts = append(parts, f.doc().flat())
	}
	short := text("test " + d.Name + " { " + strings.Join(parts, "; ") + " }")
	if d.Pos.Line != d.End.Line || !fits(short, nil, lineWidth) {
		p.fieldBlock("test "+d.Name+" {", d)
		return
	}
	p.write(short)
}

func (f *Field) doc() doc {
	head := f.Name
	if f.Type != nil {
		head += ": " + f.Type.String()
	}
	if f.Value == nil {
		return text(head)
	}
	return define(head+" =", f.Value.doc())
}

func fieldDocs(fields []*Field) []doc {
	var out []doc
	for _, f := range fields {
		out = append(out, f.doc())
	}
	return out
}

func identDocs(ids []Ident) []doc {
	var out []doc
	for _, id := range ids {
		out = append(out, text(id.Name))
	}
	return out
}

func joinIdents(ids []Ident, sep string) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, id.Name)
	}
	return strings.Join(parts, sep)
}

// String writes the head of a rule up to, not including, do.
func (r *Rule) String() string { return r.doc().flat() }

func (r *Rule) doc() doc {
	head := text("upon " + r.Message.Name)
	if r.Timeout {
		head = text("upon timeout")
		if r.Tag != nil {
			head = then("upon timeout in ", r.Tag.doc())
		}
	}
	if r.Var.Name != "" {
		head = join(head, text(" "+r.Var.Name))
	}
	var clauses []doc
	if r.Guard != nil {
		clauses = append(clauses, space, then("with ", nest(r.Guard.doc())))
	}
	if len(r.Same) > 0 {
		clauses = append(clauses, space, list("same (", tight, docs(r.Same), ")"))
	}
	if r.Times != nil {
		clauses = append(clauses, space, r.Times.doc())
	}
	return join(head, nest(clauses...))
}

// String writes the count as it stands in a rule: times > n / 2.
func (t *Times) String() string { return t.doc().flat() }

func (t *Times) doc() doc {
	if t.Op == "all" {
		return text("times all")
	}
	return then("times "+t.Op+" ", nest(t.Count.at(levelSum)))
}

func (t *TypeExpr) String() string {
	text := t.Name
	if t.Arg != nil {
		text += "<" + t.Arg.String() + ">"
	}
	if t.Range != nil {
		text += "(" + t.Range.String() + ")"
	}
	if t.Optional {
		text += "?"
	}
	return text
}
