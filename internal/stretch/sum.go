package stretch

import (
	"cmp"
	"errors"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/closure"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/internal/sketch"
	"github.com/lockstep-go/lockstep/trace"
)

// Sum is what came of the stretches of a campaign so far, added up in the order of the runs.
type Sum struct {
	// Result is of the runs from 0 up to, not including, Result.Runs.
	Result    *lockstep.Result  `json:"result"`
	Schedules sketch.Sketch     `json:"schedules,omitempty"`
	States    sketch.Sketch     `json:"states,omitempty"`
	Coverage  *coverage.Sum     `json:"coverage,omitempty"` // where it is measured, and so is
	Closure   *closure.Measured `json:"closure,omitempty"`
}

// NewSum is the sum of no stretches of a program's campaign.
func NewSum(h Hello) Sum {
	repeats := lockstep.Exactly
	if !h.Exact {
		repeats = lockstep.Roughly
	}
	return Sum{
		Result: &lockstep.Result{
			Target:            h.Target,
			Strategy:          h.Strategy,
			Seed:              h.Seed,
			Guarantee:         h.Guarantee,
			Repeats:           repeats,
			Verdicts:          map[trace.Verdict]int{},
			Reasons:           map[string]int{},
			InconclusiveLimit: h.Inconclusive,
			Judged:            slices.Clone(h.Properties),
		},
	}
}

// Add adds the stretch that follows, and keeps no more than so many findings.
func (s *Sum) Add(m *Made, keep int) {
	s.Result.Add(m.Result, keep)
	_ = errors.Join(s.Schedules.Merge(m.Schedules), s.States.Merge(m.States)) // one that does not fit adds nothing
	s.Result.Schedules, s.Result.States = s.Schedules.Count(), s.States.Count()
	if m.Coverage != nil {
		s.Coverage = cmp.Or(s.Coverage, &coverage.Sum{})
		_ = s.Coverage.Add(m.Coverage) // likewise
	}
	if m.Closure != nil {
		s.Closure = cmp.Or(s.Closure, &closure.Measured{})
		s.Closure.Add(m.Closure)
	}
}

// Ended reports whether a campaign is over before its last run: because all that there was to make has been made,
// or with a finding after which it does not go on.
func (s *Sum) Ended(keepGoing bool) bool {
	return s.Result.Exhausted || !keepGoing && s.Result.Findings() > 0
}
