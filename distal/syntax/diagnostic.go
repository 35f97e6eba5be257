package syntax

import (
	"fmt"
	"sort"
	"strings"
)

// Pos is a place in the source; both numbers start at 1. The zero Pos means "nowhere in particular".
type Pos struct {
	Line int `json:"line"`
	Col  int `json:"col"`
}

// Before says whether p comes before q in the text.
func (p Pos) Before(q Pos) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Col < q.Col
}

func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Col) }

// Severity distinguishes an error, which stops everything that follows, from a warning.
type Severity int

// The severities.
const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// MarshalText writes the severity as a word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Diagnostic is one remark about a program: where, how grave, which check, what.
type Diagnostic struct {
	Pos      Pos      `json:"pos"`
	Severity Severity `json:"severity"`
	Check    string   `json:"check"` // the short name of the check, such as "syntax", "types" or "condition 5"
	Text     string   `json:"text"`
}

func (d Diagnostic) String() string {
	if d.Pos == (Pos{}) {
		return fmt.Sprintf("%s: %s [%s]", d.Severity, d.Text, d.Check)
	}
	return fmt.Sprintf("%s: %s: %s [%s]", d.Pos, d.Severity, d.Text, d.Check)
}

// Diagnostics is a list of remarks; as an error it reads one remark a line.
type Diagnostics []Diagnostic

func (ds Diagnostics) Error() string {
	lines := make([]string, len(ds))
	for i, d := range ds {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// Sort orders remarks by place, then by text, so that output does not depend on the order of checks.
func (ds Diagnostics) Sort() {
	sort.SliceStable(ds, func(i, j int) bool {
		if ds[i].Pos != ds[j].Pos {
			return ds[i].Pos.Before(ds[j].Pos)
		}
		return ds[i].Text < ds[j].Text
	})
}

// Errors returns the remarks that are errors.
func (ds Diagnostics) Errors() Diagnostics {
	var out Diagnostics
	for _, d := range ds {
		if d.Severity == Error {
			out = append(out, d)
		}
	}
	return out
}

// Suggest finds the candidate nearest to a misspelt name and words it as a hint (" (did you mean x?)"), or
// returns "" when nothing is near. Nearest means the smallest edit distance, at most a third of the length.
func Suggest(name string, candidates []string) string {
	lower := func(s string) []rune { return []rune(strings.ToLower(s)) }
	wanted := lower(name)
	best, bestDistance := "", len(wanted)/3+2
	sorted := append([]string(nil), candidates...)
	sort.Strings(sorted)
	for _, c := range sorted {
		if c == name || c == "" {
			continue
		}
		if d := editDistance(wanted, lower(c)); d < bestDistance && d < len(wanted) {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// editDistance is the number of single-letter edits between a and b, a swap of neighbors counting as one.
func editDistance(a, b []rune) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
