package lockstep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/lockstep-go/lockstep/internal/pool"
	"github.com/lockstep-go/lockstep/novelty"
)

// BatchRunner makes batches of a campaign's runs, on deployments that last from one batch to the next. [Explore] makes
// all runs in one batch. Other callers may distribute the batches over several batch runners on several machines, and
// add up the results in the order of the runs. The result does not depend on this distribution, unless the strategy
// learns from one run for the next (Terms.Sequential).
//
// A learning strategy with one lineage needs one batch runner, which makes all runs in order. With several lineages,
// a batch has the runs of one lineage in one epoch. Each batch runner gets what the lineages learned in the epochs
// before ([BatchRunner.Learn]). A BatchRunner is not safe for concurrent use.
type BatchRunner struct {
	plan     *prepared
	workers  int
	started  []*worker      // by number; nil before its first run
	pairs    *pairs         // counts what the runs reached
	distinct *distinct      // nil unless the plan counts distinct schedules and states
	left     atomic.Int64   // hanging goroutines that were left running
	learned  map[int][]byte // by first run, if there are several lineages
}

// NewBatchRunner checks a plan and makes a batch runner for it.
func NewBatchRunner(plan Plan) (*BatchRunner, error) {
	p, err := plan.prepare()
	if err != nil {
		return nil, err
	}
	if err := p.learn(); err != nil {
		return nil, err
	}
	if err := p.checkFeatures(); err != nil {
		return nil, err
	}
	c := &BatchRunner{plan: p, workers: p.Workers}
	if c.workers == 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	switch {
	case p.info.Serial || p.terms.Sequential && !c.severally():
		c.workers = 1
	case c.severally():
		c.workers = min(c.workers, p.terms.Lineages)
	}
	c.pairs = &pairs{}
	p.Observers = append(slices.Clip(p.Observers), c.pairs)
	if p.Distinct {
		c.distinct = newDistinct()
		p.Observers = append(slices.Clip(p.Observers), c.distinct)
	}
	if p.terms.Runs > 0 {
		p.Runs = min(p.Runs, p.terms.Runs)
	}
	c.started = make([]*worker, c.workers)
	return c, nil
}

// Prepared returns the plan with all defaults filled in and with its strategy as it has learned. It also returns the
// properties of system and strategy.
func (b *BatchRunner) Prepared() (Plan, Info, Terms) { return b.plan.Plan, b.plan.info, b.plan.terms }

// Properties lists the properties of the spec as they are before the first run: N is [NotCounted].
func (b *BatchRunner) Properties() []Count { return b.plan.unchecked() }

// WarmUp deploys the system before the first run, so that the process has done its one-time work when the runs begin.
func (b *BatchRunner) WarmUp(ctx context.Context) error {
	x := newCampaign(ctx, b, 0, 0, 0)
	return x.worker(0).deploy()
}

// Make makes the runs from first up to, not including, end. The parameter found is the number of findings known to
// precede them: a campaign keeps no more findings than its plan says. The result is about these runs alone, up to the
// one that ends the campaign; see [Result.Add].
func (b *BatchRunner) Make(ctx context.Context, first, end, found int) (*Result, error) {
	x := newCampaign(ctx, b, first, end, found)
	b.forget()
	before := b.left.Load()
	if b.severally() {
		x.makeSeverally(first)
	} else {
		x.makeAll(first)
	}
	r := x.result
	r.Left = int(b.left.Load() - before)
	if w := b.started[0]; w != nil && b.plan.terms.Sequential && !b.severally() {
		stats := w.sched.Report(true)
		r.Reached, r.Exhausted = stats.Reached, stats.Done
	}
	return r, x.err
}

// makeAll makes the runs from first on, in batches.
func (c *campaign) makeAll(first int) {
	n := c.end - first
	size := max(1, min(64, n/(16*c.workers)))
	pool.Ordered(c.workers, (n+size-1)/size,
		func(worker, i int) batch { return c.make(worker, first+i*size, min(first+(i+1)*size, c.end)) },
		func(_ int, b batch) bool { return c.accept(b) })
}

// forget makes what earlier batches reached, their schedules and states count as new.
func (b *BatchRunner) forget() {
	b.pairs.sum = novelty.Set{}
	if b.distinct == nil {
		return
	}
	*b.distinct = *newDistinct()
	for _, w := range b.started {
		if w != nil {
			clear(w.watchers[len(w.watchers)-1].(*distinctWatcher).met)
		}
	}
}

// Distinct returns the distinct schedules and states of the last batch, by their hashes, if the plan counts them.
func (b *BatchRunner) Distinct() (schedules, states []uint64) {
	if b.distinct == nil {
		return nil, nil
	}
	return slices.Sorted(maps.Keys(b.distinct.schedules)), slices.Sorted(maps.Keys(b.distinct.states))
}

// Close ends the deployments.
func (b *BatchRunner) Close() (err error) {
	for _, w := range b.started {
		if w != nil {
			err = errors.Join(err, w.close())
		}
	}
	return err
}

// Conclude completes the result of a whole campaign with the values that are known only after the last run, such as the
// guarantee.
func (b *BatchRunner) Conclude(r *Result) {
	if b.plan.terms.Measured != nil {
		r.Guarantee = b.plan.terms.Measured(r.Stats)
	}
	if size := b.plan.terms.Runs; size > 0 {
		r.Reached = fmt.Sprintf("made %d of %d executions", r.Runs, size)
		if r.Runs == size {
			r.Reached = fmt.Sprintf("complete to this bound: all %d executions", size)
			r.Guarantee.Certain = true
		}
	}
	if b.plan.terms.Sequential {
		r.Guarantee.Certain = r.Exhausted
	}
	if r.Guarantee.Certain && r.Reached != "" {
		r.Reached += b.given()
	}
	if r.Reached != "" {
		r.Guarantee.Assumes = append(slices.Clip(r.Guarantee.Assumes), r.Reached)
	}
	if b.plan.Scenario != nil {
		r.Guarantee = r.Guarantee.under(b.plan.Scenario.Name(), r.Effects)
	}
}

// given says what stayed the same in all runs of a campaign that made every execution.
func (b *BatchRunner) given() string {
	var list []string
	if b.plan.terms.Fixed != "" {
		list = append(list, b.plan.terms.Fixed)
	}
	if b.plan.info.Draws != "" {
		list = append(list, "one draw of the "+b.plan.info.Draws+" of "+b.plan.info.Name)
	}
	if b.plan.Scenario != nil {
		list = append(list, "the scenario "+b.plan.Scenario.Name()+", with one seed")
	}
	if b.plan.info.Determinism == BestEffort {
		list = append(list, "a best-effort system")
	}
	if len(list) == 0 {
		return ""
	}
	return ", for " + strings.Join(list, ", and ")
}
