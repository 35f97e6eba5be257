package conform

import (
	"context"
	"fmt"
	"sync"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/machine"
)

// visits collects what passing runs exercised of a model. Monitors of several workers share it.
type visits struct {
	mutex       sync.Mutex
	runs        int
	transitions map[machine.Transition]bool
}

// add adds a run: the first of the behaviors that explain it.
func (v *visits) add(s *search) {
	seen := map[machine.Transition]bool{}
	for e := s.worlds[0].past; e != nil; e = e.before {
		if e.rule >= 0 {
			seen[machine.Transition{Rule: e.rule, Before: s.m.kind(e.from), After: s.m.kind(e.to)}] = true
		}
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.runs++
	for t := range seen { //lockstep:unordered it is a set
		v.transitions[t] = true
	}
}

// kind describes a local state, see [machine.Program.Kind]. Of the variables that the mapping calls larger, the search
// keeps the largest values only.
func (m *model) kind(id int32) string {
	return m.program.Kind(m.locals.list[id].state, m.mapping.Larger)
}

// Transitions is what passing runs did.
type Transitions struct {
	// Runs is the number of runs.
	Runs int
	// List has each transition once.
	List []machine.Transition
}

// Take returns what passing runs did since the last call. Of the behaviors that explain a run, the first counts.
func (s *Spec) Take() Transitions {
	v := s.visits
	v.mutex.Lock()
	defer v.mutex.Unlock()
	out := Transitions{Runs: v.runs}
	for t := range v.transitions { //lockstep:unordered the caller sorts
		out.List = append(out.List, t)
	}
	v.runs = 0
	clear(v.transitions)
	return out
}

// maxReach is the number of states after which a search for transitions ends.
const maxReach = 20_000_000

// Reach searches the model for what runs of a system can do, to the bound of the first test in its text. It describes
// the bound, and says why the search ended before it; "": it did not.
func (s *Spec) Reach(ctx context.Context, info lockstep.Info) (reached []machine.Transition, bound, incomplete string,
	err error) {
	m, _, err := s.prepare(&info)
	if err != nil {
		return nil, "", "", err
	}
	o := distal.ExploreOptions{Workers: 1, Memory: 1 << 30,
		Kind:     func(l *machine.State) string { return m.program.Kind(l, m.mapping.Larger) },
		Progress: func(p explore.Progress) bool { return ctx.Err() == nil && p.States < maxReach }}
	r, remarks := distal.Explore(s.text, o)
	if failed := remarks.Errors(); len(failed) > 0 {
		return nil, "none", "the model cannot be searched: " + failed[0].String(), nil
	}
	if r.Verdict == explore.Unknown {
		incomplete = r.Reason
	}
	if r.Violation != nil {
		incomplete = fmt.Sprintf("the model breaks %s", r.Violation.Property)
	}
	bound = fmt.Sprintf("%d phases with %d nodes", r.Phases, r.Nodes)
	if r.Test != "" {
		bound += " (test " + r.Test + ")"
	}
	return r.Reached, bound, incomplete, nil
}

// Name is the name of the model.
func (s *Spec) Name() string { return s.program.Name }

// Rules names the rules of the model.
func (s *Spec) Rules() (names []string) {
	for _, r := range s.program.Rules {
		names = append(names, machine.RuleText(s.program.Program, r))
	}
	return names
}
