package lockstep

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep/trace"
)

// DefaultTries is the number of runs that Shrink makes at most unless told otherwise.
const DefaultTries = 100_000

// Shrunk is what Shrink made of a failing run.
type Shrunk struct {
	Trace *trace.Trace
	Tries int    // runs made
	Was   string // the size before, in words
	Is    string // and after
	// Exhausted says that the tries were used up before nothing more could be found.
	Exhausted bool
}

// Shrink looks for a smaller run that violates the same property as the trace. A run in
// lock-step rounds stays one: it loses phases, rounds, isolations, lost messages and
// requests, and isolations move to later rounds. Any other run loses steps, and what is
// left is put into a normal order. Every candidate is run on the plan's system; the
// result is the smallest that failed, recorded. Tries bounds the number of runs, 0
// means DefaultTries. When the context ends, the smallest so far is returned.
//
// Shrink is deterministic unless the context ends it.
func Shrink(ctx context.Context, plan Plan, t *trace.Trace, tries int) (*Shrunk, error) {
	if t.Outcome.Finding == nil {
		return nil, errors.New("lockstep: only a failing run can be shrunk, and the trace has no finding")
	}
	if tries < 0 {
		return nil, fmt.Errorf("lockstep: %d tries, the number must not be negative", tries)
	}
	orDefault(&tries, DefaultTries)
	w, err := newReplayer(plan, t)
	if err != nil {
		return nil, err
	}
	defer w.close()
	s := &shrinker{ctx: ctx, worker: w, number: t.Header.Run, property: t.Outcome.Finding.Property, left: tries}
	out := &Shrunk{}
	var best candidate
	if len(t.Rounds) > 0 {
		best, out.Was, out.Is, err = s.schedule(t)
	} else {
		best, out.Was, out.Is, err = s.script(t)
	}
	if err != nil {
		return nil, err
	}
	out.Tries, out.Exhausted = tries-s.left, s.left <= 0
	w.sched = best.scheduler(w)
	out.Trace, err = w.record(s.number)
	if err == nil && !s.same(out.Trace.Outcome) {
		err = errors.New("lockstep: the smallest run did not fail again when it was recorded: the system is not deterministic")
	}
	out.Trace.Header.Strategy, out.Trace.Header.Drawn = t.Header.Strategy, t.Header.Drawn
	out.Trace.Header.Shrunk = "from " + out.Was
	return out, err
}

// candidate is a run that might fail too.
type candidate interface {
	// scheduler makes the run's scheduler; it may use that of the run before again.
	scheduler(*worker) Scheduler
}

// shrinker tries candidates.
type shrinker struct {
	ctx      context.Context
	worker   *worker
	number   int
	property string
	left     int
}

func (s *shrinker) same(o trace.Outcome) bool {
	return o.Finding != nil && o.Finding.Property == s.property
}

// notRepeated is the error when a run does not fail again.
func (s *shrinker) notRepeated(what string) error {
	if err := s.ctx.Err(); err != nil {
		return fmt.Errorf("lockstep: there was no time to shrink: %w", err)
	}
	return fmt.Errorf("lockstep: the run does not fail when its %s are repeated: it is flaky", what)
}

// fails runs a candidate and reports whether it violates the same property.
func (s *shrinker) fails(c candidate) bool {
	if s.left <= 0 || s.ctx.Err() != nil {
		s.left = min(s.left, 0)
		return false
	}
	s.left--
	s.worker.sched = c.scheduler(s.worker)
	outcome, err := s.worker.one(s.number)
	return err == nil && s.same(outcome)
}
