// Package words writes numbers of things the way people do.
package words

import (
	"fmt"
	"strings"
)

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

// Them stands for things that were counted: "it", "them".
func Them[N int | int64](n N) string {
	if n == 1 {
		return "it"
	}
	return "them"
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
