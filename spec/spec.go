// Package spec checks the promises of systems with specs that can be combined. [All] joins specs, and [OnEvent] makes
// one from a function. [Agreement] compares decisions. [Linearizable], [Sequential] and [Isolation] check the history
// of a system's clients. [Sometimes] checks that a campaign reaches something at least once.
package spec

import (
	"cmp"
	"slices"

	"github.com/lockstep-go/lockstep"
)

// All is the conjunction of the specs. The first spec violated in a step makes the finding.
func All(specs ...lockstep.Spec) lockstep.Spec { return all(specs) }

type all []lockstep.Spec

// Properties names the properties of all specs.
func (a all) Properties() []string {
	var names []string
	for _, s := range a {
		names = append(names, s.Properties()...)
	}
	return names
}

// Counts joins the specs' counts.
func (a all) Counts(info lockstep.Info) (list []lockstep.Count) {
	for _, s := range a {
		list = append(list, countsOf(s, info)...)
	}
	return list
}

// New makes a monitor.
func (a all) New(info lockstep.Info) lockstep.Monitor {
	m := &allMonitor{}
	for _, s := range a.flat() {
		made := s.New(info)
		m.monitors = append(m.monitors, made)
		m.byEvent = append(m.byEvent, made.EventsOnly())
		m.counts = append(m.counts, len(s.Properties()))
	}
	return m
}

// flat lists the specs, with nested All values expanded.
func (a all) flat() []lockstep.Spec {
	var list []lockstep.Spec
	for _, s := range a {
		if inner, ok := s.(all); ok {
			list = append(list, inner.flat()...)
		} else {
			list = append(list, s)
		}
	}
	return list
}

type allMonitor struct {
	monitors []lockstep.Monitor
	byEvent  []bool // of each, whether it uses events only
	counts   []int  // properties of each
	checked  []int
}

// Reset begins a new run.
func (a *allMonitor) Reset() {
	for _, m := range a.monitors {
		m.Reset()
	}
}

// EventsOnly reports whether all of the monitors use events only.
func (a *allMonitor) EventsOnly() bool { return !slices.Contains(a.byEvent, false) }

// Step checks a step.
func (a *allMonitor) Step(run *lockstep.Run) *lockstep.Finding {
	noEvents := len(run.Events()) == 0
	for i, m := range a.monitors {
		if noEvents && a.byEvent[i] {
			continue
		}
		if f := m.Step(run); f != nil {
			return f
		}
	}
	return nil
}

// End checks the end of a run.
func (a *allMonitor) End(run *lockstep.Run) *lockstep.Finding {
	for _, m := range a.monitors {
		if f := m.End(run); f != nil {
			return f
		}
	}
	return nil
}

// Features returns those of the first monitor that offers this kind.
func (a *allMonitor) Features(kind string) ([]uint64, bool) {
	for _, m := range a.monitors {
		if s, ok := m.(lockstep.FeatureSource); ok {
			if list, ok := s.Features(kind); ok {
				return list, true
			}
		}
	}
	return nil, false
}

// Conclude joins the monitors' conclusions.
func (a *allMonitor) Conclude(draw bool) lockstep.Conclusion {
	var all lockstep.Conclusion
	a.checked = a.checked[:0]
	for i, m := range a.monitors {
		c := m.Conclude(draw)
		for j := range a.counts[i] {
			n := lockstep.NotCounted
			if j < len(c.Checked) {
				n = c.Checked[j]
			}
			a.checked = append(a.checked, n)
		}
		all.Undecided = cmp.Or(all.Undecided, c.Undecided)
		all.Pictures = append(all.Pictures, c.Pictures...)
	}
	all.Checked = a.checked
	return all
}
