package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/trace"
)

// Occurrence is a failing run of a campaign, to be put into a group.
type Occurrence struct {
	Run   int
	Trace *trace.Trace
	File  string // where the trace is stored, if it is
}

// GroupFindings puts findings of the same property and [Shape] together, the largest
// group first, and among equals the one that came first.
func GroupFindings(found []Occurrence) []Group {
	var groups []Group
	for _, o := range found {
		f := o.Trace.Outcome.Finding
		if f == nil {
			continue
		}
		shape := Shape(o.Trace)
		i := slices.IndexFunc(groups, func(g Group) bool { return g.Property == f.Property && g.Shape == shape })
		if i < 0 {
			i = len(groups)
			groups = append(groups, Group{Property: f.Property, Shape: shape, First: o.Run, Text: f.Text, Trace: o.File})
		}
		groups[i].Findings++
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return b.Findings - a.Findings })
	return groups
}

// Shape is what was observable in a failing run, whatever the values and the names of the
// nodes: by phase, how many events of which type, up to the finding. Runs of one
// shape tend to fail for one reason, however different their schedules are.
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
		part := fmt.Sprintf("%d %s", counts[k], clean(k.event))
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
		text = fmt.Sprintf("%d phases: %s", phases, text)
	}
	return text
}
