package lockstep

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/lockstep-go/lockstep/internal/pool"
	"github.com/lockstep-go/lockstep/trace"
)

// Result is what a campaign found out.
type Result struct {
	Target    string
	Strategy  string
	Seed      uint64
	Runs      int   // runs made, up to the one that ended the campaign
	Steps     int64 // of all runs
	Messages  int64 // sent in all runs
	Verdicts  map[Verdict]int
	Reasons   map[string]int // why runs were unknown
	Found     []Found        // the failing runs in order, at most as many as the plan keeps
	Judged    []Count        // how often each property could have failed, where the spec counts
	Effects   []Count        // how often each part of the scenario took effect
	Guarantee Guarantee
	Schedules int // different schedules, where the plan counts them
	States    int // different states, where the plan counts them and the system offers fingerprints
	// Seen is what the guarantee rests on, where the strategy measures its runs.
	Seen Seen
	// Reached says how far a strategy that works through a space came, e.g. that it is
	// complete to its bound.
	Reached string
	// Digest is a hash over the steps of all runs in run order. It is equal for equal
	// plan, seed and number of runs, whatever the workers or the machine.
	Digest uint64
	// Interrupted says that the context ended before the runs did.
	Interrupted bool

	counted bool // the spec counts how often it could have failed
}

// Found is a failing run.
type Found struct {
	Run     int
	Finding *Finding
	Trace   *trace.Trace
	// Flaky says why the run could not be repeated, and is empty where it could.
	Flaky string
}

// Verdict is the judgement on the whole campaign: fail with a finding that stands up to
// repetition, flaky with one that does not, vacuous when no run was otherwise, unknown
// when a run reached a limit, else pass.
func (r *Result) Verdict() Verdict {
	flaky := r.Verdicts[trace.Flaky] > 0
	for _, f := range r.Found {
		if f.Flaky != "" {
			flaky = true
		}
	}
	switch {
	case r.Verdicts[trace.Fail] > 0:
		return trace.Fail
	case flaky:
		return trace.Flaky
	case r.Runs > 0 && r.Verdicts[trace.Vacuous] == r.Runs:
		return trace.Vacuous
	case r.Verdicts[trace.Unknown] > 0:
		return trace.Unknown
	default:
		return trace.Pass
	}
}

// First is the first failing run, or nil.
func (r *Result) First() *Found {
	if len(r.Found) == 0 {
		return nil
	}
	return &r.Found[0]
}

// Explore makes the runs of a plan. It returns an error for a plan that cannot be run
// or when the tool itself fails, with what was found until then; findings are in the
// result. When the context ends, the result covers the runs made so far.
func Explore(ctx context.Context, plan Plan) (*Result, error) {
	plan, info, err := plan.check()
	if err != nil {
		return nil, err
	}
	if plan.Strategy, err = plan.learn(info); err != nil {
		return nil, err
	}
	c := newCampaign(ctx, plan, info)
	plan.Runs = c.plan.Runs
	size := max(1, min(64, plan.Runs/(16*c.workers)))
	pool.Ordered(c.workers, (plan.Runs+size-1)/size,
		func(worker, i int) batch { return c.make(worker, i*size, min((i+1)*size, plan.Runs)) },
		func(_ int, b batch) bool { return c.take(b) })
	c.conclude()
	c.close()
	return c.result, c.err
}

// campaign is an exploration in progress.
type campaign struct {
	ctx     context.Context
	plan    Plan
	info    Info
	workers int
	size    int // runs that the strategy's space has; 0 where it is not finite
	crew    []*worker
	scribe  *worker // repeats failing runs with the recorder on
	seen    *distinct
	result  *Result
	err     error
}

// batch is what one worker brings back from consecutive runs.
type batch struct {
	runs    []ran
	judged  []int   // by all of them together
	effects []Count // likewise
	seen    *distinct
	done    bool // the space is exhausted
	err     error
}

// ran is the little that a campaign keeps of a run.
type ran struct {
	number          int
	digest          uint64
	steps, messages int
	outcome         trace.Outcome
	trace           *trace.Trace // of a failing run of a nondeterministic system
	noted           any          // by the watcher
	notes           *notes       // of a failing run of a sequential strategy
	seen            Seen
}

func newCampaign(ctx context.Context, plan Plan, info Info) *campaign {
	c := &campaign{ctx: ctx, plan: plan, info: info, workers: plan.Workers, seen: newDistinct(plan.Distinct)}
	if c.workers == 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	if info.Serial || isSequential(plan.Strategy) {
		c.workers = 1
	}
	c.crew = make([]*worker, c.workers)
	c.result = &Result{Target: info.Name, Strategy: plan.Strategy.String(), Seed: plan.Seed, Digest: plan.Seed,
		Verdicts: map[Verdict]int{}, Reasons: map[string]int{}, Guarantee: plan.Strategy.Guarantee(info)}
	if f, ok := plan.Strategy.(Finite); ok {
		if size, ok := f.Runs(info); ok {
			c.size = size
			c.plan.Runs = min(plan.Runs, size)
		}
	}
	for _, p := range plan.Spec.Properties() {
		c.result.Judged = append(c.result.Judged, Count{Name: p})
	}
	return c
}

func (c *campaign) close() {
	for _, w := range append(c.crew, c.scribe) {
		if w != nil {
			c.err = errors.Join(c.err, w.close())
		}
	}
}

// make does the runs from first up to, not including, end.
func (c *campaign) make(worker, first, end int) (b batch) {
	w := c.crew[worker]
	if w == nil {
		w = newWorker(c.plan, c.info)
		c.crew[worker] = w
	}
	w.seen = newDistinct(c.plan.Distinct)
	b.seen = w.seen
	for number := first; number < end && c.ctx.Err() == nil; number++ {
		one, err := w.ran(number)
		if err != nil {
			b.err = err
			return b
		}
		b.runs = append(b.runs, one)
		if b.seen != nil {
			b.seen.schedules[one.digest] = struct{}{}
		}
		w.addCounts(&b)
		if one.outcome.Finding != nil && !c.plan.KeepGoing {
			return b
		}
		if b.done = w.done(); b.done {
			return b
		}
	}
	return b
}

// ran makes one run and keeps what the campaign needs of it.
func (w *worker) ran(number int) (one ran, err error) {
	one.number = number
	if w.info.Nondeterministic {
		one.trace, err = w.record(number)
		one.outcome = one.trace.Outcome
	} else {
		one.outcome, err = w.one(number)
	}
	if one.outcome.Finding == nil {
		one.trace = nil
	} else if w.keep {
		one.notes = w.notes.copy(number, w.sched)
	}
	if s, ok := w.sched.(Witness); ok {
		one.seen = s.Seen()
	}
	if w.watcher != nil {
		one.noted = w.watcher.Noted()
	}
	one.digest, one.steps, one.messages = w.run.digest, w.run.steps, len(w.run.messages)
	return one, err
}

// addCounts adds what spec and scenario counted in the run just made.
func (w *worker) addCounts(b *batch) {
	if j, ok := w.monitor.(Judge); ok {
		for i, n := range j.Judged() {
			if i == len(b.judged) {
				b.judged = append(b.judged, 0)
			}
			b.judged[i] += n
		}
	}
	if w.director != nil {
		b.effects = addCounts(b.effects, w.director.Counts())
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
		c.result.counted = true
		c.result.Judged[i].N += n
	}
	c.result.Effects = addCounts(c.result.Effects, b.effects)
	if b.seen != nil {
		c.seen.take(b.seen)
		c.result.Schedules, c.result.States = len(c.seen.schedules), len(c.seen.states)
	}
	for _, one := range b.runs {
		c.add(one)
		if one.outcome.Finding != nil && !c.plan.KeepGoing {
			return false
		}
	}
	if c.err == nil {
		c.err = b.err
	}
	if c.ctx.Err() != nil {
		c.result.Interrupted = c.result.Runs < c.plan.Runs
		return false
	}
	if c.plan.Progress != nil {
		c.plan.Progress(c.result)
	}
	return c.err == nil && !b.done
}

// conclude adds to the result what is known only after the last run.
func (c *campaign) conclude() {
	if e, ok := c.plan.Strategy.(Empirical); ok {
		c.result.Guarantee = e.GuaranteeSeen(c.info, c.result.Seen)
	}
	if c.size > 0 {
		c.result.Reached = fmt.Sprintf("made %d of %d executions", c.result.Runs, c.size)
		if c.result.Runs == c.size {
			c.result.Reached = fmt.Sprintf("complete to this bound: all %d executions", c.size)
		}
	}
	if w := c.crew[0]; w != nil {
		if s, ok := w.sched.(Searcher); ok {
			c.result.Reached = s.Reached()
		}
	}
	if c.result.Reached != "" {
		c.result.Guarantee.Assumes = append(slices.Clip(c.result.Guarantee.Assumes), c.result.Reached)
	}
}

func (c *campaign) add(one ran) {
	r := c.result
	r.Runs++
	r.Steps += int64(one.steps)
	r.Messages += int64(one.messages)
	r.Digest = RunSeed(r.Digest^one.digest, 0)
	r.Seen.add(one.seen)
	if c.plan.Observer != nil {
		c.plan.Observer.Take(one.number, one.noted)
	}
	verdict := one.outcome.Verdict
	if verdict == trace.Unknown {
		r.Reasons[one.outcome.Reason]++
	}
	if one.outcome.Finding != nil && len(r.Found) < c.plan.Keep {
		f := c.found(one)
		if f.Flaky != "" {
			verdict = trace.Flaky
		}
		r.Found = append(r.Found, f)
	}
	r.Verdicts[verdict]++
}

// found repeats a failing run with the recorder on and compares.
func (c *campaign) found(one ran) Found {
	f := Found{Run: one.number, Finding: one.outcome.Finding, Trace: one.trace}
	if f.Trace != nil { // recorded the first time
		return f
	}
	if c.scribe == nil {
		c.scribe = newWorker(c.plan, c.info)
	}
	if one.notes != nil {
		c.scribe.sched, c.scribe.keep = &actor{notes: one.notes}, false
	}
	t, err := c.scribe.record(one.number)
	f.Trace = t
	switch {
	case err != nil:
		f.Flaky = "the second time the run could not be made: " + err.Error()
	case t.Outcome.Finding == nil:
		f.Flaky = "the second time nothing was found"
	case t.Outcome.Finding.String() != f.Finding.String():
		f.Flaky = "the second time it was " + t.Outcome.Finding.String()
	case c.scribe.run.digest != one.digest:
		f.Flaky = "the second time the steps differed"
	}
	return f
}
