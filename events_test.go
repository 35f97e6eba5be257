package lockstep_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/enginetest"
	"github.com/lockstep-go/lockstep/internal/toy"
	"github.com/lockstep-go/lockstep/strategy"
)

// looks counts how often its monitor is called, with events and without.
type looks struct {
	only          bool
	with, without *int
}

func (looks) Properties() []string                 { return []string{"looks"} }
func (l looks) New(lockstep.Info) lockstep.Monitor { return l }
func (looks) Reset()                               {}
func (l looks) EventsOnly() bool                   { return l.only }
func (looks) End(*lockstep.Run) *lockstep.Finding  { return nil }
func (looks) Conclude(bool) lockstep.Conclusion    { return lockstep.Conclusion{} }
func (l looks) Step(run *lockstep.Run) *lockstep.Finding {
	if len(run.Events()) > 0 {
		*l.with++
	} else if run.Steps() > 0 {
		*l.without++
	}
	return nil
}

// A monitor that looks at events only sees all of them, and no step without.
func TestEventsOnly(t *testing.T) {
	var with, without [2]int
	for i, only := range []bool{false, true} {
		enginetest.Explore(t, lockstep.Plan{System: toy.Cluster(nil), Strategy: strategy.DefaultWalk, Runs: 20, Workers: 1,
			Spec: looks{only: only, with: &with[i], without: &without[i]}})
	}
	if with[0] == 0 || with[0] != with[1] || without[0] == 0 || without[1] != 0 {
		t.Errorf("called %v times with events and %v times without", with, without)
	}
}
