package lockstep

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// Runner makes single runs of a plan on one deployment, with any scheduler. Packages that replay, shrink and rewrite
// runs in lock-step form are built on it. A Runner is not safe for concurrent use.
type Runner struct {
	worker *worker
	of     *trace.Trace // the trace whose run is rerun, or nil
	lines  lineups      // the order that messages keep in of
	left   int          // hanging goroutines
}

// NewRunner makes a runner for a plan. If the caller gives no scheduler for a run, the plan's strategy provides it. The
// plan may omit the strategy if the caller gives a scheduler for every run.
func NewRunner(plan Plan) (*Runner, error) {
	if plan.Strategy == nil {
		plan.Strategy = silent("")
	}
	p, err := plan.prepare()
	if err == nil {
		err = p.learn()
	}
	if err != nil {
		return nil, err
	}
	return &Runner{worker: newWorker(p, 0)}, nil
}

// NewRunnerFor makes a runner that reruns the run of a trace, in its original or a changed form. It uses the trace's
// seed and settling stage. The scenario checks the run but takes no steps, because the trace contains its steps.
// NewRunnerFor refuses a system other than the trace's.
func NewRunnerFor(plan Plan, t *trace.Trace) (*Runner, error) {
	if plan.Strategy == nil {
		plan.Strategy = silent(t.Header.Strategy)
	}
	plan.Seed, plan.Settle, plan.Steps = t.Header.Seed, t.Header.Settle, 0
	p, err := plan.prepare()
	if err != nil {
		return nil, err
	}
	if err := sameSystem(&t.Header, &p.info); err != nil {
		return nil, err
	}
	p.MaxSteps = max(p.MaxSteps, len(t.Records))
	w := newWorker(p, 0)
	w.run.fromTrace(t)
	b := &Runner{worker: w, of: t}
	b.lines.order, b.lines.free = orderOf(t, &p.terms)
	return b, nil
}

// sameSystem reports the difference between the system of a trace and that of a plan.
func sameSystem(h *trace.Header, info *Info) error {
	switch {
	case info.Name != h.Target || info.Nodes != h.Nodes:
		return fmt.Errorf("lockstep: the trace is of %s with %d nodes, the plan's system is %s with %d nodes", h.Target,
			h.Nodes, info.Name, info.Nodes)
	// an empty build name matches any
	case info.Build != h.Build && info.Build != "" && h.Build != "":
		return fmt.Errorf("lockstep: the trace is of the build %q of %s, this is %q", h.Build, h.Target, info.Build)
	}
	for _, key := range slices.Sorted(maps.Keys(h.Options)) {
		if is, ok := info.Options[key]; !ok || is != h.Options[key] {
			return fmt.Errorf("lockstep: the trace is of %s with %s=%s, the plan's system has %s=%s", h.Target, key,
				h.Options[key], key, orNothing(is, ok))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(info.Options)) {
		if _, ok := h.Options[key]; !ok {
			return fmt.Errorf("lockstep: the plan's %s has %s=%s, which the trace does not have", h.Target, key,
				info.Options[key])
		}
	}
	return nil
}

func orNothing(text string, ok bool) string {
	if !ok {
		return "(nothing)"
	}
	return text
}

// Info is the system's description of itself.
func (r *Runner) Info() Info { return r.worker.info }

// Settle sets the maximum number of steps in the settling stage of subsequent runs.
func (r *Runner) Settle(steps int) { r.worker.Settle = steps }

// KeepOrder sets whether messages in subsequent runs keep the order of the trace's strategy. A step is then
// impossible if it lets a message overtake more messages of its link than that order allows. KeepOrder reports
// whether there is such an order. The default is false.
func (r *Runner) KeepOrder(keep bool) bool {
	r.worker.run.lines = lineups{}
	if keep {
		r.worker.run.lines = r.lines
	}
	return r.lines.order != nil
}

// Run makes the run with the given number. If s is nil, the plan's strategy provides the scheduler. An error is a
// failure of the tool, the plan or the environment, or the context's error. Under the plan's watchdog, a hanging run
// has the hang as its finding, and the runner continues with a new deployment.
func (r *Runner) Run(ctx context.Context, number int, s Scheduler) (trace.Outcome, error) {
	defer r.use(ctx, s)()
	if r.worker.Watchdog != nil {
		return r.runWatched(number)
	}
	outcome, err := r.worker.one(number)
	r.collect(number, err)
	return outcome, err
}

// Record is Run with a recording. The recording extends as far as the run did, also if there is an error. Under the
// plan's watchdog, a hanging run is recorded up to the hang, and the runner continues with a new deployment.
func (r *Runner) Record(ctx context.Context, number int, s Scheduler) (*trace.Trace, error) {
	defer r.use(ctx, s)()
	if r.worker.Watchdog != nil {
		return r.recordWatched(number)
	}
	t, err := r.worker.record(number)
	r.collect(number, err)
	return t, err
}

// collect passes the watchers' notes to the plan's observers.
func (r *Runner) collect(number int, err error) {
	if err == nil {
		for _, i := range r.worker.looking {
			r.worker.Observers[i].Collect(number, r.worker.watchers[i].Noted())
		}
	}
}

// use sets the scheduler of the next run, and returns a function that undoes this.
func (r *Runner) use(ctx context.Context, s Scheduler) func() {
	w := r.worker
	was := w.sched
	w.ctx = ctx
	if s != nil {
		w.sched, w.lent = s, true
	}
	return func() {
		if !w.left.Load() {
			w.sched, w.lent, w.ctx = was, false, context.Background()
		}
	}
}

// Close releases the deployment.
func (r *Runner) Close() error { return r.worker.close() }

// Record makes the run of a plan with the given number and records it, whatever its verdict.
func Record(ctx context.Context, plan Plan, run int) (t *trace.Trace, err error) {
	b, err := NewRunner(plan)
	if err != nil {
		return nil, err
	}
	t, err = b.Record(ctx, run, nil)
	if closed := b.Close(); err == nil {
		err = closed
	}
	return t, err
}

// silent is the strategy of a runner without one. It takes no steps and only has a name.
type silent string

func (s silent) String() string           { return string(s) }
func (silent) Fit(Info) (Terms, error)    { return Terms{}, nil }
func (silent) New(Info) Scheduler         { return silent("") }
func (silent) Reset(*Start)               {}
func (silent) Next(*Turn, *Step) bool     { return false }
func (silent) Report(bool) SchedulerStats { return SchedulerStats{} }
