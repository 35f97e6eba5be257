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
	// Fit returns the terms on which the strategy explores such a system, or why it cannot.
	Fit(Info) (Terms, error)
	// New makes a scheduler, which serves many runs of one worker. Fit has passed.
	New(Info) Scheduler
}

// Terms describe a strategy for one system: its guarantee, its number of runs, how it learns, and what it needs from
// the engine.
type Terms struct {
	// Guarantee states the probability that one run hits a given target of the strategy's class.
	Guarantee Guarantee
	// Measured is the guarantee for a campaign whose runs have these measurements; nil if it does not depend on them.
	Measured func(RunStats) Guarantee
	// Runs is the number of runs after which the strategy has made all distinct runs; a campaign need not make more.
	// It is 0 if there is no such number. If Runs is set, Given says what the strategy does not vary, e.g. the
	// requests of clients. Given is empty if the strategy varies everything.
	Runs  int
	Fixed string
	// Sequential says that the scheduler learns from one run for the next. Then one scheduler makes all runs of a
	// campaign in order, with one worker. A failing run is recorded by repeating its steps instead of from its seed.
	Sequential bool
	// Lineages is the number of schedulers that learn separately, if a strategy has several. Epoch is the number of
	// runs that each of them makes before all learn what the others have learned. 0 means one lineage, without an
	// end. The schedulers of a strategy with several lineages are each a [Learner].
	Lineages, Epoch int
	// Features is the kind of features from which the scheduler learns, a [FeatureLearner], e.g. CodeFeatures. An
	// observer or the spec of the plan must offer them: see [FeatureSource]. It is empty if the scheduler sees for
	// itself what it learns from.
	Features string
	// Order bounds how messages of one link overtake each other in runs of the strategy; nil means that they may
	// arrive in any order. A run that is shrunk or replayed keeps to it.
	Order *trace.Order
	// Sweeps says that the scheduler leaves the messages of rounds to the engine ([Turn.Sweep]). A strategy that uses
	// another strategy's scheduler, and chooses or observes each step, sets it to false.
	Sweeps bool
	// Texts says that the scheduler reads the texts of messages and states, Events that it looks at the events of steps.
	Texts, Events bool
	// Probe makes a few runs without faults before the campaign starts, and Learn returns the strategy with the
	// parameters that they suggest. Learn's argument is the scheduler that made all of them. Both are nil if the
	// strategy learns nothing.
	Probe Strategy
	Learn func(probe Scheduler) Strategy
}

// Scheduler makes the choices of one run after the other.
type Scheduler interface {
	// Reset begins a new run.
	Reset(*Start)
	// Next writes the next step to next, which is zero, and reports true; or it reports false when the run should
	// end.
	Next(turn *Turn, next *Step) bool
	// Report reports on the last run, and on the runs so far. Rendering Drawn and Reached as text takes time; the
	// engine wants them only if texts is true.
	Report(texts bool) SchedulerStats
}

// Learner is a scheduler whose parallel instances, the lineages, exchange what they learned after each epoch, so that a
// learning strategy can use several workers. The runs of a campaign belong to the lineages in
// turn. In each epoch, the first Terms.Epoch runs belong to the first lineage, as many to the second, and so on. All
// begin an epoch with what every lineage learned in earlier epochs. So the result does not depend on the distribution
// of the runs.
type Learner interface {
	Scheduler
	// Begin forgets what was learned since the last epoch.
	Begin()
	// Learned is what the scheduler has learned since Begin.
	Learned() []byte
	// Learn adds an epoch whose first run is given: what its lineages have learned, in their order. The function
	// source returns the random source with which a run was made.
	Learn(first int, lineages [][]byte, source func(run int) *rand.Rand) error
}

// FeatureLearner is a scheduler that learns from what each run reached, beyond what it sees of the run itself.
type FeatureLearner interface {
	Scheduler
	// Reached receives the features of the run just made, of the kind that Terms.Features names, each once. It is called
	// before the next Reset, and before Learned. It is not called for a run that was inconclusive. The list must not be
	// kept.
	Reached(features []uint64)
}

// Start is a scheduler's input at the start of a run. All of its choices must follow from it and from what it sees of
// the run.
type Start struct {
	// Run is the number of the run in the campaign, from 0, for strategies that walk through a space instead of
	// drawing from it.
	Run int
	// Rand is the run's own source, seeded for this run. It must not be kept.
	Rand *rand.Rand
	// SeedOf is the number of the run from which the seeds of the system and the scenario derive. A scheduler that
	// returns to an earlier run sets it, so that only its choices differ.
	SeedOf int
	// Draws are the first draws of the system when it starts. A scheduler that repeats the steps of a recording sets
	// it.
	Draws []trace.Draw
}

// SchedulerStats is a scheduler's report on its runs.
type SchedulerStats struct {
	// Drawn lists the parameters that were drawn for the run, for the header of its trace.
	Drawn map[string]string
	// Stats measures the run, if the guarantee depends on it.
	Stats RunStats
	// Done says that the strategy has exhausted a space, which ends the campaign normally, and Reached says as text
	// how far the scheduler got.
	Done    bool
	Reached string
}

// RunStats are measurements of runs, from which [Terms].Measured computes a guarantee that depends on the system. A
// strategy fills in the fields that its own guarantee needs.
type RunStats struct {
	// Choices is the largest number of messages, requests and timers of a run that could have been the next step at
	// some time, whether or not they were. With Races, PCTCP counts only those that race.
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
