package campaign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// Limits of a list of problems for people: the number of one kind, the number of places of each, and the number of
// characters in a line. JSON and pages have all of them.
const (
	maxOfKind      = 3
	maxPlaces      = 3
	maxProblemText = 240
)

// ProblemLines lists problems for people, one per line, with the places beneath. Long lists are cut. The last line then
// says so and ends with the text all, which says how to see the rest.
func ProblemLines(list []lockstep.Problem, all string) (lines []string) {
	ofKind, left := map[string]int{}, 0
	for _, p := range list {
		if ofKind[p.Kind]++; ofKind[p.Kind] > maxOfKind {
			left++
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: %s", p.Severity, plain.Cut(plain.Clean(p.Text), maxProblemText)))
		for i, place := range p.Places {
			if i == maxPlaces {
				lines = append(lines, fmt.Sprintf("  and %d more%s", len(p.Places)-i, all))
				break
			}
			lines = append(lines, "  at "+plain.Cut(plain.Clean(place), maxProblemText))
		}
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("and %d more %s of these kinds%s", left, words.Plural(left, "problem"), all))
	}
	return lines
}

// Summary returns the campaign in one line: its verdict, the problem behind it, and the number of other problems.
func (c *Campaign) Summary() string {
	verdict, text, others := c.Verdict(), "", map[string]int{}
	for _, p := range c.Problems() {
		if text == "" && p.Verdict() == verdict && verdict != trace.Pass {
			text = plain.Cut(plain.Clean(p.Text), 2*maxProblemText)
		} else {
			others[p.Severity]++
		}
	}
	switch {
	case c.Result.Findings() == 0 && text != "" && verdict != trace.Flaky:
		text = "nothing found: " + text
	case text == "":
		text = "nothing found"
		if p := weak(c.Problems()); p != nil {
			why, _, _ := strings.Cut(p.Text, ": ") // the advice is in the list of problems
			text += ", but " + plain.Cut(plain.Clean(why), maxProblemText)
			others[p.Severity]--
		}
	}
	if verdict == trace.Fail && c.differs() {
		text += "; after shrinking: " + plain.Cut(plain.Clean(c.ShrunkText), maxProblemText)
	}
	more := ""
	for _, s := range []string{lockstep.SeverityError, lockstep.SeverityWarning} {
		if n := others[s]; n > 0 {
			more += ", " + words.Count(n, s)
		}
	}
	if more != "" {
		text += "; also" + strings.TrimPrefix(more, ",")
	}
	return strings.ToUpper(string(verdict)) + " " + text
}

// differs reports whether the shrunk run has other values in the text of its finding than the run that was found.
func (c *Campaign) differs() bool {
	f := c.Result.First()
	return f != nil && c.ShrunkText != "" && c.ShrunkText != f.Finding.Text
}

// weak returns the first problem because of which a campaign that found nothing says little.
func weak(list []lockstep.Problem) *lockstep.Problem {
	i := slices.IndexFunc(list, func(p lockstep.Problem) bool {
		return p.Kind == lockstep.ProblemVacuousPart || p.Kind == lockstep.ProblemVacuousProperty ||
			p.Kind == lockstep.ProblemIdle
	})
	if i < 0 {
		return nil
	}
	return &list[i]
}

// Failed reports whether one of the problems is an error.
func Failed(list []lockstep.Problem) bool {
	for _, p := range list {
		if p.Severity == lockstep.SeverityError {
			return true
		}
	}
	return false
}
