package report

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// Shape describes the observable events of a failing run: by phase, the number of events of each type, up to the
// finding. It ignores the values and the names of the nodes. Runs of one shape tend to fail for one reason, even if
// their schedules differ.
func Shape(t *trace.Trace) string {
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
