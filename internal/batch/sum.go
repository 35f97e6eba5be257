package batch

import (
	"cmp"
	"errors"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/coverage/code"
	"github.com/lockstep-go/lockstep/coverage/model"
	"github.com/lockstep-go/lockstep/internal/sketch"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/trace"
)

// Sum is the result of the batches of a campaign so far, added up in the order of the runs.
type Sum struct {
	// Result has the runs from 0 up to, not including, Result.Runs.
	Result    *lockstep.Result       `json:"result"`
	Schedules sketch.Sketch          `json:"schedules,omitempty"`
	States    sketch.Sketch          `json:"states,omitempty"`
	Coverage  *coverage.Sum          `json:"coverage,omitempty"` // if it is measured, as are the following fields
	Code      *code.Sum              `json:"code,omitempty"`
	Model     *model.Visits          `json:"model,omitempty"`
	Closure   *lockstepform.Measured `json:"closure,omitempty"`
}

// NewSum returns the empty sum of a program's campaign.
func NewSum(h Hello) Sum {
	repeats := lockstep.Deterministic
	if !h.Exact {
		repeats = lockstep.BestEffort
	}
	return Sum{
		Result: &lockstep.Result{
			Target:            h.Target,
			Strategy:          h.Strategy,
			Seed:              h.Seed,
			Guarantee:         h.Guarantee,
			Determinism:       repeats,
			Verdicts:          map[trace.Verdict]int{},
			Reasons:           map[string]int{},
			InconclusiveLimit: h.Inconclusive,
			Checked:           slices.Clone(h.Properties),
		},
	}
}

// Add adds the following batch, and keeps at most keep findings.
func (s *Sum) Add(m *Made, keep int) {
	s.Result.Add(m.Result, keep)
	_ = errors.Join(s.Schedules.Merge(m.Schedules), s.States.Merge(m.States)) // an invalid sketch adds nothing
	s.Result.Schedules, s.Result.States = s.Schedules.Count(), s.States.Count()
	if m.Coverage != nil {
		s.Coverage = cmp.Or(s.Coverage, &coverage.Sum{})
		_ = s.Coverage.Add(m.Coverage) // an invalid sum adds nothing
	}
	if m.Code != nil {
		s.Code = cmp.Or(s.Code, &code.Sum{})
		_ = s.Code.Add(m.Code) // an invalid sum adds nothing
	}
	if m.Model != nil {
		s.Model = cmp.Or(s.Model, &model.Visits{})
		s.Model.Add(m.Model)
	}
	if m.Closure != nil {
		s.Closure = cmp.Or(s.Closure, &lockstepform.Measured{})
		s.Closure.Add(m.Closure)
	}
}

// Ended reports whether a campaign ends before its last run. This is so if all schedules are exhausted, or if a finding
// ends the campaign.
func (s *Sum) Ended(keepGoing bool) bool {
	return s.Result.Exhausted || !keepGoing && s.Result.Findings() > 0
}
