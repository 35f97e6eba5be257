// Package timers keeps the timers of a node, of which the engine knows only that due first.
package timers

import (
	"slices"

	"github.com/lockstep-go/lockstep"
)

// Timers are those of one node that are set, in the order in which they were set.
type Timers []timer

type timer struct {
	name string
	at   lockstep.Time
}

// Set sets a timer; one of the same name is replaced.
func (t *Timers) Set(name string, at lockstep.Time) {
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

// Clear stops all of them.
func (t *Timers) Clear() { *t = (*t)[:0] }

// first is the place of the timer that is due first; of several the one that was set first.
func (t Timers) first() int {
	first := 0
	for i := range t {
		if t[i].at < t[first].at {
			first = i
		}
	}
	return first
}

// Fire takes out the timer that is due first, and tells which it is. There is one.
func (t *Timers) Fire() (name string) {
	i := t.first()
	name = (*t)[i].name
	*t = slices.Delete(*t, i, i+1)
	return name
}

// Arm arms the alarm of a node for the timer that is due first.
func (t Timers) Arm(n lockstep.Node, out *lockstep.Outbox) {
	if len(t) == 0 {
		out.StopAlarm(n)
		return
	}
	out.SetAlarm(n, t[t.first()].at)
}
