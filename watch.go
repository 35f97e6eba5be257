package lockstep

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/internal/pool"
	"github.com/lockstep-go/lockstep/internal/stack"
	"github.com/lockstep-go/lockstep/trace"
)

// Hang is the property that a run violates if a step does not end within the time of the watchdog.
const Hang = "hang"

// mostLeft is the number of hanging goroutines that a campaign leaves running before it stops. Each of them may keep
// a processor busy.
const mostLeft = 4

// heartbeat is the part of a worker that the watchdog can see.
type heartbeat struct {
	asked  atomic.Bool  // cleared by the worker's next step
	number atomic.Int64 // the run under way
	id     atomic.Pointer[string]
	warm   atomic.Int64 // number of warm-ups under way, which take their time
	left   atomic.Bool  // the watchdog has abandoned this worker
	moment atomic.Pointer[moment]
	traced bool // runs are rendered as text step by step, so that a moment is available
}

// moment is the position of a recorded run: in the step of the record.
type moment struct {
	trace  trace.Trace // up to the step before; its slices are not written to
	record trace.Record
}

// sign shows that the worker is alive. The worker calls it now and then.
func (h *heartbeat) sign() {
	if h.asked.Load() {
		h.asked.Store(false)
	}
}

// alive reports whether the worker has called sign since the last call of alive, or is warming up its process.
func (h *heartbeat) alive() bool { return !h.asked.Swap(true) || h.warm.Load() > 0 }

// name records the goroutine that makes the runs.
func (h *heartbeat) name() {
	id := stack.ID()
	h.id.Store(&id)
}

// stack is the stack of that goroutine.
func (h *heartbeat) stack() string {
	if id := h.id.Load(); id != nil {
		return stack.Of(*id)
	}
	return ""
}

// enters signals to the watchdog that the run enters a step. If the run is recorded, it also stores the step, in case
// the run never leaves it.
func (w *worker) enters() {
	w.sign()
	if w.rec == nil || !w.traced {
		return
	}
	n := w.rec.lastStep(w.run)
	w.rec.write(w.run)
	m := &moment{trace: w.rec.soFar(w.run), record: w.rec.record(w.run, &n)}
	m.trace.Header.Run = w.start.SeedOf
	w.moment.Store(m)
}

// hanging is the trace of the recorded run that hangs, as far as it got.
func (h *heartbeat) hanging() *trace.Trace {
	m := h.moment.Load()
	if m == nil {
		return nil
	}
	t := m.trace
	where := "the start of the system"
	if s := m.record; s.Number > 0 {
		where = fmt.Sprintf("step %d (%s %s)", s.Number, s.Step.Kind, s.Text)
		t.Records = append(slices.Clip(t.Records), s)
	}
	found := Finding{Property: Hang, Text: where + " does not end", Step: m.record.Number, Stack: h.stack()}.Capped()
	t.Outcome = trace.Outcome{Verdict: trace.Fail, Finding: &found, Steps: m.record.Number}
	return &t
}

// watched makes the runs of a batch under the plan's watchdog.
func (c *campaign) watched(number, first, end int) batch {
	look, stop := c.Watchdog()
	defer stop()
	w := c.worker(number)
	b, done := c.attempt(w, first, end, look)
	if done {
		return b
	}
	c.leave(number)
	if c.ctx.Err() != nil {
		return batch{} // an interrupt must not wait
	}
	at := int(w.number.Load())
	if why := c.cannotContinue(); why != "" {
		return batch{
			err: fmt.Errorf("lockstep: run %d of seed %d hangs: no step ended in the time of the watchdog; %s\n%s", at,
				c.Seed, why, w.stack()),
		}
	}
	return c.oneByOne(number, first, end, at, look)
}

// attempt makes runs and reports whether they ended.
func (c *campaign) attempt(w *worker, first, end int, look <-chan time.Time) (batch, bool) {
	return pool.Watched(c.ctx, func() batch {
		w.name()
		b := c.runs(w, first, end)
		if w.left.Load() { // it was slow, but did not hang
			_ = w.close()
		}
		return b
	}, look, w.alive)
}

// leave abandons a worker, its goroutine and its deployment.
func (c *campaign) leave(number int) {
	c.started[number].left.Store(true)
	c.started[number] = nil
	c.left.Add(1)
}

// cannotContinue says why a hanging run ends the campaign, or is empty if the campaign can continue.
func (c *campaign) cannotContinue() string {
	switch {
	case c.terms.Sequential:
		return c.Strategy.String() + " learns from one run for the next, so that no other run can follow"
	case c.info.Serial:
		return "there may be only one deployment of " + c.info.Name + " at a time, and this one cannot be stopped"
	case c.left.Load() > mostLeft:
		return fmt.Sprintf("%d goroutines that hang are left running, the most that a campaign tolerates",
			c.left.Load())
	default:
		return ""
	}
}

// oneByOne reruns the runs of a batch with a hanging run, recorded, to find out which run hangs, and where.
func (c *campaign) oneByOne(number, first, end, reported int, look <-chan time.Time) (b batch) {
	hung := false
	for run := first; run < end; run++ {
		w := c.worker(number)
		w.traced = true
		part, done := c.attempt(w, run, run+1, look)
		if done {
			b.join(part)
			if b.err != nil || b.done || c.ctx.Err() != nil || part.found() && !c.KeepGoing {
				break
			}
			continue
		}
		c.leave(number)
		if c.ctx.Err() != nil {
			break
		}
		hung = true
		t := w.hanging()
		if t == nil {
			b.err = fmt.Errorf("lockstep: run %d of seed %d hangs before its start\n%s", run, c.Seed, w.stack())
			break
		}
		f := &Failure{Run: run, Finding: *t.Outcome.Finding, Trace: t}
		if run == reported {
			f.Failed, f.Repeated = 1, 1
		}
		alone := b.part(run, true)
		alone.Runs, alone.Steps, alone.Digest = 1, int64(t.Outcome.Steps), mix.Seed(0, run)
		alone.conclude(&ran{number: run, outcome: t.Outcome, found: f})
		if !c.KeepGoing {
			break
		}
		if why := c.cannotContinue(); why != "" {
			b.err = errors.New("lockstep: " + why)
			break
		}
	}
	if !hung {
		b.parts = append(b.parts, Result{Stalls: 1})
	}
	return b
}

// watched makes a run under the plan's watchdog. If the run hangs, watched returns its worker, which it replaces.
func watched[T any](b *Runner, do func(*worker) (T, error)) (result T, hung *worker, err error) {
	w := b.worker
	look, stop := w.Watchdog()
	defer stop()
	type end struct {
		result T
		err    error
	}
	r, done := pool.Watched(w.ctx, func() end {
		w.name()
		result, err := do(w)
		return end{result, err}
	}, look, w.alive)
	if done {
		return r.result, nil, r.err
	}
	w.left.Store(true)
	err = w.ctx.Err()
	b.worker = newWorker(w.prepared, w.place.Worker+1)
	if b.of != nil {
		b.worker.run.fromTrace(b.of)
		b.worker.run.lines.order, b.worker.run.lines.free = w.run.lines.order, w.run.lines.free
	}
	if b.left++; err == nil && b.left > mostLeft {
		err = fmt.Errorf("lockstep: %d goroutines that hang are left running, the most that a runner tolerates\n%s",
			b.left, w.stack())
	}
	return r.result, w, err
}

// runWatched makes a run under the plan's watchdog.
func (r *Runner) runWatched(number int) (trace.Outcome, error) {
	outcome, hung, err := watched(r, func(w *worker) (trace.Outcome, error) { return w.one(number) })
	if hung == nil {
		r.collect(number, err)
	} else {
		outcome = trace.Outcome{
			Verdict: trace.Fail,
			Finding: &Finding{Property: Hang, Text: "a step does not end", Stack: hung.stack()},
		}
	}
	return outcome, err
}

// recordWatched records a run under the plan's watchdog.
func (r *Runner) recordWatched(number int) (*trace.Trace, error) {
	r.worker.traced = true
	t, hung, err := watched(r, func(w *worker) (*trace.Trace, error) { return w.record(number) })
	if hung == nil {
		r.collect(number, err)
	} else if err == nil {
		if t = hung.hanging(); t == nil {
			err = fmt.Errorf("lockstep: run %d of seed %d hangs before its start\n%s", number, hung.Seed, hung.stack())
		}
	}
	return t, err
}

// found reports whether a run of the batch fails.
func (b *batch) found() bool {
	return slices.ContainsFunc(b.parts, func(r Result) bool { return r.Findings() > 0 })
}

// join appends another batch.
func (b *batch) join(more batch) {
	b.parts, b.noted, b.alone = append(b.parts, more.parts...), append(b.noted, more.noted...), true
	b.done, b.err = more.done, more.err
}
