package process

import (
	"fmt"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
)

// Times sums the [Spent] of complete runs, for a report of where the real time of a campaign goes.
type Times struct {
	mutex sync.Mutex
	sum   Spent
	runs  int
}

// Spec returns a spec that checks nothing and adds the time of each complete run: it reads the [EventTime] of the run.
// It is a spec, because a plan passes all events to its spec; combine it with others by spec.All.
func (s *Times) Spec() lockstep.Spec {
	return spec.OnEvent(
		"time",
		EventTime,
		func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			if t, ok := e.Value.(Spent); ok {
				s.Add(t)
			}
			return nil
		},
	)
}

// Add adds the time of a run.
func (s *Times) Add(t Spent) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.sum.Add(t)
	s.runs++
}

// Runs returns the number of runs added.
func (s *Times) Runs() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.runs
}

// String formats the mean time of a run, and its parts.
func (s *Times) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	mean := (s.sum.Starting + s.sum.Waiting + s.sum.Working) / time.Duration(max(s.runs, 1))
	return fmt.Sprintf("%s a run in the mean of %d, %s", mean.Round(time.Millisecond), s.runs, s.sum)
}
