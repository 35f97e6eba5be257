package campaign

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/report/internal/plain"
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
	Page     string `json:"page,omitempty"`  // of the first finding
	// Shrunk describes how far the first finding was shrunk, and Why how it differs from the nearest run that passes.
	// Those of the campaign's first finding stand beside the groups.
	Shrunk string   `json:"shrunk,omitempty"`
	Why    []string `json:"why,omitempty"`
}

// Occurrence is a failing run of a campaign, to be grouped.
type Occurrence struct {
	Run   int
	Trace *trace.Trace
	File  string // the file of the trace, if it is stored
	Page  string // the file of its page, if there is one
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
			Group{Property: f.Property, Shape: report.Shape(o.Trace), First: o.Run, Text: f.Text, Trace: o.File, Page: o.Page},
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

// groupLines returns a line for each property with its number of findings, and beneath it a line for each group: the
// number of its findings, its first run, what it says and its page or trace. A campaign with a single group needs none.
// found is the number of failing runs of the campaign, which may have kept fewer.
func groupLines(groups []Group, found int) (lines []string) {
	if len(groups) < 2 {
		return nil
	}
	kept := 0
	byProperty := map[string][]Group{}
	var properties []string
	for _, g := range groups {
		if kept += g.Findings; byProperty[g.Property] == nil {
			properties = append(properties, g.Property)
		}
		byProperty[g.Property] = append(byProperty[g.Property], g)
	}
	if kept < found {
		lines = append(lines, fmt.Sprintf("of %s, the %d that were kept:", words.Count(found, "finding"), kept))
	}
	for _, p := range properties {
		n := 0
		for _, g := range byProperty[p] {
			n += g.Findings
		}
		lines = append(lines, fmt.Sprintf("%s of %s, in %s", words.Count(n, "finding"), plain.Clean(p),
			words.Count(len(byProperty[p]), "group")))
		for _, g := range byProperty[p] {
			lines = append(lines, plain.Cut(fmt.Sprintf("  %d, first in run %d: %s", g.Findings, g.First,
				plain.Clean(g.Text)), maxProblemText))
			if g.Shrunk != "" {
				lines = append(lines, "    shrunk "+plain.Clean(g.Shrunk))
			}
			if len(g.Why) > 0 {
				lines = append(lines, "    "+plain.Cut(plain.Clean(g.Why[0]), maxProblemText))
			}
			if file := cmp.Or(g.Page, g.Trace); file != "" {
				lines = append(lines, "    "+plain.Clean(file))
			}
		}
	}
	return lines
}
