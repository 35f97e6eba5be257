package spec

import "github.com/lockstep-go/lockstep"

// Watcher judges the events of one run after the other, for [New].
type Watcher interface {
	// Reset begins a new run.
	Reset()
	// Event judges an event. It may leave the finding's property to the spec.
	Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding
	// Judged is the number of times since Reset that the property could have failed, or
	// lockstep.NotCounted.
	Judged() int
}

// Ender is a Watcher that also judges the end of a run.
type Ender interface {
	Watcher
	// End judges the final state; see [lockstep.Monitor].
	End(run *lockstep.Run) *lockstep.Finding
}

// New is a spec of one property that a watcher judges, event by event. It makes a
// watcher for each worker.
func New[W Watcher](property string, watcher func(lockstep.Info) W) lockstep.Spec {
	return watched{property: property, watcher: func(i lockstep.Info) Watcher { return watcher(i) }}
}

// OnEvent is a spec of one property that a function judges, at every event of the type
// given. The state is the function's memory: its zero value at the start of a run.
func OnEvent[S any](property, event string, judge func(state *S, run *lockstep.Run, e *lockstep.Event) *lockstep.Finding) lockstep.Spec {
	return New(property, func(lockstep.Info) *function[S] { return &function[S]{event: event, judge: judge} })
}

type function[S any] struct {
	event  string
	judge  func(*S, *lockstep.Run, *lockstep.Event) *lockstep.Finding
	state  S
	judged int
}

// Reset begins a new run.
func (f *function[S]) Reset() {
	var zero S
	f.state, f.judged = zero, 0
}

// Event judges an event of the property's type.
func (f *function[S]) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if e.Type != f.event {
		return nil
	}
	f.judged++
	return f.judge(&f.state, run, e)
}

// Judged counts the events judged.
func (f *function[S]) Judged() int { return f.judged }

type watched struct {
	property string
	watcher  func(lockstep.Info) Watcher
}

// Properties names what is judged.
func (w watched) Properties() []string { return []string{w.property} }

// New makes a monitor.
func (w watched) New(info lockstep.Info) lockstep.Monitor {
	m := &watch{property: w.property, watcher: w.watcher(info)}
	m.ender, _ = m.watcher.(Ender)
	return m
}

type watch struct {
	property string
	watcher  Watcher
	ender    Ender // the watcher, where it is one
	judged   [1]int
}

// Reset begins a new run.
func (w *watch) Reset() { w.watcher.Reset() }

// EventsOnly says that the watcher gets events.
func (w *watch) EventsOnly() bool { return true }

// Step judges after a step.
func (w *watch) Step(run *lockstep.Run) *lockstep.Finding {
	events := run.Events()
	for i := range events {
		if f := w.watcher.Event(run, &events[i]); f != nil {
			return w.named(f)
		}
	}
	return nil
}

// End judges the end of a run.
func (w *watch) End(run *lockstep.Run) *lockstep.Finding {
	if w.ender == nil {
		return nil
	}
	return w.named(w.ender.End(run))
}

// Conclude counts the judgements.
func (w *watch) Conclude(bool) lockstep.Conclusion {
	w.judged[0] = w.watcher.Judged()
	return lockstep.Conclusion{Judged: w.judged[:]}
}

// named gives a finding the property's name, in a copy: the watcher may use it again.
func (w *watch) named(f *lockstep.Finding) *lockstep.Finding {
	if f == nil || f.Property != "" {
		return f
	}
	named := *f
	named.Property = w.property
	return &named
}
