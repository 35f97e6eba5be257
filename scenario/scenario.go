package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
)

// Scenario is a [lockstep.Scenario] under construction. Once it is part of a plan it must not change any more; it
// then serves any number of workers.
type Scenario struct {
	name     string
	filters  []*Filter
	machines []*Machine
	groups   []draw
	reserved []wanted
	budget   *lockstep.Budget
	must     bool  // a run without success is a finding
	omit     []int // numbers of the omitted filters
	watch    *watch
	observe  *observation
}

// New makes an empty scenario.
func New(name string) *Scenario { return &Scenario{name: name} }

// Name is the scenario's name.
func (s *Scenario) Name() string { return s.name }

// Filter is a rule of a scenario: if a condition holds at a moment ([Scenario.If]), actions are carried out
// ([Filter.Then]).
type Filter struct {
	name    string
	number  int // from 1
	when    Condition
	limit   int // allowed matches with an effect, for each key
	limited bool
	per     Key
	actions []Action
	then    bool
	aside   bool
}

// If adds a filter to the end of the cascade. It matches when all conditions hold; without a condition it matches
// always. Then sets its actions.
func (s *Scenario) If(conditions ...Condition) *Filter {
	f := &Filter{when: All(conditions...), number: len(s.filters) + 1}
	s.filters = append(s.filters, f)
	return f
}

// Named gives a filter a name for reports; otherwise its condition stands for it.
func (f *Filter) Named(name string) *Filter {
	f.name = name
	return f
}

// First lets the filter act only k times in a run. After that, later filters see its matches, as if the filter did
// not exist. A match whose actions had no effect, such as the crash of a node that is down, is not counted.
func (f *Filter) First(k int) *Filter {
	f.limit, f.limited = k, true
	return f
}

// Once lets the filter act only once in a run.
func (f *Filter) Once() *Filter { return f.First(1) }

// Per makes First and Once count separately for each key, e.g. for each receiver.
func (f *Filter) Per(key Key) *Filter {
	f.per = key
	return f
}

// Auxiliary excludes the filter when Lockstep decides whether a run or a part of the scenario is vacuous. It is for
// filters that only prepare what the others do.
func (f *Filter) Auxiliary() *Filter {
	f.aside = true
	return f
}

// Then sets the actions of the filter, in order.
func (f *Filter) Then(actions ...Action) *Filter {
	f.actions, f.then = append(f.actions, actions...), true
	return f
}

// title is the filter in reports: "filter 2 (drop Prepare)".
func (f *Filter) title() string {
	name := f.name
	if name == "" {
		name = f.when.text
	}
	return fmt.Sprintf("filter %d (%s)", f.number, name)
}

// does lists the filter's actions as text.
func (f *Filter) does() string {
	words := make([]string, len(f.actions))
	for i, a := range f.actions {
		words[i] = a.text
	}
	return strings.Join(words, ", ")
}

// Piece is a reusable group of filters and machines, which [Scenario.Use] adds to a scenario.
type Piece func(*Scenario)

// Use adds pieces to the scenario, in order.
func (s *Scenario) Use(pieces ...Piece) *Scenario {
	for _, p := range pieces {
		p(s)
	}
	return s
}

// Faults declares the fault model: a run with more faults than the budget allows, by scenario and strategy together,
// is unknown and never a finding.
func (s *Scenario) Faults(b lockstep.Budget) *Scenario {
	s.budget = &b
	return s
}

// MustSucceed makes a finding of every run in which the scenario took effect and that does not succeed: some machine
// with success states does not end in one. This is bounded liveness. Otherwise such runs are only counted.
func (s *Scenario) MustSucceed() *Scenario {
	s.must = true
	return s
}

// Without is the scenario without the filters with the given numbers, which count from 1. The others keep their
// numbers.
func (s *Scenario) Without(filters ...int) *Scenario {
	c := *s
	c.omit = append(slices.Clone(s.omit), filters...)
	return &c
}

// omits reports whether a filter is left out.
func (s *Scenario) omits(f *Filter) bool { return slices.Contains(s.omit, f.number) }

// ControlGroup returns the control of an experiment: a copy of the scenario without the filters that cause faults or
// steer messages. It keeps filters that only remember, check or give requests, and [Filter.Auxiliary] filters. The
// scenario adds something only if its success rate differs from that of its control group.
func (s *Scenario) ControlGroup() *Scenario {
	var moving []int
	for _, f := range s.filters {
		if !f.aside && slices.ContainsFunc(f.actions, func(a Action) bool { return !a.tame }) {
			moving = append(moving, f.number)
		}
	}
	return s.Without(moving...)
}

// Size is the number of filters, and of states of all machines, start states included.
func (s *Scenario) Size() (filters, states int) {
	for _, m := range s.machines {
		states += len(m.states)
	}
	return len(s.filters), states
}

// Fit reports all errors of the scenario that can be detected before a run, or the fault model that Faults declared.
func (s *Scenario) Fit(info lockstep.Info) (*lockstep.Budget, error) {
	c := newCompiler(s, info)
	c.compile()
	return s.budget, errors.Join(c.problems...)
}

// New makes a director.
func (s *Scenario) New(info lockstep.Info) lockstep.Director {
	c := newCompiler(s, info)
	return c.compile()
}
