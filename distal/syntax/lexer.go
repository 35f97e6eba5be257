package syntax

import (
	"fmt"
	"strconv"
	"strings"
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
	return "'" + shorten(t.text) + "'"
}

// Comment is a `//` comment, kept so that Format can put it back.
type Comment struct {
	Pos  Pos
	Text string // with the slashes, without trailing space

	after Pos // where the code before it ends, separators left out
}

// twoCharPuncts are tried before single characters.
var twoCharPuncts = map[string]bool{
	":=": true, "==": true, "!=": true, "<=": true, ">=": true, "..": true,
}

const onePuncts = "(){}[]<>,;:.+-*/%?="

// byteOrderMark is what some editors put before the text; it says nothing.
const byteOrderMark = "\uFEFF"

type lexer struct {
	src      string
	at       int
	line     int
	col      int
	code     Pos // where the last token ended that is no separator
	tokens   []token
	comments []Comment
	errs     Diagnostics
}

// lex splits the source into tokens and comments.
func lex(src string) ([]token, []Comment, Diagnostics) {
	l := &lexer{src: strings.TrimPrefix(src, byteOrderMark), line: 1, col: 1}
	for l.at < len(l.src) && len(l.errs) < maxErrors {
		l.next()
	}
	l.tokens = append(l.tokens, token{kind: tokenEOF, pos: l.pos(), end: l.pos()})
	return l.tokens, l.comments, l.errs
}

func (l *lexer) pos() Pos { return Pos{l.line, l.col} }

// takeWhile moves over characters that belong, none of them a newline, and returns them. A column is one character.
func (l *lexer) takeWhile(belongs func(rune) bool) string {
	start := l.at
	for l.at < len(l.src) {
		r, size := utf8.DecodeRuneInString(l.src[l.at:])
		if !belongs(r) {
			break
		}
		l.at += size
		l.col++
	}
	return l.src[start:l.at]
}

func (l *lexer) next() {
	r, _ := utf8.DecodeRuneInString(l.src[l.at:])
	pos := l.pos()
	switch {
	case r == '\n':
		l.at++
		l.line++
		l.col = 1
	case isSpace(r):
		l.takeWhile(isSpace)
	case strings.HasPrefix(l.src[l.at:], "//"):
		text := l.takeWhile(func(r rune) bool { return r != '\n' })
		l.comments = append(l.comments, Comment{Pos: pos, Text: strings.TrimRight(text, " \t\r"), after: l.code})
	case isDigit(r):
		l.number()
	case isLetter(r):
		name := l.takeWhile(func(r rune) bool { return isLetter(r) || unicode.IsDigit(r) })
		l.emit(token{kind: tokenName, text: name, pos: pos})
	default:
		l.punct()
	}
}

func isSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\r' }

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isLetter(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func (l *lexer) emit(t token) {
	t.end = l.pos()
	l.tokens = append(l.tokens, t)
	if t.text != ";" && t.text != "," {
		l.code = t.end
	}
}

func (l *lexer) fail(pos Pos, format string, args ...any) {
	l.errs = append(l.errs, Diagnostic{Pos: pos, Check: "syntax", Text: fmt.Sprintf(format, args...)})
}

func (l *lexer) number() {
	pos := l.pos()
	text := l.takeWhile(isDigit)
	num, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		l.fail(pos, "number %s is too large (at most 2147483647)", shorten(text))
	}
	l.emit(token{kind: tokenInt, text: text, num: num, pos: pos})
}

func (l *lexer) punct() {
	pos := l.pos()
	size := 1
	if l.at+1 < len(l.src) && twoCharPuncts[l.src[l.at:l.at+2]] {
		size = 2
	}
	text := l.src[l.at : l.at+size]
	if size == 2 || strings.Contains(onePuncts, text) {
		l.at += size
		l.col += size
		l.emit(token{kind: tokenPunct, text: text, pos: pos})
		return
	}
	r, size := utf8.DecodeRuneInString(l.src[l.at:])
	switch {
	case r == utf8.RuneError && size <= 1:
		l.fail(pos, "byte 0x%02x is not UTF-8", l.src[l.at])
	case unicode.IsPrint(r) && !unicode.IsMark(r):
		l.fail(pos, "unexpected character %q", r)
	default:
		l.fail(pos, "unexpected character %U", r)
	}
	l.at += size
	l.col++
}

// shorten keeps a word from the source short enough for a message.
func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "..."
	}
	return s
}
