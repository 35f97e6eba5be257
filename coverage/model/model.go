// Package model adds up what the runs of a campaign visited of a model, and compares it with what a search reaches.
package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep/internal/words"
)

// Transition is an action of a node: a rule, and the kinds of the node's state before and after it.
type Transition struct {
	// Rule names the rule with its line.
	Rule string `json:"rule"`
	// Before and After describe the kinds of states.
	Before string `json:"before"`
	After  string `json:"after"`
}

// String is the transition as text.
func (t Transition) String() string { return fmt.Sprintf("%s: %s -> %s", t.Rule, t.Before, t.After) }

// Compare orders transitions by their rules and states.
func (t Transition) Compare(u Transition) int {
	return cmp.Or(cmp.Compare(t.Rule, u.Rule), cmp.Compare(t.Before, u.Before), cmp.Compare(t.After, u.After))
}

// Visits is what runs visited.
type Visits struct {
	// Runs is the number of passing runs.
	Runs int `json:"runs"`
	// Transitions are those that the runs visited, each once, in order.
	Transitions []Transition `json:"transitions,omitempty"`
}

// Add adds the visits of other runs.
func (v *Visits) Add(w *Visits) {
	v.Runs += w.Runs
	v.Transitions = append(v.Transitions, w.Transitions...)
	slices.SortFunc(v.Transitions, Transition.Compare)
	v.Transitions = slices.Compact(v.Transitions)
}

// Reach is what a search of a model reaches.
type Reach struct {
	// Model is the name of the model.
	Model string
	// Rules are all rules, in the order of the text.
	Rules []string
	// Bound describes the bound of the search, and Incomplete why the search ended before it.
	Bound, Incomplete string
	// Transitions are those that the search reaches.
	Transitions []Transition
}

// Share is a part of what a search reaches.
type Share struct {
	Visited int `json:"visited"`
	Of      int `json:"of"`
}

// String is the share as text.
func (s Share) String() string {
	return fmt.Sprintf("%d of %d (%.1f%%)", s.Visited, s.Of, 100*float64(s.Visited)/float64(max(s.Of, 1)))
}

// Report is what a campaign visited of a model.
type Report struct {
	// Model is the name of the model, and Runs the number of passing runs.
	Model string `json:"model"`
	Runs  int    `json:"runs"`
	// Bound is that of the search, and Incomplete says why the search ended before it.
	Bound      string `json:"bound"`
	Incomplete string `json:"incomplete,omitempty"`
	// Rules is the share of the model's rules, and Transitions that of the transitions that the search reaches.
	Rules       Share `json:"rules"`
	Transitions Share `json:"transitions"`
	// Beyond is the number of visited transitions that the search does not reach within its bound.
	Beyond int `json:"beyond"`
	// NeverRules and Never are those that no run visited.
	NeverRules []string     `json:"never_rules,omitempty"`
	Never      []Transition `json:"never,omitempty"`
}

// Of compares visits with what a search reaches.
func Of(v *Visits, r *Reach) *Report {
	visited, rules := map[Transition]bool{}, map[string]bool{}
	for _, t := range v.Transitions {
		visited[t], rules[t.Rule] = true, true
	}
	out := &Report{Model: r.Model, Runs: v.Runs, Bound: r.Bound, Incomplete: r.Incomplete,
		Rules: Share{Of: len(r.Rules)}, Transitions: Share{Of: len(r.Transitions)}}
	for _, rule := range r.Rules {
		if rules[rule] {
			out.Rules.Visited++
		} else {
			out.NeverRules = append(out.NeverRules, rule)
		}
	}
	for _, t := range r.Transitions {
		if visited[t] {
			out.Transitions.Visited++
			delete(visited, t)
		} else {
			out.Never = append(out.Never, t)
		}
	}
	out.Beyond = len(visited)
	return out
}

// shown is how many transitions the lines of a report list for each rule.
const shown = 2

// Lines is the report as text. It lists a few of the transitions that no run visited; JSON and the page have all.
func (r *Report) Lines() []string {
	lines := []string{
		fmt.Sprintf("model %s: %d of %d rules exercised in %d passing %s", r.Model, r.Rules.Visited, r.Rules.Of,
			r.Runs, words.Plural(r.Runs, "run")),
	}
	if r.Transitions.Of > 0 {
		lines = append(lines, fmt.Sprintf("model %s: %s transitions (rule, kind of state before and after) of a search to %s",
			r.Model, r.Transitions, r.Bound))
	}
	if r.Incomplete != "" {
		lines = append(lines, "  the search is not complete: "+r.Incomplete)
	}
	if r.Beyond > 0 && r.Transitions.Of > 0 {
		lines = append(lines, fmt.Sprintf("  and %s that this search does not reach", words.Count(r.Beyond, "transition")))
	}
	for _, rule := range r.NeverRules {
		lines = append(lines, "never: "+rule)
	}
	rest := map[string][]Transition{}
	for _, t := range r.Never {
		if !slices.Contains(r.NeverRules, t.Rule) {
			rest[t.Rule] = append(rest[t.Rule], t)
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(rest)) {
		list := rest[rule]
		for _, t := range list[:min(shown, len(list))] {
			lines = append(lines, "never: "+t.String())
		}
		if more := len(list) - shown; more > 0 {
			lines = append(lines, fmt.Sprintf("never: %s: and %d more", rule, more))
		}
	}
	return lines
}
