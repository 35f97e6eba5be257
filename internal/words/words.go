// Package words formats numbers of things as text, and makes untrusted texts safe to print and to quote.
package words

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes an untrusted text safe for a terminal and a page. The result is one line, without control characters,
// with which terminal escapes begin, and without characters that change the direction of writing.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029' ||
			unicode.Is(unicode.Bidi_Control, r) {
			return '?'
		}
		return r
	}, text)
}

// Quoted quotes a word for a shell, where it needs quotes.
func Quoted(word string) string {
	special := func(r rune) bool {
		return r < utf8.RuneSelf &&
			!(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
				strings.ContainsRune("_-+=:,./@%^", r))
	}
	if word == "" || strings.ContainsFunc(word, special) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// Printf prints like fmt.Fprintf, with every text and error cleaned. The format is the program's own and stays
// unchanged.
func Printf(w io.Writer, format string, args ...any) {
	clean := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			clean[i] = Clean(arg)
		case error:
			clean[i] = Clean(arg.Error())
		default:
			clean[i] = arg
		}
	}
	_, _ = fmt.Fprintf(w, format, clean...) // an error means that the reader has closed the output
}

// Count formats a number of things, in the plural unless it is one: "1 step", "2 steps". The caller gives the noun in
// the singular. In several words the first is the noun: "message lost" becomes "messages lost".
func Count[N int | int64](n N, what string) string { return fmt.Sprintf("%d %s", n, Plural(n, what)) }

// These formats a number of things with its pronoun: "this run", "these 2 runs".
func These[N int | int64](n N, what string) string {
	if n == 1 {
		return "this " + what
	}
	return "these " + Count(n, what)
}

// Were formats a number of things with its verb: "1 run was", "2 runs were".
func Were[N int | int64](n N, what string) string {
	if n == 1 {
		return Count(n, what) + " was"
	}
	return Count(n, what) + " were"
}

// Plural returns the noun for a number of things, without the number.
func Plural[N int | int64](n N, what string) string {
	if n == 1 {
		return what
	}
	first, rest, more := strings.Cut(what, " ")
	if strings.HasSuffix(first, "y") {
		first = strings.TrimSuffix(first, "y") + "ie"
	}
	if first += "s"; more {
		first += " " + rest
	}
	return first
}
