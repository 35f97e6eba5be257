package lockstep

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/trace"
)

// Explore makes the runs of a plan. It returns an error for a plan that cannot be run
// or when the tool itself fails, with what was found until then; findings are in the
// result. When the context ends, the result covers the runs made so far.
func Explore(ctx context.Context, plan Plan) (*Result, error) {
	crew, err := NewCrew(plan)
	if err != nil {
		return nil, err
	}
	result, err := crew.Make(ctx, 0, crew.Runs, 0)
	crew.Conclude(result)
	return result, errors.Join(err, crew.Close())
}

// campaign is an exploration in progress: of all runs of a plan, or of a stretch of them.
type campaign struct {
	*Crew
	ctx    context.Context
	end    int // the run after the last
	result *Result
	events tally // of all runs
	barren int   // runs since the last one that was worth something
	err    error
	// found is the number of findings taken so far. A worker reads it to save the
	// repetition of findings that will not be kept.
	found   atomic.Int64
	telling sync.Mutex // of findings
}

// batch is what one worker brings back from consecutive runs.
type batch struct {
	runs    []ran
	judged  []int   // by all of them together
	effects []Count // likewise
	events  tally   // likewise, by type
	stalls  int     // times that nothing moved, though it did when it was made again
	// rechecked counts the passing runs that were made again.
	rechecked int
	done      bool   // the space is exhausted
	learned   []byte // in these runs, which are of one of several lineages
	err       error
}

// ran is the little that a campaign keeps of a run.
type ran struct {
	number          int
	digest          uint64
	steps, messages int
	requests        int
	virtual         Time
	quiet           bool // nothing observable happened
	verdict         Verdict
	reason          string
	inconclusive    bool
	found           *Found
	noted           []any // by the watchers
	seen            Seen
	divergence      *Divergence
	nondeterminism  []string
}

func newCampaign(ctx context.Context, crew *Crew, first, end, found int) *campaign {
	c := &campaign{Crew: crew, ctx: ctx, end: end}
	c.found.Store(int64(found))
	c.result = &Result{Target: c.info.Name, Strategy: c.Strategy.String(), Seed: c.Seed, From: first,
		Verdicts: map[Verdict]int{}, Reasons: map[string]int{}, Guarantee: c.terms.Guarantee}
	if first == 0 {
		c.result.Digest = c.Seed
	}
	for _, name := range c.Spec.Properties() {
		c.result.Judged = append(c.result.Judged, Count{Name: name, N: NotCounted})
	}
	return c
}

// worker is the worker of that number.
func (c *campaign) worker(number int) *worker {
	w := c.crew[number]
	if w == nil {
		w = newWorker(c.prepared, number+c.workers*int(c.left.Load())) // those that were left keep their numbers
		c.crew[number] = w
	}
	w.ctx = c.ctx
	return w
}

// make does the runs from first up to, not including, end.
func (c *campaign) make(worker, first, end int) batch {
	if c.Watch != nil {
		return c.watched(worker, first, end)
	}
	return c.runs(c.worker(worker), first, end)
}

// runs does so on a worker.
func (c *campaign) runs(w *worker, first, end int) (b batch) {
	select {
	case b.runs = <-c.spare:
	default:
		b.runs = make([]ran, 0, end-first)
	}
	if c.severally() {
		if b.err = c.teach(w, first); b.err != nil {
			return b
		}
		defer func() { b.learned = w.sched.(Learner).Learned() }()
	}
	for number := first; number < end && c.ctx.Err() == nil && !w.left.Load(); number++ {
		b.runs = append(b.runs, ran{number: number})
		one := &b.runs[len(b.runs)-1]
		err := w.ran(one, &b)
		ended := c.ctx.Err() != nil && err != nil // in the middle
		if err == nil && one.found != nil && int(c.found.Load()) < c.Keep {
			told := c.tell(one.found)
			if err = w.confirm(one.found, one.digest); err != nil && c.ctx.Err() != nil && one.found.Trace != nil {
				err = nil // time was up meanwhile: it was found, however often it could be repeated
			}
			if !told {
				c.tell(one.found)
			}
		}
		if err == nil && c.doubts(one) {
			b.rechecked++
			one.divergence, err = w.recheck(one)
		}
		if err != nil {
			b.runs = b.runs[:len(b.runs)-1]
			if !ended {
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

// tell tells of a finding whose trace is there, and reports whether it was.
func (c *campaign) tell(f *Found) bool {
	if c.Found == nil || f.Trace == nil {
		return c.Found == nil
	}
	c.telling.Lock()
	defer c.telling.Unlock()
	c.Found(f)
	return true
}

// doubts reports whether a run is to be made again though nothing was found. That of a strategy
// that learns cannot be: it would learn twice.
func (c *campaign) doubts(one *ran) bool {
	every := c.info.Recheck
	return every > 0 && one.number%every == every-1 && one.verdict == trace.Pass && c.info.Repeats == Exactly && !c.terms.Sequential
}

// ran makes one run and keeps what the campaign needs of it.
func (w *worker) ran(one *ran, b *batch) (err error) {
	var outcome trace.Outcome
	w.number.Store(int64(one.number))
	noted := w.info.Repeats == Roughly || w.traced
	if noted {
		outcome, err = w.noting(one.number)
	} else {
		outcome, err = w.one(one.number)
	}
	if err != nil {
		return err
	}
	one.digest, one.steps, one.messages, one.requests = w.run.digest, w.run.steps, len(w.run.messages), w.run.requests
	if w.info.OneClock {
		one.virtual = w.run.now
	}
	one.quiet, one.verdict, one.reason, one.inconclusive = w.run.quiet(), outcome.Verdict, outcome.Reason, w.inconclusive
	if outcome.Finding != nil {
		one.found = &Found{Run: one.number, Finding: *outcome.Finding}
		if noted {
			one.found.Trace = w.recorded(outcome)
		}
	}
	if w.terms.Measured != nil || w.terms.Sequential {
		told := w.sched.Tell(false)
		one.seen, b.done = told.Seen, told.Done
	}
	for _, watcher := range w.looking {
		one.noted = append(one.noted, watcher.Noted())
	}
	one.nondeterminism = w.nondeterminism()
	w.count(b)
	return nil
}

// count adds what was counted in the run just made.
func (w *worker) count(b *batch) {
	b.events.addAll(w.run.happened.tally)
	judged := w.judged
	if judged == nil {
		judged = w.monitor.Conclude(false).Judged
	}
	for i, n := range judged {
		if i == len(b.judged) {
			b.judged = append(b.judged, NotCounted)
		}
		b.judged[i] = plus(b.judged[i], n)
	}
	if w.director != nil {
		b.effects = addCounts(b.effects, w.director.Tell().Counts)
	}
}

// plus adds numbers that may not have been counted.
func plus(a, b int) int {
	switch {
	case a == NotCounted:
		return b
	case b == NotCounted:
		return a
	default:
		return a + b
	}
}

func addCounts(sum, counts []Count) []Count {
	for i, c := range counts {
		if i == len(sum) {
			sum = append(sum, Count{Name: c.Name, Optional: c.Optional})
		}
		sum[i].N += c.N
	}
	return sum
}

// take adds the runs of a batch to the result, in order, and reports whether to go on.
func (c *campaign) take(b batch) bool {
	for i, n := range b.judged {
		c.result.Judged[i].N = plus(c.result.Judged[i].N, n)
	}
	c.result.Effects = addCounts(c.result.Effects, b.effects)
	c.events.addAll(b.events)
	c.result.Stalls += b.stalls
	c.result.Rechecked += b.rechecked
	going := c.addAll(b.runs)
	c.countDistinct()
	if !going {
		return false
	}
	select {
	case c.spare <- b.runs[:0]:
	default:
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

// countDistinct tells how many different schedules and states there are so far.
func (c *campaign) countDistinct() {
	if c.distinct != nil {
		c.result.Schedules, c.result.States = len(c.distinct.schedules), len(c.distinct.states)
		c.result.StateRuns = c.distinct.counted
	}
}

// addAll adds runs to the result up to the finding, or the mistake, with which the campaign
// ends, and reports whether there is none. Runs that passed, which most do, are counted
// together.
func (c *campaign) addAll(runs []ran) bool {
	passed := 0
	defer func() {
		if passed > 0 {
			c.result.Verdicts[trace.Pass] += passed
		}
	}()
	for i := range runs {
		if verdict := c.add(&runs[i]); verdict == trace.Pass {
			passed++
		} else {
			c.result.Verdicts[verdict]++
		}
		if runs[i].found != nil && !c.KeepGoing || c.err != nil {
			return false
		}
	}
	return true
}

// add adds a run to the result but for its verdict, which it returns.
func (c *campaign) add(one *ran) Verdict {
	r := c.result
	r.Runs++
	r.Steps += int64(one.steps)
	r.Messages += int64(one.messages)
	r.Requests += int64(one.requests)
	r.Virtual += one.virtual
	r.Quiet += btoi(one.quiet)
	r.Digest += mix.Seed(one.digest, one.number)
	r.Seen.add(one.seen)
	for i, noted := range one.noted {
		c.Observers[i].Take(one.number, noted)
	}
	if c.distinct != nil {
		c.distinct.schedules[one.digest] = struct{}{}
	}
	if one.verdict == trace.Unknown {
		r.Reasons[one.reason]++
	}
	if one.inconclusive {
		c.barren++
		c.inconclusive(one.reason)
	} else {
		c.barren = 0
	}
	if one.divergence != nil {
		r.Divergences = append(r.Divergences, *one.divergence)
	}
	r.addNondeterminism(one.nondeterminism)
	verdict := one.verdict
	if one.found != nil {
		kept := int(c.found.Add(1)) <= c.Keep
		if one.found.Flaky != "" {
			verdict = trace.Flaky
		}
		if kept {
			r.Found = append(r.Found, *one.found)
		}
	}
	return verdict
}

// inconclusive counts a run that said nothing. Too many of them, in all or one after the other,
// mean that the environment is broken and not the run.
func (c *campaign) inconclusive(reason string) {
	r := c.result
	r.Inconclusive++
	switch {
	case r.Inconclusive > c.Limits.Inconclusive && 2*r.Inconclusive > r.Runs:
		c.err = fmt.Errorf("lockstep: %d of %d runs of %s were inconclusive, the last one because: %s", r.Inconclusive, r.Runs, r.Target, reason)
	case c.barren > c.Limits.Inconclusive:
		c.err = fmt.Errorf("lockstep: the last %d of %d runs of %s were inconclusive, the last one because: %s", c.barren, r.Runs, r.Target, reason)
	}
}
