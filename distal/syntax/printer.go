package syntax

import (
	"fmt"
	"strings"
)

// Format writes a program in canonical form: tabs for indentation, one statement a line, at most one blank line
// between two things. Comments stay where they were: before the thing they precede, or behind the thing on
// whose line they stand. Formatting twice gives the same text as formatting once.
func Format(f *File) string {
	p := &printer{comments: f.Comments}
	p.flush(f.Pos)
	p.line("protocol " + f.Name + paramsText(f.Params))
	p.settle(f.Pos.Line)
	for i, d := range f.Decls {
		p.gap(d.Pos, i == 0 || breaks(f.Decls[i-1]) || breaks(d))
		p.flush(d.Pos)
		p.decl(d)
		p.settle(d.End.Line)
	}
	p.flush(Pos{Line: 1 << 30})
	return p.out.String()
}

// breaks says whether a declaration always stands alone, with a blank line around it.
func breaks(d *Decl) bool {
	return d.Body != nil || d.Kind == StateDecl || d.Kind == RuleDecl || d.Kind == InitDecl || d.Kind == ActionDecl
}

func paramsText(params []*Param) string {
	if len(params) == 0 {
		return ""
	}
	var parts []string
	for _, q := range params {
		parts = append(parts, q.Name+" = "+q.Default.String())
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

type printer struct {
	out      strings.Builder
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

func (p *printer) blank() {
	if s := p.out.String(); s != "" && !strings.HasSuffix(s, "\n\n") && !p.opened {
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
	if p.last > 0 && pos.Line > p.last+1 && pos.Line < 1<<30 {
		p.blank()
	}
}

// settle notes that the thing just printed ended on source line `line`, and appends a comment that stands behind it.
func (p *printer) settle(line int) {
	p.last = line
	if p.next < len(p.comments) && p.comments[p.next].Pos.Line <= line {
		text := strings.TrimSuffix(p.out.String(), "\n")
		p.out.Reset()
		p.out.WriteString(text + " " + p.comments[p.next].Text + "\n")
		p.next++
	}
}

// item prints one line inside a block with its comments.
func (p *printer) item(pos, end Pos, text string) {
	p.flush(pos)
	p.line(text)
	p.settle(end.Line)
}

func (p *printer) decl(d *Decl) {
	switch d.Kind {
	case TypeDecl:
		p.line("type " + d.Name + " = " + d.Type.String())
	case EnumDecl:
		p.line("enum " + d.Name + " { " + joinIdents(d.Names, ", ") + " }")
	case RecordDecl:
		p.line("record " + d.Name + " { " + fieldsText(d.Fields) + " }")
	case MessageDecl:
		p.line(messageText(d))
	case RoundsDecl:
		p.line("rounds " + joinIdents(d.Names, " < "))
	case PhaseDecl:
		p.line("phase " + d.Name)
	case StateDecl:
		p.fieldBlock("state {", d)
	case OutputDecl:
		p.line("output " + d.Type.String())
	case FunDecl:
		p.line(fmt.Sprintf("fun %s(%s): %s = %s", d.Name, fieldsText(d.Fields), d.Type, d.Expr))
	case ActionDecl:
		p.block(fmt.Sprintf("action %s(%s) ", d.Name, fieldsText(d.Fields)), d.Body, d.Pos, d.End)
	case InitDecl:
		p.block("init ", d.Body, d.Pos, d.End)
	case RuleDecl:
		p.block(d.Rule.String()+" do ", d.Body, d.Pos, d.End)
	case NetworkDecl:
		text := "network " + d.Name
		if d.Expr != nil {
			text += "(" + d.Expr.String() + ")"
		}
		p.line(text)
	case PropertyDecl:
		text := "property " + d.Name + ": "
		if d.Output != "" {
			text += "on output " + d.Output + ": "
		}
		p.line(text + d.Expr.String())
	case TestDecl:
		p.test(d)
	}
}

func messageText(d *Decl) string {
	text := "message " + d.Name
	if len(d.Fields) > 0 {
		text += " { " + fieldsText(d.Fields) + " }"
	}
	for _, t := range d.Tags {
		text += " tag " + t.String()
	}
	return text
}

func (t *Tag) String() string { return "(" + t.Phase.String() + ", " + t.Round.Name + ")" }

func (p *printer) fieldBlock(open string, d *Decl) {
	p.line(open)
	p.indent++
	p.last = d.Pos.Line
	for _, f := range d.Fields {
		p.item(f.Pos, f.End, fieldText(f))
	}
	p.flush(d.End)
	p.indent--
	p.line("}")
}

// test prints short tests on one line, as they are mostly written.
func (p *printer) test(d *Decl) {
	if d.Pos.Line != d.End.Line {
		p.fieldBlock("test "+d.Name+" {", d)
		return
	}
	var parts []string
	for _, f := range d.Fields {
		parts = append(parts, fieldText(f))
	}
	p.line("test " + d.Name + " { " + strings.Join(parts, "; ") + " }")
}

func fieldText(f *Field) string {
	text := f.Name
	if f.Type != nil {
		text += ": " + f.Type.String()
	}
	if f.Value != nil {
		text += " = " + f.Value.String()
	}
	return text
}

func fieldsText(fields []*Field) string {
	var parts []string
	for _, f := range fields {
		parts = append(parts, fieldText(f))
	}
	return strings.Join(parts, ", ")
}

func joinIdents(ids []Ident, sep string) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, id.Name)
	}
	return strings.Join(parts, sep)
}

// String writes the head of a rule up to, not including, do.
func (r *Rule) String() string {
	text := "upon "
	if r.Timeout {
		text += "timeout"
		if r.Tag != nil {
			text += " in " + r.Tag.String()
		}
	} else {
		text += r.Message.Name
	}
	if r.Var.Name != "" {
		text += " " + r.Var.Name
	}
	if r.Guard != nil {
		text += " with " + r.Guard.String()
	}
	if len(r.Same) > 0 {
		text += " same (" + joinExprs(r.Same) + ")"
	}
	if r.Times != nil {
		text += " " + r.Times.String()
	}
	return text
}

func (t *Times) String() string {
	if t.Op == "all" {
		return "times all"
	}
	return "times " + t.Op + " " + t.Count.at(levelSum)
}

func (t *TypeExpr) String() string {
	text := t.Name
	if t.Arg != nil {
		text += "<" + t.Arg.String() + ">"
	}
	if t.Optional {
		text += "?"
	}
	return text
}
