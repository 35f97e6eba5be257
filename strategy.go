package lockstep

import (
	"fmt"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep/trace"
)

// Strategy chooses the steps of a run. It is an immutable value with exported fields; its zero value is valid or Fit
// refuses it with an error that names the field.
type Strategy interface {
	// String is the strategy as written on the command line, e.g.
	// "uniform:isolations=4,rounds=16".
	String() string
	// Fit returns the terms on which the strategy explores a system with this description, or why it cannot.
	Fit(Info) (Terms, error)
	// New makes a scheduler, which serves many runs of one worker. Fit has passed.
	New(Info) Scheduler
}

// Terms are what a strategy states about itself for one system: its guarantee, its number of runs, how it learns, and
// what it needs from the engine.
type Terms struct {
	// Guarantee states the probability that one run hits a given target of the strategy's class.
	Guarantee Guarantee
	// Measured computes the guarantee of a campaign from measurements of its runs; nil if the guarantee does not depend
	// on them.
	Measured func(RunStats) Guarantee
	// Runs is the number of runs after which the strategy has made all distinct runs; a campaign need not make more.
	// It is 0 if there is no such number.
	Runs int
	// Fixed says what is the same in all of these runs because the strategy does not vary it, e.g. the requests of
	// clients. It is empty if the strategy varies everything.
	Fixed string
	// Sequential says that the scheduler learns from one run for the next. Then one scheduler makes all runs of a
	// campaign in order, with one worker. A failing run is recorded by repeating its steps instead of from its seed.
	Sequential bool
	// Lineages is the number of schedulers that learn in parallel and exchange what they learned; 0 means one. With
	// two or more, each scheduler of the strategy is a Learner.
	Lineages int
	// Epoch is the number of runs that each lineage makes between two exchanges. It is 0 with one lineage, which
	// exchanges nothing.
	Epoch int
	// Features is the kind of features from which the scheduler, a FeatureLearner, learns, e.g. CodeFeatures. An
	// observer or the spec of the plan must offer them: see FeatureSource. It is empty if the scheduler needs no
	// features.
	Features string
	// Order bounds how messages of one link overtake each other in runs of the strategy; nil means that they may arrive
	// in any order. A run that is shrunk or replayed keeps to it.
	Order *trace.Order
	// Sweeps permits Turn.Sweep: the engine may deliver all messages of a round without asking the scheduler for each,
	// which is faster. A strategy that wraps another one, and chooses or observes each step, sets it to false.
	Sweeps bool
	// Texts says that the scheduler reads the texts of messages and states.
	Texts bool
	// Events says that the scheduler looks at the events of steps.
	Events bool
	// Probe is a strategy that makes a few runs before the campaign starts, without faults, to learn parameters from. It
	// is nil if the strategy learns nothing before the campaign.
	Probe Strategy
	// Learn returns the strategy with the parameters that the runs of Probe suggest. Its argument is the scheduler that
	// made all of these runs.
	Learn func(probe Scheduler) Strategy
}

// Scheduler makes the choices of one run after the other.
type Scheduler interface {
	// Reset begins a new run.
	Reset(*Start)
	// Next writes the next step to next, which is zero, and reports true. It reports false when the run should end.
	// After a successful Turn.Sweep it reports true and writes nothing.
	Next(turn *Turn, next *Step) bool
	// Report reports on the last run, and on the runs so far. Rendering Drawn and Reached as text takes time; the
	// engine wants them only if texts is true.
	Report(texts bool) SchedulerStats
}

// Learner is a scheduler whose parallel instances, the lineages, exchange what they learned after each epoch. So a
// learning strategy can use several workers.
//
// The runs of a campaign belong to the lineages in turn. In each epoch, the first [Terms].Epoch runs belong to the
// first lineage, as many to the second, and so on. All begin an epoch with what every lineage learned in earlier
// epochs. So the result does not depend on which worker makes which runs.
type Learner interface {
	Scheduler
	// Begin begins an epoch. The scheduler then knows only what Learn has merged.
	Begin()
	// Learned encodes what this lineage has learned since Begin, for Learn of all lineages.
	Learned() []byte
	// Learn merges what the lineages learned in one epoch. The epoch began with the run numbered firstRun, and lineages
	// has the result of Learned of each lineage, in their order. The function source returns a source of the same
	// random numbers as Start.Rand had in a run. With it, a scheduler computes what a run drew, which Learned need not
	// contain.
	Learn(firstRun int, lineages [][]byte, source func(run int) *rand.Rand) error
}

// FeatureLearner is a scheduler that learns from what each run reached, beyond what it sees of the run itself.
type FeatureLearner interface {
	Scheduler
	// ReachedFeatures receives the features that the run just made has reached, each once, of the kind that Terms.Features
	// names. It is called before the next Reset, and before Learned. It is not called for an inconclusive run. The
	// scheduler must not keep the list.
	ReachedFeatures(features []uint64)
}

// Start is what a scheduler gets at the start of a run. All of its choices must follow from it and from what the
// scheduler sees of the run. The scheduler may change SeedOf and Draws, from which the system starts.
type Start struct {
	// Run is the number of the run in the campaign, from 0, for strategies that walk through a space instead of
	// drawing from it.
	Run int
	// Rand is the run's own source, seeded for this run. The scheduler must not keep it beyond the run.
	Rand *rand.Rand
	// SeedOf is the number of the run whose seed the system and the scenario get: this run, unless the scheduler
	// changes it. A scheduler that varies an earlier run sets the number of that run, so that only its own choices
	// differ.
	SeedOf int
	// Draws is nil, unless the scheduler sets it to the first draws that the system gets when it starts. A scheduler
	// that repeats a recorded run does so.
	Draws []trace.Draw
}

// SchedulerStats is a scheduler's report on its runs.
type SchedulerStats struct {
	// Drawn lists the parameters that the scheduler drew for the last run, for the header of its trace.
	Drawn map[string]string
	// Stats measures the last run, if the guarantee depends on measurements.
	Stats RunStats
	// Done says that the strategy has made all of its runs, which ends the campaign normally.
	Done bool
	// Reached says as text how far the scheduler has got in all of its runs so far.
	Reached string
}

// RunStats are what a strategy measures in the runs of a campaign, if its guarantee depends on more than the plan says.
// PCTCP's probability, for example, depends on the number of choices of a run, which only the runs show. A strategy
// fills in the fields that its [Terms].Measured reads, and leaves the others zero.
type RunStats struct {
	// Choices is the number of messages, requests and timers of a whole run that could have been the next step at some
	// time, whether or not they were. It is the maximum over the runs. With Races, PCTCP counts only those that race.
	Choices int `json:"Events"`
	// Width is the w of PCTCP's bound: how many of these choices are pairwise concurrent, as far as a run shows it. It
	// is the maximum over the runs.
	Width int
	// Runs is the number of runs measured.
	Runs int
	// Hits is the number of planned delays and partitions that took effect, in all runs. PCTCP plans change points,
	// each of which delays an event.
	Hits int `json:"Changes"`
	// Inverse is the sum of 1/p over the runs, where p is the probability with which the strategy drew the run. Its mean
	// over the runs estimates how many different executions the strategy can draw.
	Inverse float64
}

func (r *RunStats) add(t RunStats) {
	r.Choices, r.Width = max(r.Choices, t.Choices), max(r.Width, t.Width)
	r.Runs, r.Hits, r.Inverse = r.Runs+t.Runs, r.Hits+t.Hits, r.Inverse+t.Inverse
}

// probes is the number of runs that a strategy learns from.
const probes = 8

// learn lets the strategy of a plan that has passed its check choose parameters. They do not depend on the campaign's
// seed.
func (p *prepared) learn() error {
	if p.terms.Probe == nil {
		return nil
	}
	probe := *p
	probe.Strategy, probe.Scenario, probe.Spec, probe.Seed, probe.Settle, probe.Observers =
		p.terms.Probe, nil, nothing{}, 0, 0, nil
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
