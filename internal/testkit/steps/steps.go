// Package steps provides a strategy for tests, which takes the given steps.
package steps

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// List takes its steps in every run, whether they are possible or not. An impossible step ends the campaign with an
// error.
type List []lockstep.Step

// String returns the name of the strategy.
func (List) String() string { return "steps" }

// Fit gives no guarantee.
func (List) Fit(lockstep.Info) (lockstep.Terms, error) { return lockstep.Terms{}, nil }

// New returns a scheduler.
func (l List) New(lockstep.Info) lockstep.Scheduler { return &scheduler{list: l} }

// Forging is a List whose Replace steps have a body.
type Forging struct {
	List
	Body string
}

// New returns a scheduler.
func (f Forging) New(lockstep.Info) lockstep.Scheduler { return &scheduler{list: f.List, body: f.Body} }

type scheduler struct {
	list List
	body string
	at   int
}

// Reset begins a new run.
func (s *scheduler) Reset(*lockstep.Start) { s.at = 0 }

// Next takes the next step of the list.
func (s *scheduler) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if s.at == len(s.list) {
		return false
	}
	*next = s.list[s.at]
	s.at++
	if next.Kind == trace.Replace {
		*next = turn.Forge(next.Msg, s.body)
	}
	return true
}

// Report returns the zero value: there is nothing to report.
func (*scheduler) Report(bool) lockstep.SchedulerStats { return lockstep.SchedulerStats{} }
