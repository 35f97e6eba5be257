package syntax

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Lines of code end before column lineWidth where the text can be broken at all; a tab counts as tabWidth columns.
const (
	lineWidth = 100
	tabWidth  = 4
)

// doc is text that may be laid out on one line or on several. It depends on the syntax tree alone, never on how the
// source was broken into lines, which makes the layout canonical.
type doc struct {
	kind  docKind
	text  string // what stands there; of a place to break, what stands there when the line continues
	parts []doc
	whole bool // it has no place to break outside brackets of its own, whose inside it indents
}

type docKind int

const (
	textDoc  docKind = iota
	breakDoc         // a place where the line may end
	joinDoc          // parts one after the other
	nestDoc          // parts whose new lines are indented by one tab more
	groupDoc         // parts whose places to break, but those of groups inside, break all or none
)

var (
	space = doc{kind: breakDoc, text: " "}
	tight = doc{kind: breakDoc}
)

func text(s string) doc        { return doc{kind: textDoc, text: s, whole: true} }
func join(parts ...doc) doc    { return doc{kind: joinDoc, parts: parts, whole: allWhole(parts)} }
func group(parts ...doc) doc   { return doc{kind: groupDoc, parts: parts, whole: allWhole(parts)} }
func then(s string, d doc) doc { return join(text(s), d) }

// nest indents the lines that begin in its parts. What is whole looks after itself.
func nest(parts ...doc) doc {
	if allWhole(parts) {
		return join(parts...)
	}
	return doc{kind: nestDoc, parts: parts}
}

// brackets encloses parts, which begin with a place to break.
func brackets(open string, parts []doc, pad doc, end string) doc {
	d := group(text(open), nest(parts...), pad, text(end))
	d.whole = true
	return d
}

func allWhole(parts []doc) bool {
	return !slices.ContainsFunc(parts, func(d doc) bool { return !d.whole })
}

// define is a head and what it stands for, on the next line if need be: `x := value`.
func define(head string, value doc) doc { return group(text(head), nest(space, value)) }

// list is items between two delimiters, each on its own line if need be; pad is tight or space.
func list(open string, pad doc, items []doc, end string) doc {
	if len(items) == 0 {
		return text(open + end)
	}
	inner := []doc{pad}
	for i, item := range items {
		if i > 0 {
			inner = append(inner, text(","), space)
		}
		inner = append(inner, item)
	}
	return brackets(open, inner, pad, end)
}

// flat writes a doc on one line.
func (d doc) flat() string {
	var b strings.Builder
	d.writeFlat(&b)
	return b.String()
}

func (d doc) writeFlat(b *strings.Builder) {
	b.WriteString(d.text)
	for _, part := range d.parts {
		part.writeFlat(b)
	}
}

// piece is a doc that is still to be written: how far new lines in it are indented, and whether its places to break are
// kept on one line.
type piece struct {
	doc    doc
	indent int
	flat   bool
}

// layout writes a doc, breaking a group only where it does not fit on the line. The first line begins at the given
// indentation, which is not written.
func (d doc) layout(indent int) string {
	var b strings.Builder
	column := indent * tabWidth
	for todo := []piece{{d, indent, false}}; len(todo) > 0; {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch x.doc.kind {
		case textDoc:
			b.WriteString(x.doc.text)
			column += utf8.RuneCountInString(x.doc.text)
		case breakDoc:
			if x.flat {
				b.WriteString(x.doc.text)
				column += len(x.doc.text)
				break
			}
			b.WriteString("\n" + strings.Repeat("\t", x.indent))
			column = x.indent * tabWidth
		case groupDoc:
			x.flat = x.flat || fits(x.doc, todo, lineWidth-column)
			todo = push(todo, x)
		default:
			todo = push(todo, x)
		}
	}
	return b.String()
}

// push puts the parts of x on the stack, the first of them on top.
func push(todo []piece, x piece) []piece {
	indent := x.indent
	if x.doc.kind == nestDoc {
		indent++
	}
	for i := len(x.doc.parts) - 1; i >= 0; i-- {
		todo = append(todo, piece{x.doc.parts[i], indent, x.flat})
	}
	return todo
}

// fits says whether d, on one line, and what follows it up to the next place where the line may end, need at most space
// columns.
func fits(d doc, rest []piece, spare int) bool {
	todo := []piece{{d, 0, true}}
	for spare >= 0 {
		if len(todo) == 0 {
			if len(rest) == 0 {
				return true
			}
			todo, rest = append(todo, rest[len(rest)-1]), rest[:len(rest)-1]
		}
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if x.doc.kind == breakDoc && !x.flat {
			return true
		}
		spare -= utf8.RuneCountInString(x.doc.text)
		todo = push(todo, x)
	}
	return false
}
