// Package wordlist checks that the repository uses the words of its field: it finds words that have an established
// term in their place, exported names that were replaced, and lines that are too long.
//
// The tables are in table.go. The test of this package reads all files of the repository and fails for each finding.
package wordlist

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxColumns is the longest line of code and of prose. A tab counts as one column, as in golangci-lint's lll.
const maxColumns = 120

// A Finding is a place that breaks a rule.
type Finding struct {
	File string
	Line int
	Rule string // the word as the table groups it, or "long line"
	Want string // what to write in its place
	Text string // the line
}

// String is the finding as one line that editors can jump to.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Rule, f.Want)
}

var definition = regexp.MustCompile(`^(?:type|func|var|const)\s+([A-Z]\w*)`)

// Applies reports whether the list holds for a file, by its path in the repository.
func Applies(file string) bool {
	if strings.HasPrefix(file, "internal/wordlist/") {
		return false
	}
	switch path.Ext(file) {
	case ".go", ".md", ".html", ".py", ".java", ".sh", ".proto", ".distal":
		return true
	case ".txt":
		return within(file, "bubble/overlay/std") // sources in Go
	}
	return path.Base(file) == "Makefile" || file == ".ci/run"
}

// Check returns the findings of a file, in the order of its lines.
func Check(file, text string) []Finding {
	var found []Finding
	var verbatim verbatim
	for i, line := range strings.Split(text, "\n") {
		add := func(rule, want string) {
			if !allowed(file, rule) {
				found = append(found, Finding{file, i + 1, rule, want, line})
			}
		}
		for _, w := range wordsIn(line) {
			add(w.name, w.want)
		}
		for _, n := range namesIn(file, line) {
			add(n.pkg+"."+n.old, n.want)
		}
		if !verbatim.line(file, line) && tooLong(file, line) {
			add("long line", fmt.Sprintf("at most %d columns", maxColumns))
		}
	}
	return found
}

// wordsIn returns the words of the table that a line has, as words of prose or as parts of identifiers. Of the
// phrases that begin with the same word, the longest counts.
func wordsIn(line string) []word {
	var found []word
	parts := split(line)
	for i := 0; i < len(parts); {
		best := phrase{words: parts[i : i+1]}
		for _, p := range phrases[parts[i]] {
			if len(p.words) > len(best.words) || best.banned == nil && len(p.words) == 1 {
				if i+len(p.words) <= len(parts) && slices.Equal(p.words, parts[i:i+len(p.words)]) {
					best = p
				}
			}
		}
		if best.banned != nil {
			found = append(found, *best.banned)
		}
		i += len(best.words)
	}
	return found
}

// split takes a line apart into lower-case words, and identifiers into theirs: TooManyIDs is too, many, ids.
func split(line string) []string {
	var parts []string
	start := -1
	end := func(at int) {
		if start >= 0 {
			parts = append(parts, strings.ToLower(line[start:at]))
		}
		start = -1
	}
	letter := func(at int) bool { return at < len(line) && (upper(line[at]) || lower(line[at])) }
	for i := range len(line) {
		switch {
		case !letter(i):
			end(i)
			continue
		case upper(line[i]) && i > 0 && (lower(line[i-1]) || i+2 < len(line) && lower(line[i+1]) && lower(line[i+2])):
			end(i)
		}
		if start < 0 {
			start = i
		}
	}
	end(len(line))
	return parts
}

func upper(c byte) bool { return 'A' <= c && c <= 'Z' }
func lower(c byte) bool { return 'a' <= c && c <= 'z' }

// namesIn returns the replaced names that a line uses with their package, or defines within it.
func namesIn(file, line string) []name {
	var found []name
	for _, n := range names {
		if _, after, ok := strings.Cut(line, n.pkg+"."+n.old); ok && (after == "" || !upper(after[0]) && !lower(after[0])) {
			found = append(found, n)
			continue
		}
		if path.Dir(file) != n.dir {
			continue
		}
		if d := definition.FindStringSubmatch(line); d != nil && d[1] == n.old {
			found = append(found, n)
		}
	}
	return found
}

// verbatim follows the parts of a file whose lines cannot be broken: fenced examples, raw strings, expected output.
type verbatim struct{ fenced, raw, output bool }

// line reports whether a line, which is the next one of the file, is in such a part or has one.
func (v *verbatim) line(file, line string) bool {
	start := strings.TrimSpace(line)
	switch path.Ext(file) {
	case ".md":
		if strings.HasPrefix(start, "```") {
			v.fenced = !v.fenced
		}
		return v.fenced || strings.HasPrefix(line, "    ")
	case ".go":
		comment := !v.raw && strings.HasPrefix(start, "//")
		v.output = comment && (v.output || strings.HasSuffix(strings.ToLower(start), "output:") ||
			strings.HasPrefix(start, "// Output: "))
		ticks := strings.Count(line, "`")
		if comment {
			return v.output
		}
		in := v.raw || ticks > 0
		v.raw = v.raw != (ticks%2 == 1)
		return in
	}
	return false
}

// tooLong reports whether a line of code or prose is too long. Tables and links cannot be broken.
func tooLong(file, line string) bool {
	if utf8.RuneCountInString(line) <= maxColumns {
		return false
	}
	switch path.Ext(file) {
	case ".go", ".py", ".java":
		return !strings.HasPrefix(line, "//go:")
	case ".md":
		return !strings.HasPrefix(strings.TrimSpace(line), "|") && !strings.Contains(line, "](") && !strings.Contains(line, "://")
	}
	return false
}
