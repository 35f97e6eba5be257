// Package words writes numbers of things the way people do, and makes the texts of others safe to print.
package words

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a text from somebody else safe for a terminal and a page: one line, no control characters, which are
// what terminal escapes begin with, and nothing that changes the direction of writing.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029' ||
			unicode.Is(unicode.Bidi_Control, r) {
			return '?'
		}
		return r
	}, text)
}

// Printf prints like fmt.Fprintf, with every text and error cleaned. The format is the program's own and stays as it is.
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
	_, _ = fmt.Fprintf(w, format, clean...) // whoever reads has hung up
}

// Count is a number with what is counted, in the plural unless it is one: "1 step", "2
// steps". What is counted is given in the singular; of several words the first is the one
// that is counted: "message lost" becomes "messages lost".
func Count[N int | int64](n N, what string) string { return fmt.Sprintf("%d %s", n, Plural(n, what)) }

// These is a number of things at hand: "this run", "these 2 runs".
func These[N int | int64](n N, what string) string {
	if n == 1 {
		return "this " + what
	}
	return "these " + Count(n, what)
}

// Were is a number of things with its verb: "1 run was", "2 runs were".
func Were[N int | int64](n N, what string) string {
	if n == 1 {
		return Count(n, what) + " was"
	}
	return Count(n, what) + " were"
}

// Plural is what is counted without the number.
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
