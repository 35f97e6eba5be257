package lockstep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep/internal/stack"
	"github.com/lockstep-go/lockstep/trace"
)

// worker makes runs of a plan sequentially and reuses everything it can.
type worker struct {
	*prepared
	ctx       context.Context // of the run under way
	place     Env
	run       *Run // of turn
	turn      *Turn
	system    Deployment // nil before the first run and after a run that broke it
	sched     Scheduler
	monitor   Monitor
	director  Director
	watchers  []Watcher     // of the plan's observers, in their order
	looking   []int         // the indices of those that observe this run
	features  FeatureSource // from which the plan's strategy learns; nil if it needs none
	settler   settler
	rec       *recorder // nil while nothing is recorded
	recording recorder  // the value of rec during a recording
	lent      bool      // the scheduler is not that of the plan's strategy
	keep      bool      // the run can be repeated only by its steps, which are noted
	notes     trace.Script

	start Start
	pcg   rand.PCG
	// for the director, so that a scenario does not shift the strategy's draws
	sidePCG      rand.PCG
	sideRand     *rand.Rand
	events       bool  // the monitor looks at events only
	alone        bool  // only the monitor observes the run under way
	calm         bool  // no observer but the one of pairs needs a step without events, nor does the monitor
	pairing      bool  // the pairs of the run are counted
	inSystem     bool  // the system under test is executing
	watching     bool  // there is a watchdog
	inconclusive bool  // the last run was inconclusive
	checked      []int // in the last run, if the monitor has already reported it
	// the first run of the scheduler's epoch, if there are several lineages
	taught int
	heartbeat
}

func newWorker(p *prepared, number int) *worker {
	w := &worker{
		prepared: p,
		ctx:      context.Background(),
		place:    Env{Worker: number, root: p.Scratch},
		turn:     newTurn(p.info, p.MaxInFlight, p.MaxTime),
		sched:    p.Strategy.New(p.info),
		monitor:  p.Spec.New(p.info),
		keep:     p.terms.Sequential,
		watching: p.Watchdog != nil,
	}
	w.run = &w.turn.Run
	w.place.warming = w.warms
	w.start.Rand, w.sideRand = rand.New(&w.pcg), rand.New(&w.sidePCG)
	w.events = w.monitor.EventsOnly()
	if p.Scenario != nil {
		w.director = p.Scenario.New(p.info)
	}
	for _, o := range p.Observers {
		w.watchers = append(w.watchers, o.New(p.info))
	}
	if kind := p.terms.Features; kind != "" {
		w.features = sourceOf(kind, w.watchers, w.monitor)
	}
	return w
}

// warms records that the deployment is warming up its process, until the caller calls the returned function.
func (w *worker) warms() (done func()) {
	w.warm.Add(1)
	warmed := func() {}
	if w.Warming != nil {
		warmed = w.Warming()
	}
	return func() {
		warmed()
		w.sign()
		w.warm.Add(-1)
	}
}

func (w *worker) close() error {
	var err error
	if w.system != nil {
		err = w.system.Close()
		w.system = nil
	}
	return errors.Join(err, w.place.clear())
}

// record makes the numbered run with the recorder on.
func (w *worker) record(number int) (*trace.Trace, error) {
	outcome, err := w.noting(number)
	return w.recorded(outcome), err
}

// noting makes the numbered run and notes it, so that it can be rendered as text.
func (w *worker) noting(number int) (trace.Outcome, error) {
	w.rec = &w.recording
	w.rec.begin(w.header(number))
	defer func() { w.rec = nil }()
	return w.one(number)
}

// recorded renders the run just noted as text.
func (w *worker) recorded(outcome trace.Outcome) *trace.Trace {
	w.recording.header.Run = w.start.SeedOf // a replay needs the seed, whatever the number was
	t := w.recording.finish(outcome, w.run, w.sched.Report(true).Drawn)
	if outcome.Finding != nil {
		t.Pictures = w.monitor.Conclude(true).Pictures
	}
	return t
}

// one makes the numbered run. An error is a failure of the tool, the plan or the environment. Every failure of the
// system under test is a finding in the outcome.
func (w *worker) one(number int) (outcome trace.Outcome, err error) {
	if err := w.deploy(); err != nil {
		return outcome, err
	}
	w.sign()
	w.inconclusive = false
	if enclose := w.run.can.Enclose; enclose != nil {
		outcome, err = w.enclosed(enclose, number)
	} else {
		outcome, err = w.guarded(number)
	}
	if err != nil {
		return w.failed(outcome, err)
	}
	w.reached()
	return outcome, nil
}

// reached passes the features of the run just made to a scheduler that learns from them.
func (w *worker) reached() {
	if w.features == nil {
		return
	}
	if learner, ok := w.sched.(FeatureLearner); ok {
		list, _ := w.features.Features(w.terms.Features)
		learner.ReachedFeatures(list)
	}
}

// deploy deploys the system if it is not deployed.
func (w *worker) deploy() (err error) {
	if w.system != nil {
		return nil
	}
	if w.system, err = w.System.Deploy(w.ctx, &w.place); err != nil {
		w.system = nil
		return fmt.Errorf("%s cannot be deployed: %w", w.info.Name, errors.Join(err, w.place.clear()))
	}
	w.run.system, w.run.can = w.system, w.system.Capabilities()
	return nil
}

// failed distinguishes an inconclusive run from one that broke.
func (w *worker) failed(outcome trace.Outcome, err error) (trace.Outcome, error) {
	var inconclusive *Inconclusive
	if w.inconclusive = errors.As(err, &inconclusive) && w.ctx.Err() == nil; w.inconclusive {
		w.abandon()
		return trace.Outcome{Verdict: trace.Unknown, Reason: trace.Cap(inconclusive.Reason), Steps: w.run.steps}, nil
	}
	return outcome, err
}

// enclosed makes a run in the deployment's enclosure for it.
func (w *worker) enclosed(enclose func(func()) (*Finding, error), number int) (trace.Outcome, error) {
	type end struct {
		outcome trace.Outcome
		err     error
	}
	ended := make(chan end, 1) // not a variable: an abandoned run may write to it at any time
	finding, broken := enclose(func() {
		if w.watching {
			w.name()
		}
		outcome, err := w.guarded(number)
		ended <- end{outcome, err}
	})
	select {
	case e := <-ended:
		if e.err != nil || e.outcome.Finding != nil {
			return e.outcome, e.err
		}
		if finding == nil && broken == nil {
			return e.outcome, nil
		}
	default:
		if finding == nil && broken == nil {
			return trace.Outcome{}, fmt.Errorf("%s enclosed a run without making it", w.info.Name)
		}
		w.inSystem = false
		if w.rec != nil && w.run.steps > 0 {
			w.rec.broken(w.run)
		}
		if broken == nil {
			w.abandon()
		}
	}
	if broken != nil {
		return trace.Outcome{}, broken
	}
	return w.outcome(finding), nil
}

// guarded makes a run and turns a panic of the system into a finding.
func (w *worker) guarded(number int) (outcome trace.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			outcome, err = w.panicked(p)
		}
	}()
	finding, err := w.stages(number)
	if err != nil {
		return outcome, err
	}
	return w.outcome(finding), nil
}

// begin prepares all parts of the worker for a new run.
func (w *worker) begin(number int) {
	w.run.wantTexts = w.rec != nil || w.Texts || w.terms.Texts
	w.looking = w.looking[:0]
	w.pairing = false
	wanted := w.rec != nil || w.director != nil || w.Budget != nil || w.terms.Events // the events
	for i, watcher := range w.watchers {
		if s, ok := watcher.(sampledWatcher); !ok || s.observes(number) {
			w.looking = append(w.looking, i)
			watcher.Reset()
			_, own := watcher.(*pairWatcher)
			w.pairing = w.pairing || own
			wanted = wanted || !own
		}
	}
	w.alone = w.rec == nil && len(w.looking) == 0 && w.director == nil && w.Budget == nil
	w.calm = (w.alone || w.pairing && !wanted && len(w.looking) == 1) && w.events
	_, blind := w.monitor.(nothing)
	w.run.watched = !blind || wanted
	w.checked = nil
	w.run.reset()
	w.run.sweeps = w.terms.Sweeps && !w.lent && w.calm && !w.keep
	w.monitor.Reset()
	w.notes = w.notes[:0]
	w.pcg.Seed(RunSeed(w.Seed, number), 1)
	w.start.Run, w.start.SeedOf, w.start.Draws = number, number, nil
	w.sched.Reset(&w.start)
	if w.director != nil {
		w.sidePCG.Seed(RunSeed(w.Seed, w.start.SeedOf), 2)
		w.director.Reset(w.sideRand)
	}
}

// stages makes the stages of a run, start, exploring, settling and end, up to a finding.
func (w *worker) stages(number int) (*Finding, error) {
	w.begin(number)
	r := w.run
	if w.watching {
		w.enters()
	}
	seed := RunSeed(RunSeed(w.Seed, w.start.SeedOf), 0)
	r.draws.reset(seed, w.rec != nil)
	r.draws.recall(w.start.Draws)
	w.inSystem = true
	err := w.system.Reset(w.ctx, seed, &r.out)
	w.inSystem, r.draws.given = false, nil
	if err != nil {
		return nil, fmt.Errorf("%s cannot be reset: %w", w.info.Name, err)
	}
	r.keepLimits()
	if w.observe() && w.explore() && r.over == "" && w.settle() && r.over == "" {
		w.end()
	}
	return r.finding, r.broken
}

// end lets spec and scenario check the final state.
func (w *worker) end() {
	r := w.run
	if f := w.monitor.End(r); f != nil {
		r.finding = f
	} else if w.director != nil {
		w.director.End(r, &r.control)
	}
}

// explore takes the strategy's steps. Like all stages of a run, it reports whether the run continues: it does not
// with a finding, or when something broke.
func (w *worker) explore() bool {
	r := w.run
	end := w.MaxSteps
	if w.Steps > 0 {
		end = min(end, w.Steps)
	}
	continues := w.drive(w.sched, end)
	if continues && !r.ended && r.steps >= end && end != w.Steps {
		r.end(fmt.Sprintf("more than %d steps", end))
	}
	return continues
}

// settle takes fair steps, if the plan wants some, until nothing moves or their number is used up. If the scheduler
// plays a script with steps of a settling stage, these come first.
func (w *worker) settle() bool {
	if w.Settle == 0 {
		return true
	}
	r := w.run
	r.settling, r.ended, r.queue, r.until = true, false, r.queue[:0], 0
	r.releaseAll()
	w.settler.reset()
	w.settler.script, _ = w.sched.(*Player)
	if !w.drive(&w.settler, r.steps+w.Settle) {
		return false
	}
	r.settled = r.over == ""
	return true
}

// idle reports whether the scenario continues if the strategy has no step to take.
func (w *worker) idle() bool {
	return w.director != nil && !w.run.settling && w.director.Idle(w.run, &w.run.control)
}

// note records the scheduler's choice if only notes can repeat the run. It also records that there was no choice: the
// scenario may continue from there.
//
//go:noinline
func (w *worker) note(chose bool) {
	if w.run.settling {
		return
	}
	a := trace.Action{Round: len(w.run.opened)}
	if chose {
		a.Step = *w.run.next()
	}
	w.notes = append(w.notes, a)
}

// observe lets all observers look at the step just taken.
func (w *worker) observe() bool {
	if w.alone {
		return w.check()
	}
	r := w.run
	if w.rec != nil {
		w.rec.Observe(r)
	}
	for _, i := range w.looking {
		w.watchers[i].Observe(r)
	}
	if w.director != nil {
		w.director.Observe(r, &r.control)
	}
	if w.Budget != nil && r.over == "" {
		if why := w.Budget.exceeded(r); why != "" {
			r.end(why)
		}
	}
	if w.events && len(r.events) == 0 {
		return r.finding == nil && r.broken == nil
	}
	return w.check() && r.finding == nil && r.broken == nil
}

// check lets the monitor check the step just taken.
func (w *worker) check() bool {
	f := w.monitor.Step(w.run)
	if f != nil {
		w.run.finding = f
	}
	return f == nil
}

// outcome turns the end of a run into its outcome. It copies the finding, because the monitor or director may reuse it.
func (w *worker) outcome(f *Finding) trace.Outcome {
	o := trace.Outcome{Verdict: trace.Pass, Steps: w.run.steps}
	if w.Budget != nil {
		if o.Reason = w.Budget.exceeded(w.run); o.Reason != "" {
			o.Verdict = trace.Unknown
			return o
		}
	}
	switch {
	case f != nil:
		found := f.Capped()
		found.Step = w.run.steps
		o.Verdict, o.Finding = trace.Fail, &found
		return o
	case w.run.over != "":
		o.Reason = w.run.over
	default:
		c := w.monitor.Conclude(false)
		o.Reason, w.checked = c.Undecided, c.Checked
	}
	if o.Reason != "" {
		o.Verdict = trace.Unknown
	} else if w.director != nil {
		if o.Reason, _ = w.director.Report(); o.Reason != "" {
			o.Verdict = trace.Vacuous
		}
	}
	return o
}

// panicked makes a finding of a panic of the system under test. The deployment is not used again. A panic elsewhere
// is a bug of a strategy, a spec or Lockstep itself.
func (w *worker) panicked(p any) (trace.Outcome, error) {
	property, where := "panic", stack.Text(2)
	if moved, ok := p.(stack.Panic); ok {
		property, where = cmp.Or(moved.Property, property), moved.Stack
	}
	w.abandon()
	if !w.inSystem {
		return trace.Outcome{}, fmt.Errorf(
			"panic outside the system under test, in the strategy, the scenario or the spec: %v\n%s", p, where)
	}
	w.inSystem = false
	if w.rec != nil {
		w.rec.broken(w.run)
	}
	return w.outcome(&Finding{Property: property, Text: fmt.Sprint(p), Stack: where}), nil
}

// abandon drops a deployment that may be in any state.
func (w *worker) abandon() {
	system := w.system
	w.system = nil
	if system != nil {
		defer func() { _ = recover() }()
		_ = system.Close()
		_ = w.place.clear()
	}
}
