package lockstep

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/lockstep-go/lockstep/trace"
)

// Explore makes the runs of a plan. It returns an error for a plan that cannot be run, and, with the findings so far,
// if the tool itself fails. Findings are in the result. When the context ends, the result covers the runs made so
// far.
func Explore(ctx context.Context, plan Plan) (*Result, error) {
	runner, err := NewBatchRunner(plan)
	if err != nil {
		return nil, err
	}
	result, err := runner.Make(ctx, 0, runner.plan.Runs, 0)
	runner.Conclude(result)
	return result, errors.Join(err, runner.Close())
}

// campaign is an exploration in progress: of all runs of a plan, or of a batch of them.
type campaign struct {
	*BatchRunner
	*prepared
	ctx    context.Context
	end    int // the run after the last
	result *Result
	err    error
	before int // findings in the runs before the first one
	// found is the number of findings merged so far, including earlier ones. A worker reads it to avoid repeating
	// findings that will not be kept.
	found atomic.Int64
	// reporting guards reported, the number of findings passed to Plan.OnFailure.
	reporting sync.Mutex
	reported  int
}

// batch is a worker's result for consecutive runs.
type batch struct {
	// parts are the results of the runs, in run order. A run that fails, is inconclusive or is rechecked is a part of
	// its own. So the campaign ends at the same run for any size of its batches.
	parts   []Result
	alone   bool // the last part is that of a single run and accepts no more
	noted   []noted
	done    bool   // the space is exhausted
	learned []byte // in these runs, which belong to one of several lineages
	err     error
}

// noted is the data that a run leaves for the observers of the plan.
type noted struct {
	run    int
	digest uint64
	by     []observed
}

// observed is what one of the plan's observers gets of a run.
type observed struct {
	observer int
	noted    any
}

// ran is the data of a run until it is counted.
type ran struct {
	number       int
	digest       uint64
	outcome      trace.Outcome
	inconclusive bool
	found        *Failure
	rechecked    bool
	divergence   *Divergence
}

func newCampaign(ctx context.Context, runner *BatchRunner, first, end, found int) *campaign {
	c := &campaign{BatchRunner: runner, prepared: runner.plan, ctx: ctx, end: end, before: found}
	c.found.Store(int64(found))
	c.result = &Result{
		Target:            c.info.Name,
		Strategy:          c.Strategy.String(),
		Seed:              c.Seed,
		From:              first,
		Determinism:       c.info.Determinism,
		Guarantee:         c.terms.Guarantee,
		Verdicts:          map[trace.Verdict]int{},
		Reasons:           map[string]int{},
		InconclusiveLimit: c.MaxInconclusive,
	}
	if first == 0 {
		c.result.Digest = c.Seed
	}
	c.result.Checked = c.unchecked()
	return c
}

// unchecked lists the properties of the spec before the first run.
func (p *prepared) unchecked() (list []Count) {
	if s, ok := p.Spec.(ConditionalSpec); ok {
		list = s.Counts(p.info)
	} else {
		for _, name := range p.Spec.Properties() {
			list = append(list, Count{Name: name})
		}
	}
	for i := range list {
		list[i].N = NotCounted
	}
	return list
}

// worker returns the worker with the given number.
func (c *campaign) worker(number int) *worker {
	w := c.started[number]
	if w == nil {
		w = newWorker(c.prepared, number+c.workers*int(c.left.Load())) // a new number: abandoned workers keep theirs
		c.started[number] = w
	}
	w.ctx = c.ctx
	return w
}

// make makes the runs from first up to, not including, end.
func (c *campaign) make(worker, first, end int) batch {
	if c.Watchdog != nil {
		return c.watched(worker, first, end)
	}
	return c.runs(c.worker(worker), first, end)
}

// runs does this on one worker.
func (c *campaign) runs(w *worker, first, end int) (b batch) {
	if c.severally() {
		if b.err = c.teach(w, first); b.err != nil {
			return b
		}
		defer func() { b.learned = w.sched.(Learner).Learned() }()
	}
	for number := first; number < end && c.ctx.Err() == nil && !w.left.Load(); number++ {
		one := ran{number: number}
		err := w.ran(&one)
		if err == nil {
			alone := one.found != nil || one.inconclusive || c.doubts(&one)
			part := b.part(number, alone)
			w.count(part, &one, &b) // before the repetition overwrites it
			if err = c.repeat(w, &one); err == nil {
				part.conclude(&one)
			} else {
				b.drop(number)
			}
		}
		if err != nil {
			if c.ctx.Err() == nil { // otherwise the run was interrupted
				b.err = err
			}
			return b
		}
		if one.found != nil && !c.KeepGoing || b.done {
			return b
		}
	}
	return b
}

// part is the part of a batch in which to count a run.
func (b *batch) part(number int, alone bool) *Result {
	if n := len(b.parts); n == 0 || alone || b.alone {
		b.parts = append(b.parts, Result{From: number, Verdicts: map[trace.Verdict]int{}})
	}
	b.alone = alone
	return &b.parts[len(b.parts)-1]
}

// drop removes the last part, which is that of a single run.
func (b *batch) drop(number int) {
	b.parts = b.parts[:len(b.parts)-1]
	if n := len(b.noted); n > 0 && b.noted[n-1].run == number {
		b.noted = b.noted[:n-1]
	}
}

// repeat reruns the run just made if it failed or if it is among the passing runs to recheck.
func (c *campaign) repeat(w *worker, one *ran) (err error) {
	switch {
	case one.found != nil && int(c.found.Load()) < c.Keep:
		reported := c.report(one.found)
		if err = w.confirm(one.found, one.digest); err != nil && c.ctx.Err() != nil && one.found.Trace != nil {
			err = nil // the campaign's time ended meanwhile: the finding stays, with the repetitions made so far
		}
		if !reported {
			c.report(one.found)
		}
	case c.doubts(one):
		one.rechecked = true
		one.divergence, err = w.recheck(one)
	}
	return err
}

// report passes a finding to Plan.OnFailure as soon as it has a trace, up to the plan's maximum. It returns whether
// this is done.
func (c *campaign) report(f *Failure) bool {
	if c.OnFailure == nil || f.Trace == nil {
		return c.OnFailure == nil
	}
	c.reporting.Lock()
	defer c.reporting.Unlock()
	if c.before+c.reported < c.Keep {
		c.reported++
		c.OnFailure(f)
	}
	return true
}

// doubts reports whether a run without a finding is to be rerun. A run of a learning strategy cannot be: the strategy
// would learn twice.
func (c *campaign) doubts(one *ran) bool {
	every := c.info.Recheck
	return every > 0 && one.number%every == every-1 && one.outcome.Verdict == trace.Pass &&
		c.info.Determinism == Deterministic && !c.terms.Sequential
}

// ran makes one run.
func (w *worker) ran(one *ran) (err error) {
	w.number.Store(int64(one.number))
	recorded := w.info.Determinism == BestEffort || w.traced
	if recorded {
		one.outcome, err = w.noting(one.number)
	} else {
		one.outcome, err = w.one(one.number)
	}
	one.digest, one.inconclusive = w.run.digest, w.inconclusive
	if f := one.outcome.Finding; err == nil && f != nil {
		one.found = &Failure{Run: one.number, Finding: *f}
		if recorded {
			one.found.Trace = w.recorded(one.outcome)
		}
	}
	return err
}

// accept merges a batch into the result, in order, and reports whether the campaign continues.
func (c *campaign) accept(b batch) bool {
	for i := range b.parts {
		b.noted = c.merge(&b.parts[i], b.noted)
		if c.err != nil || c.result.Findings() > 0 && !c.KeepGoing {
			return false
		}
	}
	c.err = b.err
	if c.ctx.Err() != nil {
		c.result.Interrupted = c.result.From+c.result.Runs < c.end
		return false
	}
	if c.Progress != nil {
		c.Progress(c.result)
	}
	c.result.Exhausted = b.done
	return c.err == nil && !b.done
}

// merge merges one part and passes the watchers' notes on its runs to the observers. It returns the remaining notes.
func (c *campaign) merge(part *Result, list []noted) []noted {
	c.result.Add(part, c.Keep-c.before)
	c.found.Store(int64(c.before + c.result.Findings()))
	for len(list) > 0 && list[0].run < c.result.From+c.result.Runs {
		n := list[0]
		for _, by := range n.by {
			c.Observers[by.observer].Collect(n.run, by.noted)
		}
		if c.distinct != nil {
			c.distinct.schedules[n.digest] = struct{}{}
		}
		list = list[1:]
	}
	c.result.Novelty = c.pairs.sum
	if c.distinct != nil {
		c.result.Schedules, c.result.States = len(c.distinct.schedules), len(c.distinct.states)
		c.result.StateRuns = c.distinct.counted
	}
	c.err = c.result.EnvironmentError()
	return list
}
