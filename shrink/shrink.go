// Package shrink searches for a smaller run that violates the same property as a recorded run.
//
// A smaller run stays within the network and fault model of the original run. It has no more steps, requests and
// faults, and respects the message order of the strategy ([lockstep.Terms]).
//
// The package first removes the steps that a run takes after its finding is certain. A run in lock-step rounds stays
// one: it loses phases, rounds, isolations, lost messages and requests, and isolations move to later rounds. Any other
// run loses steps, its draws are lowered, and the remaining steps are put into a normal order. A search then leaves
// local minima, in which no single step can be removed: it begins again with scripts that have superfluous steps. If
// the run fails without a settling stage, the steps of that stage can be removed like others. Every candidate runs on
// the plan's system. The result is a recording of the smallest failing candidate.
//
// [Nearest] searches for the passing run that is nearest to a failing one.
package shrink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Defaults of Options.
const (
	DefaultAttempts    = 100_000
	DefaultRepetitions = 5
	DefaultShare       = 0.6
)

// Options configure the effort.
type Options struct {
	// Attempts is the maximum number of runs; 0 means DefaultAttempts.
	Attempts int
	// Repetitions and Share are for a system with best-effort determinism. A candidate counts as failing if at least
	// this share of the repetitions fails. 0 means DefaultRepetitions and DefaultShare.
	Repetitions int
	Share       float64
	// Progress, if set, is called after every run. Its arguments are the number of runs so far, and a function that
	// returns the size of the smallest failing candidate.
	Progress func(attempts int, size func() string)
}

// Shrunk is the result of shrinking a failing run.
type Shrunk struct {
	Trace    *trace.Trace
	Attempts int    // number of runs executed
	Was      string // the original size, as text
	Is       string // the new size, as text
	// Exhausted says that the attempts were used up before the search was finished.
	Exhausted bool
}

// Run shrinks a run. When the context ends, Run returns the smallest run so far. It is deterministic unless the context
// ends it or the system is nondeterministic.
//
// Run returns an error if the plan cannot be run or the environment is broken. It also does if the trace belongs to
// another system or does not fail again.
func Run(ctx context.Context, plan lockstep.Plan, t *trace.Trace, o Options) (*Shrunk, error) {
	if t.Outcome.Finding == nil {
		return nil, errors.New("shrink: only a failing run can be shrunk, and the trace has no finding")
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	if u := unsettled(t); u != nil {
		if out, err := run(ctx, plan, u, o); !errors.Is(err, errPasses) {
			return out, err
		}
	}
	return run(ctx, plan, t, o)
}

// unsettled returns a run that takes the recorded settling steps as ordinary steps. It returns nil if there is no
// settling stage, or if the run is in rounds.
func unsettled(t *trace.Trace) *trace.Trace {
	if t.Header.Settle == 0 || len(t.Rounds) > 0 {
		return nil
	}
	u := *t
	u.Header.Settle, u.Records = 0, slices.Clone(t.Records)
	for i := range u.Records {
		u.Records[i].Settle = false
	}
	return &u
}

// run shrinks a run as it is.
func run(ctx context.Context, plan lockstep.Plan, t *trace.Trace, o Options) (*Shrunk, error) {
	s, err := newShrinker(ctx, plan, t, o)
	if err != nil {
		return nil, err
	}
	out, err := s.shrink(t)
	return out, errors.Join(err, s.runner.Close())
}

// newShrinker returns a shrinker of a run; its runner must be closed.
func newShrinker(ctx context.Context, plan lockstep.Plan, t *trace.Trace, o Options) (*shrinker, error) {
	b, err := lockstep.NewRunnerFor(plan, t)
	if err != nil {
		return nil, err
	}
	s := &shrinker{
		ctx:      ctx,
		plan:     plan,
		runner:   b,
		info:     b.Info(),
		number:   t.Header.Run,
		property: t.Outcome.Finding.Property,
		options:  o,
		left:     o.Attempts,
		settle:   t.Header.Settle,
		was:      extentOf(t),
		groups:   requestGroups(t),
	}
	if s.info.Determinism == lockstep.Deterministic {
		s.options.Repetitions, s.options.Share = 1, 1
	}
	s.ordered = b.KeepOrder(true)
	return s, nil
}

func (o *Options) complete() error {
	switch {
	case o.Attempts < 0 || o.Repetitions < 0:
		return fmt.Errorf("shrink: %d attempts and %d repetitions, neither must be negative", o.Attempts, o.Repetitions)
	case !(o.Share >= 0 && o.Share <= 1):
		return fmt.Errorf("shrink: share is %v, allowed is [0,1]", o.Share)
	}
	o.Attempts = cmp.Or(o.Attempts, DefaultAttempts)
	o.Repetitions = cmp.Or(o.Repetitions, DefaultRepetitions)
	o.Share = cmp.Or(o.Share, DefaultShare)
	return nil
}

// candidate is a run that may fail, too.
type candidate interface {
	scheduler(*shrinker) lockstep.Scheduler
	size() string // as text
}

// shrinker runs candidates and keeps the smallest failing ones.
type shrinker struct {
	ctx      context.Context
	plan     lockstep.Plan
	runner   *lockstep.Runner
	info     lockstep.Info
	number   int
	property string
	options  Options
	settle   int    // steps of the settling stage
	left     int    // attempts left
	tried    int    // attempts made
	was      extent // extent of the original run
	groups   [][]int32
	ordered  bool  // messages of a link have an order
	err      error // error of the environment: no attempt is possible

	first      cost             // cost of the original schedule
	rounds     *scheduled       // the scheduler of runs in rounds, reused
	player     *lockstep.Player // of the latest script
	timetabler *timetabler      // of the latest timetable
	kept       []kept           // each smaller than the previous one
}

// kept is a candidate that failed with a settling stage of this length.
type kept struct {
	candidate
	settle int
}

// keep records a candidate as the smallest so far. It ignores a candidate that exceeds the extent of the original run,
// and a script with more actions than the previous one. Draws may grow on the way: a choice that hides later draws is
// first reduced to these.
func (s *shrinker) keep(c candidate) {
	switch c := c.(type) {
	case timetable:
		if !c.has.within(s.was) {
			return
		}
	case script:
		if !c.extent().within(s.was) {
			return
		}
		if n := len(s.kept); n > 0 {
			if before, ok := s.kept[n-1].candidate.(script); ok && len(before) < len(c) {
				return
			}
		}
	}
	s.kept = append(s.kept, kept{c, s.settle})
}

func (s *shrinker) shrink(t *trace.Trace) (*Shrunk, error) {
	out := &Shrunk{}
	var err error
	if len(t.Rounds) > 0 {
		out.Was, err = s.schedule(t)
	} else {
		out.Was, err = s.script(t)
	}
	if err == nil {
		err = s.err
	}
	if err != nil {
		return nil, err
	}
	out.Attempts, out.Exhausted = s.tried, s.left <= 0 && s.ctx.Err() == nil
	if err := s.record(t, out); err != nil {
		return nil, err
	}
	out.Trace.Header.Strategy, out.Trace.Header.Drawn, out.Trace.Header.Order =
		t.Header.Strategy, t.Header.Drawn, t.Header.Order
	out.Trace.Header.Shrunk = "from " + out.Was
	return out, nil
}

// record records the smallest run. In a system with best-effort determinism, a candidate may have failed often enough
// by chance; record then uses the smallest candidate that fails during recording. If every candidate exceeds the extent
// of the original run, the result is the original run.
func (s *shrinker) record(found *trace.Trace, out *Shrunk) error {
	again := false
	for _, c := range slices.Backward(s.kept) {
		s.runner.Settle(c.settle)
		for range s.options.Repetitions {
			t, err := s.runner.Record(context.WithoutCancel(s.ctx), s.number, c.scheduler(s))
			if err != nil {
				return err
			}
			if !s.same(t.Outcome) {
				continue
			}
			again = true
			if e := extentOf(t); e.within(s.was) || len(t.Rounds) > 0 && e.shorter(s.was) {
				out.Trace, out.Is = t, c.size()
				return nil
			}
		}
	}
	if again {
		whole := *found
		out.Trace, out.Is = &whole, out.Was
		return nil
	}
	return errors.New("shrink: no smaller run failed again when it was recorded: the system does not repeat itself")
}

func (s *shrinker) same(o trace.Outcome) bool {
	return o.Finding != nil && o.Finding.Property == s.property
}

// errPasses reports that a run does not fail.
var errPasses = errors.New("shrink: the run does not fail")

// notRepeated returns the error for a run that does not fail again.
func (s *shrinker) notRepeated(what string) error {
	if s.err != nil {
		return s.err // the more specific error
	}
	if err := s.ctx.Err(); err != nil {
		return fmt.Errorf("shrink: there was no time: %w", err)
	}
	if s.info.Determinism == lockstep.BestEffort {
		// other repetitions may have failed, and the caller has counted them
		return fmt.Errorf("%w in the repetitions of its %s that shrinking made, and may in others", errPasses, what)
	}
	return fmt.Errorf("%w when its %s are repeated: it is flaky", errPasses, what)
}

// exhausted reports whether no more runs are allowed. Loops over many candidates call it before creating one: a
// candidate may be long, and a bubble collects no garbage before the next run.
func (s *shrinker) exhausted() bool {
	if s.left > 0 && s.err == nil && s.ctx.Err() == nil {
		return false
	}
	s.left = min(s.left, 0)
	return true
}

// fails runs a candidate and reports whether it violates the same property within the fault model of the original run.
func (s *shrinker) fails(c candidate) bool {
	return s.violates(c) && s.made(c).faults.within(s.was.faults)
}

// violates runs a candidate and reports whether it violates the same property, in a system with best-effort determinism
// often enough.
func (s *shrinker) violates(c candidate) bool {
	of := s.options.Repetitions
	need := int(math.Ceil(s.options.Share * float64(of)))
	for done, failed := 0, 0; done < of; done++ {
		if failed >= need || failed+of-done < need {
			return failed >= need
		}
		if s.exhausted() {
			return false
		}
		s.left--
		s.tried++
		outcome, err := s.runner.Run(s.ctx, s.number, c.scheduler(s))
		if err != nil {
			if s.ctx.Err() == nil {
				s.err = err
			}
			return false
		}
		if s.options.Progress != nil && len(s.kept) > 0 {
			s.options.Progress(s.tried, s.kept[len(s.kept)-1].size)
		}
		if s.same(outcome) {
			failed++
		}
		if failed >= need {
			return true
		}
	}
	return false
}
