// Package check gives meaning to a parsed Distal program: it resolves names, checks types, lowers the program to the
// core form, and decides which of the conditions for a round structure hold.
//
// Three families of checks build on one another. Names and types come first; without them nothing else is said. Then
// the shape of the protocol: one tag for each message, a total order of rounds, rules that can never fire, dependence
// on the order of arrival. Last the five conditions of communication closure (Section 4.2 of the sequentialization
// paper): each is proved for each rule, or refuted, or, where neither succeeds, listed as a run-time monitor. A
// program with a refuted condition is refused for sequentialization; it can still be run asynchronously.
package check

import (
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// Program is a program in the core form with what is known about its conditions.
type Program struct {
	*core.Program
	File    *syntax.File
	Proofs  []Proof            // each condition for each rule
	Refused syntax.Diagnostics // conditions that certainly do not hold
	heads   []*syntax.Decl     // of the rules
}

// Watches says whether a condition is watched for some rule while the program runs: it could not be proved.
func (p *Program) Watches(c core.Condition) bool {
	return slices.ContainsFunc(p.Proofs, func(q Proof) bool { return q.Condition == c && q.Status == Watched })
}

// Proved says whether a condition is proved for a rule; nil is the init block.
func (p *Program) Proved(c core.Condition, rule *core.Rule) bool {
	at := p.Init.Pos
	if rule != nil {
		at = rule.Body.Pos
	}
	for _, q := range p.Proofs {
		if q.Condition == c && q.at == at {
			return q.Status == Proved
		}
	}
	return false
}
