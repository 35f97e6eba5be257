package cli

import (
	"sync"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/keep"
)

// stored are the findings that were stored as soon as they were found, so that they are there whatever ends the
// campaign.
type stored struct {
	mutex sync.Mutex
	files map[int]string // by run
}

// add stores a finding. One that cannot be stored now is stored in the end, or its error is reported then.
func (s *stored) add(e *Env, dir string, f *lockstep.Found) {
	file, err := e.tryStore(dir, keep.NameIn(dir, f.Trace, f.Run), f.Trace)
	if err != nil {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.files[f.Run] = file
}

// file is where the finding of a run is; empty: it is not stored.
func (s *stored) file(run int) string {
	if s == nil {
		return ""
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.files[run]
}
