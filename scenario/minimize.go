package scenario

import (
	"context"
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep"
)

// Minimal is a scenario without the filters that do not matter, as [Minimize] finds it.
type Minimal struct {
	Scenario *Scenario
	// Removed names the filters that were removed.
	Removed []string
	// Runs is the number of runs of a campaign.
	Runs int
	// Before is the number of successful runs with all filters, and After with the remaining ones.
	Before, After int
}

// String is the result as text.
func (m *Minimal) String() string {
	if len(m.Removed) == 0 {
		return fmt.Sprintf("%s: %d of %d runs succeed, no filter can be left out", m.Scenario.name, m.Before, m.Runs)
	}
	return fmt.Sprintf("%s: %d of %d runs succeed without %s, %d with all", m.Scenario.name, m.After, m.Runs,
		strings.Join(m.Removed, ", "), m.Before)
}

// Minimize removes filters from the plan's scenario, one after the other and the last first. It does so as long as the
// plan's campaign keeps at least the share hold of its original number of successes, e.g. 0.9. In the result each
// filter is needed: without any one of them fewer runs succeed. It does not try to remove two at once, and keeps
// [Filter.Auxiliary] filters. The function successes counts the successes of a campaign; nil means [Successes].
func Minimize(ctx context.Context, plan lockstep.Plan, hold float64,
	successes func(*lockstep.Result) int) (*Minimal, error) {
	s, err := own(plan.Scenario)
	if err != nil {
		return nil, err
	}
	if !(hold > 0 && hold <= 1) {
		return nil, fmt.Errorf("scenario: the share of successes to hold is %v, allowed is (0,1]", hold)
	}
	if successes == nil {
		successes = Successes
	}
	t := trial{ctx, plan, successes}
	m := &Minimal{Scenario: s}
	if m.Runs, m.Before, err = t.of(s); err != nil {
		return nil, err
	}
	if m.Before == 0 {
		return nil, fmt.Errorf("scenario %s: no run succeeds with all filters, so there is nothing to hold", s.name)
	}
	m.After = m.Before
	for again := true; again; {
		if again, err = m.pass(t, hold); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// pass tries to remove each remaining filter, and reports whether it removed one.
func (m *Minimal) pass(t trial, hold float64) (changed bool, err error) {
	for i := len(m.Scenario.filters) - 1; i >= 0; i-- {
		f := m.Scenario.filters[i]
		if f.aside || m.Scenario.omits(f) {
			continue
		}
		smaller := m.Scenario.Without(f.number)
		_, n, err := t.of(smaller)
		if err != nil {
			return changed, err
		}
		if float64(n) >= hold*float64(m.Before) {
			m.Scenario, m.After, changed = smaller, n, true
			m.Removed = append(m.Removed, f.title())
		}
	}
	return changed, nil
}
