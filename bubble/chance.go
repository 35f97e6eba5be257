package bubble

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/lockstep-go/lockstep"
)

// Source is a random source for a node or for the run. It is like [lockstep.Source], but any number of goroutines may
// use it. The trace records each draw with the step in which it is made. So leaving out a step changes no draw of
// another step. Shrinking lowers draws: a program should let 0 mean the mildest outcome. A Source implements
// [rand.Source] of math/rand/v2.
//
// Goroutines may outlive the run, because they are still ending or because the watchdog gave the run up. The trace does
// not record their draws.
type Source struct {
	lot    *lot
	stream uint64
	source lockstep.Source
	late   bool // it was reseeded, independent of the engine
}

// The streams of a run's seed. Lower numbers are the streams of incarnations and those that clusters choose.
const (
	diskStream    = 1 << 32 // plus the node: faults of system calls on files
	stepStream    = 1 << 33 // faults of nodes in a step
	preemptStream = 1 << 34 // preemptions of goroutines
	splitStream   = 1 << 40 // where writes to sockets are split
)

// lot is the state that all sources of a run share.
type lot struct {
	mutex sync.Mutex
	out   *lockstep.Outbox // nil without an engine
	seed  uint64
	over  bool
}

// begin is called at the start of the run.
func (l *lot) begin(seed uint64, out *lockstep.Outbox) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.seed, l.out = seed, out
}

// end detaches the sources, which may outlive the run, from the engine.
func (l *lot) end() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.over = true
}

// share makes the draws that the engine recorded visible to goroutines, and the reverse. The engine calls it before and
// after goroutines run.
func (l *lot) share() {
	l.mutex.Lock()
	l.mutex.Unlock() //nolint:staticcheck // to have had the lock is enough
}

// chance makes the source of a stream, for draws of a node or, if by is 0, of the engine.
func (l *lot) chance(by lockstep.Node, stream uint64) *Source {
	c := &Source{lot: l, stream: stream}
	c.source.By = by
	c.source.Seed(l.out, l.seed, stream)
	return c
}

// own is the source to draw from. The caller holds the lock.
func (s *Source) own() *lockstep.Source {
	if s.lot.over && !s.late {
		s.late = true
		s.source.Seed(nil, s.lot.seed, s.stream)
	}
	return &s.source
}

// IntN draws a number from 0 to n-1. It panics if n is less than 1.
func (s *Source) IntN(n int) int {
	s.lot.mutex.Lock()
	defer s.lot.mutex.Unlock()
	return s.own().IntN(n)
}

// about draws a number from 0 to n-1 that decides about the preemption of a goroutine.
func (s *Source) about(goroutine uint32, n int64) int64 {
	s.lot.mutex.Lock()
	defer s.lot.mutex.Unlock()
	source := s.own()
	source.Goroutine = goroutine
	return int64(source.IntN(int(n)))
}

// Uint64 draws any number.
func (s *Source) Uint64() uint64 {
	s.lot.mutex.Lock()
	defer s.lot.mutex.Unlock()
	return s.own().Uint64()
}

// strikes draws whether an event happens that has this probability.
func (s *Source) strikes(share float64) bool { return share > 0 && strikes(s.IntN, share) }

// strikes draws so with a function that draws numbers below another.
func strikes(intN func(int) int, share float64) bool {
	const parts = 1_000_000
	return intN(parts) >= parts-int(math.Ceil(share*parts))
}

// rand is the source for code that needs a generator of math/rand/v2.
func (s *Source) rand() *rand.Rand { return rand.New(s) }
