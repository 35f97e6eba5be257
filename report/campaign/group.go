package campaign

import (
	"slices"

	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/trace"
)

// Group is a set of findings with one property and one shape.
type Group struct {
	Property string `json:"property"`        // the violated property
	Shape    string `json:"shape"`           // observable events of the runs, without values and names of nodes
	Findings int    `json:"findings"`        // number of findings
	First    int    `json:"first_run"`       // number of the first failing run
	Text     string `json:"text"`            // of the first finding
	Trace    string `json:"trace,omitempty"` // file of the first finding
}

// Occurrence is a failing run of a campaign, to be grouped.
type Occurrence struct {
	Run   int
	Trace *trace.Trace
	File  string // the file of the trace, if it is stored
}

// GroupFindings groups findings of the same property and [report.Shape]. The largest group comes first; among equals,
// the group with the earliest finding.
func GroupFindings(found []Occurrence) []Group {
	var groups []Group
	for _, o := range found {
		f := o.Trace.Outcome.Finding
		if f == nil {
			continue
		}
		groups = AddToGroups(
			groups,
			Group{Property: f.Property, Shape: report.Shape(o.Trace), First: o.Run, Text: f.Text, Trace: o.File},
		)
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return b.Findings - a.Findings })
	return groups
}

// AddToGroups adds a finding to the group of its property and shape, or as the first of a new group.
func AddToGroups(groups []Group, first Group) []Group {
	i := slices.IndexFunc(groups, func(g Group) bool { return g.Property == first.Property && g.Shape == first.Shape })
	if i < 0 {
		i = len(groups)
		groups = append(groups, first)
	}
	groups[i].Findings++
	return groups
}
