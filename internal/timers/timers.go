// Package timers keeps the timers of a node for an engine that knows only the timer due first.
package timers

import (
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Timers are the set timers of one node, in the order in which they were set.
type Timers []timer

type timer struct {
	name string
	at   trace.Time
}

// Set sets a timer. It replaces a timer of the same name.
func (t *Timers) Set(name string, at trace.Time) {
	t.Stop(name)
	*t = append(*t, timer{name, at})
}

// Has reports whether a timer is set.
func (t Timers) Has(name string) bool { return t.index(name) >= 0 }

func (t Timers) index(name string) int {
	return slices.IndexFunc(t, func(t timer) bool { return t.name == name })
}

// Stop stops a timer.
func (t *Timers) Stop(name string) {
	if i := t.index(name); i >= 0 {
		*t = slices.Delete(*t, i, i+1)
	}
}

// Clear stops all timers.
func (t *Timers) Clear() { *t = (*t)[:0] }

// First returns the timer that is due first, and whether there is one. Among several it returns the one that was set
// first.
func (t Timers) First() (name string, at trace.Time, ok bool) {
	for _, next := range t {
		if !ok || next.at < at {
			name, at, ok = next.name, next.at, true
		}
	}
	return name, at, ok
}

// Fire stops the timer that is due first, and returns its name. At least one timer must be set.
func (t *Timers) Fire() (name string) {
	name, _, _ = t.First()
	t.Stop(name)
	return name
}

// Arm sets the node's timer in the engine to the timer that is due first.
func (t Timers) Arm(n lockstep.Node, out *lockstep.Outbox) {
	if _, at, ok := t.First(); ok {
		out.SetTimer(n, at)
	} else {
		out.StopTimer(n)
	}
}
