package lockstep

import (
	"fmt"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep/internal/stack"
	"github.com/lockstep-go/lockstep/trace"
)

// worker makes runs of a plan one after the other and reuses everything it can.
type worker struct {
	plan     Plan
	info     Info
	run      *Run
	system   Deployment
	sched    Scheduler
	monitor  Monitor
	director Director
	watcher  Watcher // nil where nobody observes
	settler  settler
	rec      *recorder    // nil while nothing is recorded
	seen     *distinct    // nil unless the plan counts what is distinct
	replay   *trace.Trace // follow this instead of asking the scheduler
	keep     bool         // the run can be repeated only by its steps, which go to the notes
	notes    notes

	pcg      rand.PCG
	rand     *rand.Rand
	sidePCG  rand.PCG // the director's, so that a scenario does not shift the strategy's draws
	sideRand *rand.Rand
	inSystem bool // the system under test is executing
}

func newWorker(plan Plan, info Info) *worker {
	w := &worker{plan: plan, info: info, run: newRun(info, plan.Limits),
		sched: plan.Strategy.New(info), monitor: plan.Spec.New(info), keep: isSequential(plan.Strategy)}
	w.rand, w.sideRand = rand.New(&w.pcg), rand.New(&w.sidePCG)
	if plan.Scenario != nil {
		w.director = plan.Scenario.New(info)
	}
	if plan.Observer != nil {
		w.watcher = plan.Observer.Watch(info)
	}
	return w
}

func (w *worker) close() error {
	if w.system == nil {
		return nil
	}
	err := w.system.Close()
	w.system = nil
	return err
}

// record makes the numbered run with the recorder on.
func (w *worker) record(number int) (*trace.Trace, error) {
	w.rec = newRecorder(w.plan.header(w.info, number))
	defer func() { w.rec = nil }()
	outcome, err := w.one(number)
	t := w.rec.finish(outcome, w.sched)
	w.illustrate(t)
	return t, err
}

// one makes the numbered run. An error is a failure of the tool or the plan; whatever
// the system under test does wrong is a finding in the outcome.
func (w *worker) one(number int) (outcome trace.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			outcome, err = w.panicked(p)
		}
	}()
	if w.system == nil {
		if w.system, err = w.plan.System.Deploy(); err != nil {
			return outcome, fmt.Errorf("%s cannot be deployed: %w", w.info.Name, err)
		}
	}
	finding, err := w.stages(number)
	if err != nil {
		return outcome, err
	}
	return w.judge(finding), nil
}

// stages takes a run through start, exploring, settling and the end, up to a finding.
func (w *worker) stages(number int) (*Finding, error) {
	r := w.run
	r.reset(w.system)
	w.monitor.Reset()
	if w.watcher != nil {
		w.watcher.Reset()
	}
	w.pcg.Seed(RunSeed(w.plan.Seed, number), 1)
	w.notes.steps, w.notes.opened = w.notes.steps[:0], w.notes.opened[:0]
	w.sched.Reset(Start{Run: number, Rand: w.rand})
	seed := RunSeed(w.plan.Seed, w.seedOf(number))
	if w.director != nil {
		w.sidePCG.Seed(seed, 2)
		w.director.Reset(w.sideRand)
	}
	w.inSystem = true
	err := w.system.Reset(RunSeed(seed, 0), &r.out)
	w.inSystem = false
	if err != nil {
		return nil, fmt.Errorf("%s cannot be reset: %w", w.info.Name, err)
	}
	finding, err := w.look()
	if err != nil {
		return nil, err
	}
	if finding == nil && w.replay != nil {
		finding, err = w.follow()
	} else if finding == nil {
		finding, err = w.explore()
		if finding == nil && err == nil && w.plan.Settle > 0 && r.over == "" {
			finding, err = w.settle()
		}
	}
	if finding == nil && err == nil && r.over == "" {
		finding, err = w.end()
	}
	return finding, err
}

// end lets spec and scenario judge the final state.
func (w *worker) end() (*Finding, error) {
	r := w.run
	if f := w.monitor.End(r); f != nil || w.director == nil {
		return f, nil
	}
	w.director.End(r, &r.hand)
	return r.finding, r.broken
}

// explore takes the strategy's steps, and before each of them those of the scenario.
func (w *worker) explore() (*Finding, error) {
	r := w.run
	end := w.plan.Limits.Steps
	if w.plan.Steps > 0 {
		end = min(end, w.plan.Steps)
	}
	for r.over == "" && !r.finished {
		if r.steps >= end {
			if end != w.plan.Steps {
				r.over = fmt.Sprintf("more than %d steps", end)
			}
			return nil, nil
		}
		*r.next = Step{}
		switch {
		case len(r.queue) > 0 && r.unqueue(r.next):
		case !w.keep && w.sched.Next(r, r.next):
		case w.keep && w.choose():
		case w.director != nil && w.director.Idle(r, &r.hand):
			continue
		default:
			return nil, nil
		}
		if f, err := w.step(); f != nil || err != nil {
			return f, err
		}
	}
	return nil, nil
}

// settle takes fair steps until nothing moves or the plan's number is used up.
func (w *worker) settle() (*Finding, error) {
	r := w.run
	r.settling = true
	r.releaseAll()
	w.settler.reset()
	for range w.plan.Settle {
		*r.next = Step{}
		if r.over != "" || !w.settler.Next(r, r.next) {
			break
		}
		if f, err := w.step(); f != nil || err != nil {
			return f, err
		}
	}
	r.settled = r.over == ""
	return nil, nil
}

// step performs the step chosen and lets everyone look at it.
func (w *worker) step() (*Finding, error) {
	w.inSystem = true
	err := w.run.perform()
	w.inSystem = false
	if err != nil {
		return nil, err
	}
	return w.look()
}

func (w *worker) look() (*Finding, error) {
	r := w.run
	if w.rec != nil {
		w.rec.step(r, w.sched)
	}
	if w.watcher != nil && !r.settling {
		w.watcher.Step(r)
	}
	if w.seen != nil {
		w.seen.see(r)
	}
	if w.director != nil {
		w.director.Look(r, &r.hand)
	}
	if w.plan.Budget != nil && r.over == "" {
		r.over = w.plan.Budget.exceeded(r)
	}
	if f := w.monitor.Step(r); f != nil {
		return f, nil
	}
	return r.finding, r.broken
}

// judge turns the end of a run into its outcome.
func (w *worker) judge(f *Finding) trace.Outcome {
	o := trace.Outcome{Verdict: trace.Pass, Steps: w.run.steps}
	switch {
	case w.plan.Budget != nil && w.plan.Budget.exceeded(w.run) != "":
		o.Verdict, o.Reason = trace.Unknown, w.plan.Budget.exceeded(w.run)
	case f != nil:
		f.Step = w.run.steps
		o.Verdict, o.Finding = trace.Fail, f
	case w.run.over != "":
		o.Verdict, o.Reason = trace.Unknown, w.run.over
	case w.undecided() != "":
		o.Verdict, o.Reason = trace.Unknown, w.undecided()
	case w.director != nil && w.director.Vacuous() != "":
		o.Verdict, o.Reason = trace.Vacuous, w.director.Vacuous()
	}
	return o
}

// panicked makes a finding of a panic of the system under test. The deployment is not
// used again. A panic elsewhere is a mistake of a strategy, a spec or of Lockstep.
func (w *worker) panicked(p any) (trace.Outcome, error) {
	where := stack.Text(2)
	if moved, ok := p.(stack.Panic); ok {
		where = moved.Stack
	}
	w.abandon()
	if !w.inSystem {
		return trace.Outcome{}, fmt.Errorf("panic outside the system under test, in the strategy, the scenario or the spec: %v\n%s", p, where)
	}
	w.inSystem = false
	if w.rec != nil {
		w.rec.broken(w.run)
	}
	return w.judge(&Finding{Property: "panic", Text: fmt.Sprint(p), Stack: where}), nil
}

// abandon gives up a deployment that may be in any condition.
func (w *worker) abandon() {
	system := w.system
	w.system = nil
	if system != nil {
		defer func() { _ = recover() }()
		_ = system.Close()
	}
}
