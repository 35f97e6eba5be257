// Package spec holds what systems promise, as values to compose: [All] joins specs,
// [OnEvent] makes one of a function, [Linearizable] judges the history of a system's
// clients.
package spec

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// All is the spec that promises what all of the specs promise. The first of them that is
// violated in a step makes the finding.
func All(specs ...lockstep.Spec) lockstep.Spec { return all(specs) }

type all []lockstep.Spec

// Properties implements [lockstep.Spec].
func (a all) Properties() []string {
	var names []string
	for _, s := range a {
		names = append(names, s.Properties()...)
	}
	return names
}

// New implements [lockstep.Spec].
func (a all) New(info lockstep.Info) lockstep.Monitor {
	m := &allMonitor{}
	for _, s := range a.flat() {
		monitor := s.New(info)
		_, watches := monitor.(*watch)
		m.monitors = append(m.monitors, monitor)
		m.watches = append(m.watches, watches)
		m.counts = append(m.counts, len(s.Properties()))
	}
	return m
}

// flat lists the specs without those that are All of others.
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
	watches  []bool // of each, whether it looks at events only
	counts   []int  // properties of each
	judged   []int
}

// Reset implements [lockstep.Monitor].
func (a *allMonitor) Reset() {
	for _, m := range a.monitors {
		m.Reset()
	}
}

// Step implements [lockstep.Monitor].
func (a *allMonitor) Step(run *lockstep.Run) *lockstep.Finding {
	quiet := len(run.Events()) == 0
	for i, m := range a.monitors {
		if quiet && a.watches[i] {
			continue
		}
		if f := m.Step(run); f != nil {
			return f
		}
	}
	return nil
}

// End implements [lockstep.Monitor].
func (a *allMonitor) End(run *lockstep.Run) *lockstep.Finding {
	for _, m := range a.monitors {
		if f := m.End(run); f != nil {
			return f
		}
	}
	return nil
}

// Undecided implements [lockstep.Undecider].
func (a *allMonitor) Undecided() string {
	for _, m := range a.monitors {
		if u, ok := m.(lockstep.Undecider); ok && u.Undecided() != "" {
			return u.Undecided()
		}
	}
	return ""
}

// Illustrate implements [lockstep.Illustrator].
func (a *allMonitor) Illustrate() []trace.Picture {
	var pictures []trace.Picture
	for _, m := range a.monitors {
		if i, ok := m.(lockstep.Illustrator); ok {
			pictures = append(pictures, i.Illustrate()...)
		}
	}
	return pictures
}

// Judged implements [lockstep.Judge].
func (a *allMonitor) Judged() []int {
	a.judged = a.judged[:0]
	for i, m := range a.monitors {
		at := len(a.judged)
		if j, ok := m.(lockstep.Judge); ok {
			a.judged = append(a.judged, j.Judged()...)
		}
		for len(a.judged) < at+a.counts[i] {
			a.judged = append(a.judged, 0)
		}
	}
	return a.judged
}
