package lockstep

import "github.com/lockstep-go/lockstep/trace"

// Sequential is a Strategy whose scheduler may learn from one run for the next. If
// Sequential reports true, one scheduler makes all runs of a campaign in order, with one
// worker, and a failing run is recorded by repeating its steps instead of from its seed.
type Sequential interface {
	Strategy
	Sequential() bool
}

// Reseeder is a Scheduler that goes back to earlier runs: it may give a run the seed that
// another one had, so that system and scenario draw the same, and only the choices differ.
type Reseeder interface {
	Scheduler
	// SeedOf is the number of the run whose seed the run just begun shall have. The header
	// of its trace has that number.
	SeedOf() int
}

// Searcher is a Scheduler that works through a space and knows how far it came.
type Searcher interface {
	Scheduler
	// Done reports whether the space is exhausted, which ends the campaign in good order.
	Done() bool
	// Reached says in words how far the search came.
	Reached() string
}

// Finite is a Strategy whose runs differ only up to a certain number, so that a campaign
// need not make more.
type Finite interface {
	Strategy
	// Runs is that number, and whether there is one.
	Runs(Info) (runs int, ok bool)
}

// isSequential reports whether the runs of a strategy depend on the runs before them.
func isSequential(s Strategy) bool {
	q, ok := s.(Sequential)
	return ok && q.Sequential()
}

// seedOf is the number of the run whose seed the numbered run has.
func (w *worker) seedOf(number int) int {
	if r, ok := w.sched.(Reseeder); ok && w.replay == nil { // a trace says itself which seed it has
		number = r.SeedOf()
	}
	if w.rec != nil {
		w.rec.trace.Header.Run = number
	}
	return number
}

// done reports whether the worker's scheduler has nothing left to try.
func (w *worker) done() bool {
	s, ok := w.sched.(Searcher)
	return ok && s.Done()
}

// notes record what a scheduler chose in a run, kept by a worker whose
// strategy cannot make the run again.
type notes struct {
	steps  []Step
	opened []int // rounds opened when the step of the same index was chosen
	rounds []trace.Round
	drawn  map[string]string
	seed   int // the number of the run whose seed it had
}

// choose asks the scheduler for the next step and takes notes.
func (w *worker) choose() bool {
	ok := w.sched.Next(w.run, w.run.next)
	if ok {
		w.notes.note(*w.run.next, w.sched)
	} else {
		w.notes.note(Step{}, w.sched)
	}
	return ok
}

// note adds a step, or the zero step for none: the scenario may go on from there.
func (s *notes) note(step Step, sched Scheduler) {
	s.steps = append(s.steps, step)
	if r, ok := sched.(RoundScheduler); ok {
		s.opened = append(s.opened, len(r.Rounds()))
	}
}

// copy is the notes on the run just made, to be kept beyond the next run.
func (s *notes) copy(number int, sched Scheduler) *notes {
	c := &notes{steps: append([]Step(nil), s.steps...), opened: append([]int(nil), s.opened...)}
	if r, ok := sched.(RoundScheduler); ok {
		c.rounds = append(c.rounds, r.Rounds()...)
	}
	if d, ok := sched.(Drawer); ok {
		c.drawn = d.Drawn()
	}
	if r, ok := sched.(Reseeder); ok {
		number = r.SeedOf()
	}
	c.seed = number
	return c
}

// actor is the scheduler that follows notes.
type actor struct {
	notes *notes
	at    int
	over  bool // all steps were chosen, and the run went on
}

// Reset implements Scheduler.
func (a *actor) Reset(Start) { a.at, a.over = 0, false }

// Next implements Scheduler.
func (a *actor) Next(_ *Run, next *Step) bool {
	if a.over = a.at == len(a.notes.steps); a.over {
		return false
	}
	*next = a.notes.steps[a.at]
	a.at++
	return next.Kind != trace.Start
}

// Rounds implements RoundScheduler.
func (a *actor) Rounds() []trace.Round {
	if a.over {
		return a.notes.rounds
	}
	if a.at == 0 || len(a.notes.opened) == 0 {
		return nil
	}
	return a.notes.rounds[:a.notes.opened[a.at-1]]
}

// SeedOf implements Reseeder.
func (a *actor) SeedOf() int { return a.notes.seed }

// Drawn implements Drawer.
func (a *actor) Drawn() map[string]string { return a.notes.drawn }
