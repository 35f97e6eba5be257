package cli

import (
	"sync"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
)

// stored has the findings that were stored as soon as they were found, so that they survive any end of the campaign.
type stored struct {
	mutex sync.Mutex
	files map[int]string // by run
}

// add stores a finding. If that fails now, the command stores it at the end, or reports the error then.
func (s *stored) add(e *Env, dir string, f *lockstep.Failure) {
	file, err := e.tryStore(dir, artifact.NameIn(dir, f.Trace, f.Run), f.Trace)
	if err != nil {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.files[f.Run] = file
}

// file returns the file with the finding of a run; empty: it is not stored.
func (s *stored) file(run int) string {
	if s == nil {
		return ""
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.files[run]
}
