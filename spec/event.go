package spec

import "github.com/lockstep-go/lockstep"

// Checker checks the events of a run, for [New]. A campaign reuses it for one run after the other.
type Checker interface {
	// Reset begins a new run.
	Reset()
	// Event checks an event. A finding without a property gets that of the spec.
	Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding
	// Checked is the number of times since Reset that the property could have failed, or lockstep.NotCounted.
	Checked() int
	// End checks the final state. It returns nil if the checker looks only at events.
	End(run *lockstep.Run) *lockstep.Finding
}

// New is a spec of one property, checked event by event. The function makes a checker for each worker.
func New[J Checker](property string, checker func(lockstep.Info) J) lockstep.Spec {
	return single{property: property, checker: func(i lockstep.Info) Checker { return checker(i) }}
}

// OnEvent is a spec of one property that a function checks, at every event of the given type. The state is the
// function's memory: its zero value at the start of a run.
func OnEvent[S any](property, event string,
	checker func(state *S, run *lockstep.Run, e *lockstep.Event) *lockstep.Finding) lockstep.Spec {
	return New(property, func(lockstep.Info) *function[S] { return &function[S]{event: event, checker: checker} })
}

type function[S any] struct {
	event   string
	checker func(*S, *lockstep.Run, *lockstep.Event) *lockstep.Finding
	state   S
	checked int
}

// Reset begins a new run.
func (f *function[S]) Reset() {
	var zero S
	f.state, f.checked = zero, 0
}

// Event checks an event of the property's type.
func (f *function[S]) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if e.Type != f.event {
		return nil
	}
	f.checked++
	return f.checker(&f.state, run, e)
}

// End returns nil: only events are checked.
func (f *function[S]) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked counts the events checked.
func (f *function[S]) Checked() int { return f.checked }

// single is a spec of one property.
type single struct {
	property string
	checker  func(lockstep.Info) Checker
}

// Properties names the property.
func (s single) Properties() []string { return []string{s.property} }

// New makes a monitor.
func (s single) New(info lockstep.Info) lockstep.Monitor {
	return &monitor{property: s.property, checker: s.checker(info)}
}

type monitor struct {
	property string
	checker  Checker
	checked  [1]int
}

// Reset begins a new run.
func (m *monitor) Reset() { m.checker.Reset() }

// EventsOnly says that the monitor uses only events.
func (m *monitor) EventsOnly() bool { return true }

// Step checks the events of a step.
func (m *monitor) Step(run *lockstep.Run) *lockstep.Finding {
	events := run.Events()
	for i := range events {
		if f := m.checker.Event(run, &events[i]); f != nil {
			return m.named(f)
		}
	}
	return nil
}

// End checks the end of a run.
func (m *monitor) End(run *lockstep.Run) *lockstep.Finding {
	return m.named(m.checker.End(run))
}

// Conclude counts the checks.
func (m *monitor) Conclude(bool) lockstep.Conclusion {
	m.checked[0] = m.checker.Checked()
	return lockstep.Conclusion{Checked: m.checked[:]}
}

// named gives a finding the property's name, in a copy: the checker may reuse the finding.
func (m *monitor) named(f *lockstep.Finding) *lockstep.Finding {
	if f == nil || f.Property != "" {
		return f
	}
	named := *f
	named.Property = m.property
	return &named
}
