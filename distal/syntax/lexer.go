package syntax

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Kind of a token.
type tokenKind int

const (
	tokenEOF tokenKind = iota
	tokenName
	tokenInt
	tokenPunct
)

type token struct {
	kind tokenKind
	text string
	num  int64
	pos  Pos
	end  Pos
}

func (t token) String() string {
	if t.kind == tokenEOF {
		return "end of file"
	}
	return "'" + t.text + "'"
}

// Comment is a `//` comment, kept so that Format can put it back.
type Comment struct {
	Pos  Pos
	Text string // with the slashes, without trailing space
	Own  bool   // nothing but space stands before it on its line
}

// twoCharPuncts are tried before single characters.
var twoCharPuncts = map[string]bool{
	":=": true, "==": true, "!=": true, "<=": true, ">=": true, "..": true,
}

const onePuncts = "(){}[]<>,;:.+-*/%?="

type lexer struct {
	src      string
	at       int
	line     int
	col      int
	fresh    bool // no token yet on this line
	tokens   []token
	comments []Comment
	errs     Diagnostics
}

// lex splits the source into tokens and comments.
func lex(src string) ([]token, []Comment, Diagnostics) {
	l := &lexer{src: src, line: 1, col: 1, fresh: true}
	for l.at < len(l.src) {
		l.next()
	}
	l.tokens = append(l.tokens, token{kind: tokenEOF, pos: l.pos(), end: l.pos()})
	return l.tokens, l.comments, l.errs
}

func (l *lexer) pos() Pos { return Pos{l.line, l.col} }

// advance moves over size bytes that hold no newline; a column is one character.
func (l *lexer) advance(size, columns int) {
	l.at += size
	l.col += columns
}

func (l *lexer) next() {
	c := l.src[l.at]
	switch {
	case c == '\n':
		l.at++
		l.line++
		l.col = 1
		l.fresh = true
	case c == ' ' || c == '\t' || c == '\r':
		l.advance(1, 1)
	case c == '/' && l.at+1 < len(l.src) && l.src[l.at+1] == '/':
		l.comment()
	case c >= '0' && c <= '9':
		l.number()
	case isLetter(c):
		start, pos := l.at, l.pos()
		for l.at < len(l.src) && (isLetter(l.src[l.at]) || l.src[l.at] >= '0' && l.src[l.at] <= '9') {
			l.advance(1, 1)
		}
		l.emit(token{kind: tokenName, text: l.src[start:l.at], pos: pos})
	default:
		l.punct()
	}
}

func isLetter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (l *lexer) emit(t token) {
	t.end = l.pos()
	l.tokens = append(l.tokens, t)
	l.fresh = false
}

func (l *lexer) comment() {
	start, pos := l.at, l.pos()
	for l.at < len(l.src) && l.src[l.at] != '\n' {
		_, size := utf8.DecodeRuneInString(l.src[l.at:])
		l.advance(size, 1)
	}
	text := l.src[start:l.at]
	for len(text) > 0 && (text[len(text)-1] == ' ' || text[len(text)-1] == '\t' || text[len(text)-1] == '\r') {
		text = text[:len(text)-1]
	}
	l.comments = append(l.comments, Comment{Pos: pos, Text: text, Own: l.fresh})
}

func (l *lexer) number() {
	start, pos := l.at, l.pos()
	for l.at < len(l.src) && l.src[l.at] >= '0' && l.src[l.at] <= '9' {
		l.advance(1, 1)
	}
	text := l.src[start:l.at]
	num, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		l.errs = append(l.errs, Diagnostic{Pos: pos, Check: "syntax",
			Text: fmt.Sprintf("number %s is too large (at most 2147483647)", text)})
	}
	l.emit(token{kind: tokenInt, text: text, num: num, pos: pos})
}

func (l *lexer) punct() {
	pos := l.pos()
	if l.at+1 < len(l.src) && twoCharPuncts[l.src[l.at:l.at+2]] {
		text := l.src[l.at : l.at+2]
		l.advance(2, 2)
		l.emit(token{kind: tokenPunct, text: text, pos: pos})
		return
	}
	c := l.src[l.at]
	for i := 0; i < len(onePuncts); i++ {
		if onePuncts[i] == c {
			l.advance(1, 1)
			l.emit(token{kind: tokenPunct, text: string(c), pos: pos})
			return
		}
	}
	r, size := utf8.DecodeRuneInString(l.src[l.at:])
	shown := fmt.Sprintf("%q", r)
	if !unicode.IsPrint(r) || r == utf8.RuneError {
		shown = fmt.Sprintf("byte 0x%02x", c)
	}
	l.errs = append(l.errs, Diagnostic{Pos: pos, Check: "syntax", Text: "unexpected character " + shown})
	l.advance(size, 1)
}
