// Package rounds prints the round structure of a Distal program (Sections 4.3 and 4.4 of the sequentialization paper)
// as a graph: its rounds, what a node can do in each, and where that leads. The paper unfolds a phase into a tree,
// which Unfold prints; the graph has the same paths and one vertex for each round.
package rounds

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/core"
)

// Graph prints the rounds of a program.
func Graph(p *check.Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// The rounds of %s. An arrow leads to the round in which the node acts next.\ninit%s\n", p.Name,
		leads(p, nil))
	for _, r := range p.Rules {
		if r.Round(p.Program) < 0 {
			fmt.Fprintf(&b, "%s%s\n", r.Label(p.Program), leads(p, r))
		}
	}
	for i, round := range p.Rounds {
		fmt.Fprintf(&b, "\nround %s\n", round.Name)
		for _, r := range p.Rules {
			if r.Round(p.Program) == i {
				fmt.Fprintf(&b, "\t%s%s\n", r.Label(p.Program), leads(p, r))
			}
		}
	}
	return b.String()
}

// leads words where a rule leads.
func leads(p *check.Program, r *core.Rule) string {
	ways := p.Leads(r)
	if ways.Unknown {
		return " -> anywhere: the action is too long to follow"
	}
	var parts []string
	for _, round := range ways.Same {
		parts = append(parts, p.Rounds[round].Name)
	}
	for _, round := range ways.Other {
		where := " of another phase"
		if r == nil {
			where = ""
		}
		parts = append(parts, p.Rounds[round].Name+where)
	}
	if ways.Rests {
		parts = append(parts, "any later round")
	}
	if len(parts) == 0 {
		return ""
	}
	return " -> " + strings.Join(parts, ", ")
}
