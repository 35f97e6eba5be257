package report

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// numbers are the parts of a finding's text in which two findings of one cause differ.
var numbers = regexp.MustCompile(`[0-9a-f]*[0-9][0-9a-f]*`)

// maxShape bounds the characters of a shape.
const maxShape = 200

// Shape describes the observable events of a failing run: by phase, the number of events of each type, up to the
// finding. It ignores the values and the names of the nodes. Runs of one shape tend to fail for one reason, even if
// their schedules differ. The events of a long run of a system with time are different in each run; its shape is the
// text of the finding without numbers.
func Shape(t *trace.Trace) string {
	if f := t.Outcome.Finding; f != nil && timed(t) {
		return plain.Cut(plain.Clean(numbers.ReplaceAllString(f.Text, "#")), maxShape)
	}
	type key struct {
		phase int
		event string
	}
	var order []key
	counts := map[key]int{}
	phases := 0
	for i := range t.Records {
		rec := &t.Records[i]
		k := key{}
		if rec.Round > 0 && rec.Round <= len(t.Rounds) {
			k.phase = t.Rounds[rec.Round-1].Phase
			phases = max(phases, k.phase)
		}
		for _, e := range rec.Events {
			k.event = e.Type
			if counts[k] == 0 {
				order = append(order, k)
			}
			counts[k]++
		}
	}
	var parts []string
	for _, k := range order {
		part := fmt.Sprintf("%d %s", counts[k], plain.Clean(k.event))
		if k.phase > 0 {
			part += fmt.Sprintf(" in phase %d", k.phase)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing seen")
	}
	text := strings.Join(parts, ", ")
	if phases > 0 {
		text = fmt.Sprintf("%s: %s", words.Count(phases, "phase"), text)
	}
	return text
}
