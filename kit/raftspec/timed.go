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
func (l HasLeader) New(i lockstep.Info) lockstep.Monitor {
	return &timed{timeout: time.Duration(l), leads: make([]bool, i.Nodes+1)}
}

// Properties names what is checked.
func (LeaderStable) Properties() []string { return []string{"stability"} }

// New makes a monitor.
func (s LeaderStable) New(i lockstep.Info) lockstep.Monitor {
	return &timed{timeout: time.Duration(s), stable: true, leads: make([]bool, i.Nodes+1)}
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
func (m *timed) Reset() {
	clear(m.leads)
	m.began, m.elections, m.checked[0] = -1, 0, 0
}

// Step takes note of new roles.
func (m *timed) Step(run *lockstep.Run) *lockstep.Finding {
	if run.Settling() && m.began < 0 {
		m.began = run.Now()
	}
	events := run.Events()
	for i := range events {
		e := &events[i]
		switch e.Value.(type) {
		case *Role:
			m.leads[e.Node] = e.Type == BecameLeader
			if m.leads[e.Node] && m.lasted(run) > m.timeout {
				m.elections++
			}
		case *Restarted:
			m.leads[e.Node] = false
		}
	}
	return nil
}

// lasted is how long the settling stage lasts.
func (m *timed) lasted(run *lockstep.Run) time.Duration {
	if m.began < 0 {
		return 0
	}
	return time.Duration(run.Now() - m.began)
}

// End checks the end of a run.
func (m *timed) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || m.lasted(run) < 2*m.timeout {
		return nil
	}
	m.checked[0]++
	switch {
	case !m.stable && !slices.Contains(m.leads, true):
		return &lockstep.Finding{Property: "liveness", Text: "after settling there is no leader"}
	case m.stable && m.elections > 1:
		return &lockstep.Finding{Property: "stability", Text: fmt.Sprintf("long after the last fault there were %d elections",
			m.elections)}
	}
	return nil
}

// EventsOnly reports that steps without events are checked, too.
func (*timed) EventsOnly() bool { return false }

// Conclude counts the checks.
func (m *timed) Conclude(bool) lockstep.Conclusion { return lockstep.Conclusion{Checked: m.checked[:]} }
