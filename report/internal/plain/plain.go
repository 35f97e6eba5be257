// Package plain prepares untrusted texts for display: one line, no control characters, not too long.
package plain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/internal/words"
)

// MaxText is the default number of characters that pages show of a text.
const MaxText = 200

// Clean makes a text from a trace safe for a terminal and a page. The result is one line, without control characters
// and without characters that change the direction of writing.
func Clean(s string) string { return words.Clean(s) }

// Cut shortens a text that is too long, visibly.
func Cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width || width < 1 {
		return s
	}
	r := []rune(s)
	return string(r[:width-1]) + "…"
}

// Short returns a text cleaned and cut at MaxText.
func Short(s string) string { return Cut(Clean(s), MaxText) }

// Lines cleans a text of several lines, such as a stack.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Short(strings.ReplaceAll(lines[i], "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

// Number formats a number in few characters: 12000 as 12k.
func Number(v float64) string {
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%.3gG", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.3gk", v/1e3)
	default:
		return fmt.Sprintf("%.4g", v)
	}
}

// Wrap breaks a text into lines of at most width columns, preferably at blanks. It indents all lines but the first.
// Beyond most lines it cuts the rest, visibly.
func Wrap(s string, width, indent, most int) []string {
	var lines []string
	blank := ""
	for r := []rune(s); ; {
		space := max(1, width-len(blank))
		if len(r) <= space {
			return append(lines, strings.TrimRight(blank+string(r), " "))
		}
		if len(lines) == most-1 {
			return append(lines, blank+Cut(string(r[:space+1]), space))
		}
		at := space
		for k := space; k > space/2; k-- {
			if r[k] == ' ' {
				at = k
				break
			}
		}
		lines = append(lines, strings.TrimRight(blank+string(r[:at]), " "))
		for r = r[at:]; len(r) > 0 && r[0] == ' '; {
			r = r[1:]
		}
		blank = strings.Repeat(" ", indent)
	}
}

// Keys returns the sorted keys of a map.
func Keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Red returns a text, in red if the output has color.
func Red(color bool, text string) string {
	if !color {
		return text
	}
	return "\x1b[31m" + text + "\x1b[0m"
}

// Named returns a target with the program that it is part of and its options.
func Named(target, build string, options map[string]string) string {
	s := Clean(target)
	if build != "" {
		s += " (" + Clean(build) + ")"
	}
	for _, k := range Keys(options) {
		s += fmt.Sprintf(" %s=%s", Clean(k), Clean(options[k]))
	}
	return s
}
