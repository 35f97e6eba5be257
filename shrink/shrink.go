// Package shrink looks for a smaller run that violates the same property as a recorded one.
//
// A smaller run stays within the network and fault model of the run that was found: it has no more steps, requests and
// faults, and keeps to the order of messages that the strategy keeps to ([lockstep.Terms]).
//
// What follows when the finding is certain goes first.
// A run in lock-step rounds stays one: it loses phases, rounds, isolations, lost messages and
// requests, and isolations move to later rounds. Any other run loses steps, what the system drew
// is lowered, and what is left is put into a normal order; then local minima are left, see
// search. The steps of a settling stage are steps like others, where the run
// fails without one. Every candidate is run on the plan's system; the result is the smallest that
// failed, recorded.
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
	DefaultTries       = 100_000
	DefaultRepetitions = 5
	DefaultShare       = 0.6
)

// Options bound the work.
type Options struct {
	// Tries is the number of runs to make at most; 0 means DefaultTries.
	Tries int
	// Repetitions and Share are for a system that repeats itself only roughly: a candidate
	// counts as failing when it fails in at least this share of so many repetitions. 0 means
	// DefaultRepetitions and DefaultShare.
	Repetitions int
	Share       float64
	// Progress, where it is set, is called after every run with the number of runs so far and what tells the size of the
	// smallest that failed.
	Progress func(tries int, size func() string)
}

// Shrunk is what became of a failing run.
type Shrunk struct {
	Trace *trace.Trace
	Tries int    // runs made
	Was   string // the size before, in words
	Is    string // and after
	// Exhausted says that the tries were used up before nothing more could be found.
	Exhausted bool
}

// Run shrinks a run. When the context ends, the smallest so far is returned. It is
// deterministic unless the context ends it or the system does not repeat itself.
//
// An error means that the plan cannot be run, that the trace is not of its system or does
// not fail when it is repeated, or that the environment is broken.
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

// unsettled is a run that needs no settling stage to take the steps that it took in one; nil
// where it had none, or is in rounds.
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
	b, err := lockstep.NewBenchFor(plan, t)
	if err != nil {
		return nil, err
	}
	s := &shrinker{ctx: ctx, plan: plan, bench: b, info: b.Info(), number: t.Header.Run, property: t.Outcome.Finding.Property,
		options: o, left: o.Tries, settle: t.Header.Settle, was: extentOf(t)}
	if s.info.Repeats == lockstep.Exactly {
		s.options.Repetitions, s.options.Share = 1, 1
	}
	s.ordered = b.KeepOrder(true)
	out, err := s.shrink(t)
	return out, errors.Join(err, b.Close())
}

func (o *Options) complete() error {
	switch {
	case o.Tries < 0 || o.Repetitions < 0:
		return fmt.Errorf("shrink: %d tries and %d repetitions, neither must be negative", o.Tries, o.Repetitions)
	case !(o.Share >= 0 && o.Share <= 1):
		return fmt.Errorf("shrink: share is %v, allowed is [0,1]", o.Share)
	}
	o.Tries = cmp.Or(o.Tries, DefaultTries)
	o.Repetitions = cmp.Or(o.Repetitions, DefaultRepetitions)
	o.Share = cmp.Or(o.Share, DefaultShare)
	return nil
}

// candidate is a run that might fail too.
type candidate interface {
	scheduler(*shrinker) lockstep.Scheduler
	size() string // in words
}

// shrinker tries candidates.
type shrinker struct {
	ctx      context.Context
	plan     lockstep.Plan
	bench    *lockstep.Bench
	info     lockstep.Info
	number   int
	property string
	options  Options
	settle   int    // steps of the settling stage
	left     int    // tries that may still be made
	tried    int    // and those that were
	was      extent // of the run to be shrunk
	ordered  bool   // messages of a link keep an order
	err      error  // of the environment: nothing can be tried any more

	first  cost             // of the schedule to be shrunk
	rounds *scheduled       // the scheduler of runs in rounds, used again and again
	player *lockstep.Player // of the script tried last
	teller *teller          // of the timetable tried last
	kept   []kept           // each smaller than the one before
}

// kept is a candidate that failed with a settling stage of so many steps.
type kept struct {
	candidate
	settle int
}

// keep notes that a candidate is the smallest so far. One with more of anything than the run had is not noted, nor a
// script with more actions than the one noted before. Draws may grow on the way: a choice that hides those after it is
// reduced to these first.
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
	out.Tries, out.Exhausted = s.tried, s.left <= 0 && s.ctx.Err() == nil
	if err := s.record(t, out); err != nil {
		return nil, err
	}
	out.Trace.Header.Strategy, out.Trace.Header.Drawn, out.Trace.Header.Order = t.Header.Strategy, t.Header.Drawn, t.Header.Order
	out.Trace.Header.Shrunk = "from " + out.Was
	return out, nil
}

// record records the smallest run. Where the system repeats itself only roughly, that may have
// failed often enough by luck: the smallest is taken that fails when it is recorded. Where each has more of something
// than the run that was found, it is that run.
func (s *shrinker) record(found *trace.Trace, out *Shrunk) error {
	again := false
	for _, c := range slices.Backward(s.kept) {
		s.bench.Settle(c.settle)
		for range s.options.Repetitions {
			t, err := s.bench.Record(context.WithoutCancel(s.ctx), s.number, c.scheduler(s))
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

// errPasses says that a run does not fail.
var errPasses = errors.New("shrink: the run does not fail")

// notRepeated is the error when a run does not fail again.
func (s *shrinker) notRepeated(what string) error {
	if s.err != nil {
		return s.err // it says more
	}
	if err := s.ctx.Err(); err != nil {
		return fmt.Errorf("shrink: there was no time: %w", err)
	}
	return fmt.Errorf("%w when its %s are repeated: it is flaky", errPasses, what)
}

// over reports whether no more runs are made. Who goes through many candidates asks first, because one that is made for nothing may be long, and in a bubble
// nothing is collected before the next run.
func (s *shrinker) over() bool {
	if s.left > 0 && s.err == nil && s.ctx.Err() == nil {
		return false
	}
	s.left = min(s.left, 0)
	return true
}

// fails runs a candidate and reports whether it violates the same property within the fault model of the run that is
// shrunk.
func (s *shrinker) fails(c candidate) bool {
	return s.violates(c) && s.made(c).faults.within(s.was.faults)
}

// violates runs a candidate and reports whether it violates the same property, often enough
// where the system repeats itself only roughly.
func (s *shrinker) violates(c candidate) bool {
	of := s.options.Repetitions
	need := int(math.Ceil(s.options.Share * float64(of)))
	for done, failed := 0, 0; done < of; done++ {
		if failed >= need || failed+of-done < need {
			return failed >= need
		}
		if s.over() {
			return false
		}
		s.left--
		s.tried++
		outcome, err := s.bench.Run(s.ctx, s.number, c.scheduler(s))
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
