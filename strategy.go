package lockstep

import (
	"fmt"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep/trace"
)

// Strategy chooses the steps of a run. It is an immutable value with exported fields;
// its zero value is valid or Fit refuses it with an error that names the field.
type Strategy interface {
	// String is the strategy as written on the command line, e.g.
	// "uniform:isolations=4,rounds=16".
	String() string
	// Fit says on which terms the strategy explores such a system, or why it cannot.
	Fit(Info) (Terms, error)
	// New makes a scheduler, which serves many runs of one worker. Fit has passed.
	New(Info) Scheduler
}

// Terms are what a strategy promises and needs for a certain system.
type Terms struct {
	// Guarantee states the chance that one run hits a given target of the strategy's class.
	Guarantee Guarantee
	// Measured is the guarantee for a campaign whose runs turned out to be such; nil where
	// it does not depend on that.
	Measured func(Seen) Guarantee
	// Runs is the number of runs after which the strategy has made all that are different, so
	// that a campaign need not make more; 0 where there is no such number. Then Given says
	// what it does not vary, e.g. the requests of clients, and is empty where there is nothing.
	Runs  int
	Given string
	// Sequential says that the scheduler learns from one run for the next. Then one
	// scheduler makes all runs of a campaign in order, with one worker, and a failing run
	// is recorded by repeating its steps instead of from its seed.
	Sequential bool
	// Lineages is the number of schedulers that learn apart from each other, where a strategy that learns has
	// several, and Epoch the number of runs that one of them makes before all are told what the others
	// have learned. 0 is one lineage, without an end. The schedulers of a strategy with more than one are a [Learner].
	Lineages, Epoch int
	// Order bounds how messages of one link overtake each other in runs of the strategy; nil means that they may arrive
	// in any order. A run that is shrunk or replayed keeps to it.
	Order *trace.Order
	// Sweeps says that the scheduler leaves the messages of rounds to the engine ([Turn.Sweep]). A strategy that uses
	// another one's scheduler, and chooses each step or looks at each, sets it to false.
	Sweeps bool
	// Texts says that the scheduler reads the texts of messages and states, Events that it looks at the
	// events of steps.
	Texts, Events bool
	// Probe makes a few runs without faults before the campaign starts, and Learn returns
	// the strategy with the parameters that they suggest. Its argument is the scheduler that
	// made all of them. Both are nil where nothing is to be learned.
	Probe Strategy
	Learn func(probe Scheduler) Strategy
}

// Scheduler makes the choices of one run after the other.
type Scheduler interface {
	// Reset begins a new run.
	Reset(*Start)
	// Next writes the next step to next, which is zero, and reports true; or it reports
	// false when the run is over.
	Next(turn *Turn, next *Step) bool
	// Tell tells about the run last made, and of the runs so far. Drawn and Reached, which take
	// time to be put into words, are wanted only where words is true.
	Tell(words bool) Account
}

// Learner is the scheduler of a strategy with several lineages. The runs of a campaign belong to them in turns: in
// each epoch Terms.Epoch runs to the first, as many to the second, and so on. All begin an epoch with what every
// lineage has learned in the epochs before, so that nothing depends on who makes the runs of which.
type Learner interface {
	Scheduler
	// Begin forgets what was learned since the last epoch.
	Begin()
	// Learned is what was learned since Begin.
	Learned() []byte
	// Learn adds an epoch whose first run is given: what its lineages have learned, in their order. The
	// source of a run is that which it was made with.
	Learn(first int, lineages [][]byte, source func(run int) *rand.Rand) error
}

// Start is what a scheduler gets at the start of a run. All of its choices must follow
// from it and from what it sees of the run.
type Start struct {
	// Run is the number of the run in the campaign, from 0, for strategies that walk
	// through a space instead of drawing from it.
	Run int
	// Rand is the run's own source, seeded for this run. It must not be kept.
	Rand *rand.Rand
	// SeedOf is the number of the run whose seed the system and the scenario get. A
	// scheduler that goes back to an earlier run sets it, so that only its choices differ.
	SeedOf int
	// Draws is what the system is to draw first when it starts, where a scheduler that takes the
	// steps of a recording again sets it.
	Draws []trace.Draw
}

// Account is what a scheduler tells of its runs.
type Account struct {
	// Drawn lists the parameters that were drawn for the run, for the header of its trace.
	Drawn map[string]string
	// Seen measures the run, where the guarantee depends on it.
	Seen Seen
	// Done says that a space was worked through, which ends the campaign in good order, and
	// Reached says in words how far the scheduler came.
	Done    bool
	Reached string
}

// Seen is what a strategy saw of the runs that its guarantee depends on.
type Seen struct {
	Events  int     // things that happened or could have happened in a run, the most of all runs
	Width   int     // of the partial order of these events, likewise
	Runs    int     // that were measured
	Changes int     // in all of them, what the strategy set out to do and could: events that were delayed, partitions that came about
	Inverse float64 // the sum, over these runs, of one over the probability of their choices
}

func (s *Seen) add(t Seen) {
	s.Events, s.Width = max(s.Events, t.Events), max(s.Width, t.Width)
	s.Runs, s.Changes, s.Inverse = s.Runs+t.Runs, s.Changes+t.Changes, s.Inverse+t.Inverse
}

// probes is the number of runs that a strategy learns from.
const probes = 8

// learn lets the strategy of a plan that has passed its check choose parameters. They do
// not depend on the campaign's seed.
func (p *prepared) learn() error {
	if p.terms.Probe == nil {
		return nil
	}
	probe := *p
	probe.Strategy, probe.Scenario, probe.Spec, probe.Seed, probe.Settle, probe.Observers = p.terms.Probe, nil, nothing{}, 0, 0, nil
	probe.terms = Terms{}
	w := newWorker(&probe, 0)
	for number := range probes {
		if _, err := w.one(number); err != nil {
			return fmt.Errorf("%s: a run to learn from failed: %w", p.Strategy, err)
		}
	}
	p.Strategy = p.terms.Learn(w.sched)
	err := w.close()
	if err == nil {
		p.terms, err = p.Strategy.Fit(p.info)
	}
	return err
}
