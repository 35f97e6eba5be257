package raftspec

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Bounded liveness by the time of the run, for systems whose time is that of their own
// timers. It is checked only where the settling stage lasts for twice the time given.
type (
	// HasLeader, "liveness": at the end of the settling stage there is a leader.
	HasLeader time.Duration
	// LeaderStable, "stability": once the settling stage has lasted for this time there is at most
	// one further election.
	LeaderStable time.Duration
)

// Properties names what is checked.
func (HasLeader) Properties() []string { return []string{"liveness"} }

// New makes a monitor.
func (h HasLeader) New(i lockstep.Info) lockstep.Monitor {
	return &timed{timeout: time.Duration(h), leads: make([]bool, i.Nodes+1)}
}

// Properties names what is checked.
func (LeaderStable) Properties() []string { return []string{"stability"} }

// New makes a monitor.
func (l LeaderStable) New(i lockstep.Info) lockstep.Monitor {
	return &timed{timeout: time.Duration(l), stable: true, leads: make([]bool, i.Nodes+1)}
}

// timed follows the leaders, and counts elections late in the settling stage.
type timed struct {
	timeout   time.Duration
	stable    bool
	leads     []bool // by node
	began     trace.Time
	elections int
	checked   [1]int
}

// Reset begins a new run.
func (t *timed) Reset() {
	clear(t.leads)
	t.began, t.elections, t.checked[0] = -1, 0, 0
}

// Step takes note of new roles.
func (t *timed) Step(run *lockstep.Run) *lockstep.Finding {
	if run.Settling() && t.began < 0 {
		t.began = run.Now()
	}
	events := run.Events()
	for i := range events {
		e := &events[i]
		switch e.Value.(type) {
		case *Role:
			t.leads[e.Node] = e.Type == BecameLeader
			if t.leads[e.Node] && t.lasted(run) > t.timeout {
				t.elections++
			}
		case *Restarted:
			t.leads[e.Node] = false
		}
	}
	return nil
}

// lasted is how long the settling stage lasts.
func (t *timed) lasted(run *lockstep.Run) time.Duration {
	if t.began < 0 {
		return 0
	}
	return time.Duration(run.Now() - t.began)
}

// End checks the end of a run.
func (t *timed) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || t.lasted(run) < 2*t.timeout {
		return nil
	}
	t.checked[0]++
	switch {
	case !t.stable && !slices.Contains(t.leads, true):
		return &lockstep.Finding{Property: "liveness", Text: "after settling there is no leader"}
	case t.stable && t.elections > 1:
		return &lockstep.Finding{Property: "stability", Text: fmt.Sprintf("long after the last fault there were %d elections",
			t.elections)}
	}
	return nil
}

// EventsOnly reports that steps without events are checked, too.
func (*timed) EventsOnly() bool { return false }

// Conclude counts the checks.
func (t *timed) Conclude(bool) lockstep.Conclusion { return lockstep.Conclusion{Checked: t.checked[:]} }
