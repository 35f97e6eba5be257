package lockstep

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/trace"
)

// Defaults of a plan and its limits.
const (
	DefaultRuns         = 1000
	DefaultSteps        = 100_000
	DefaultInFlight     = 10_000
	DefaultKeep         = 100
	DefaultRepetitions  = 10
	DefaultInconclusive = 10
)

// Plan says what to explore and how.
type Plan struct {
	System   System
	Strategy Strategy
	// Scenario guides the runs; nil leaves every choice to the strategy.
	Scenario Scenario
	// Spec is what the system promises; nil means that only a panic is a finding.
	Spec Spec
	// Observers watch the runs.
	Observers []Observer

	// Seed is the campaign's seed; each run derives its own from it and its number.
	Seed uint64
	// Runs is the number of runs; 0 means DefaultRuns.
	Runs int
	// Steps is the length of the exploring stage of a run, after which the run ends in
	// good order; 0 leaves the length to the strategy.
	Steps int
	// Settle is the number of steps of the settling stage, in which faults stop, links
	// heal, crashed nodes return and delivery is fair; 0 means that there is none and
	// that liveness is not judged.
	Settle int
	// Budget is the fault model: a run with more faults is unknown, whatever it shows.
	// Nil means the model that the scenario declares or, where it declares none, that
	// any fault is allowed.
	Budget *Budget
	// Limits stop a run that got out of hand.
	Limits Limits
	// Repetitions is how often a failing run of a system that repeats itself only roughly
	// is repeated; 0 means DefaultRepetitions.
	Repetitions int

	// Workers is the number of runs under way at once; 0 means one for each processor.
	// Results do not depend on it.
	Workers int
	// Scratch is the folder in which deployments get folders of their own; empty means the
	// system's folder for temporary files.
	Scratch string
	// KeepGoing continues after a finding; otherwise the campaign ends with the first.
	KeepGoing bool
	// AllowVacuous lets a Go test pass though parts of the scenario never took effect, or a
	// property was never judged; see Result.VacuousParts.
	AllowVacuous bool
	// Keep is the number of findings whose traces are kept; 0 means DefaultKeep.
	Keep int
	// Distinct counts the different schedules and, where the system offers fingerprints, the
	// different states of the first runs and of one of many after them (Result.StateRuns). It
	// costs less than a tenth of the time.
	Distinct bool
	// Texts puts messages and states into words in every run, for observers that read them.
	// It costs time.
	Texts bool
	// Watch, where it is set, is the watchdog: the engine has no clock. Each value from look
	// makes it look whether a step was begun since the last; if not, the run hangs, which is a
	// finding, and its goroutine, which nothing can stop, is left running. Package watchdog
	// makes one. Nil waits for ever.
	Watch func() (look <-chan time.Time, stop func())
	// Warming, where it is set, is called when a deployment begins to warm its process up ([Place.WarmUp]), and what it
	// returns when it has: a campaign with a time does not count that. Several may at once.
	Warming func() (done func())
	// Progress, where it is set, is called now and then from one goroutine at a time
	// with the result so far, which it must not keep.
	Progress func(*Result)
	// Found, where it is set, is called from one goroutine at a time with findings as soon as they have a trace, at
	// most Keep of them: that of a system that repeats itself roughly comes before the repetitions, which may take
	// long. A caller that stores them loses no finding, whatever ends the campaign. Where there are more findings
	// than Keep, the first to be found need not be the first in run order, which the result keeps.
	Found func(*Found)
}

// Limits bound one run. A run that reaches one has the verdict unknown, with the limit
// as the reason.
type Limits struct {
	Steps    int        // steps of a run; 0 means DefaultSteps
	InFlight int        // messages in flight at once; 0 means DefaultInFlight
	Time     trace.Time // time of a run; 0 means no limit
	// Inconclusive is the number of inconclusive runs that a campaign always tolerates; 0 means
	// DefaultInconclusive. A campaign with more of them ends with an error when they are more than half of
	// its runs, or more than this number in a row.
	Inconclusive int
}

// prepared is a plan that was checked and completed.
type prepared struct {
	Plan
	info  Info
	terms Terms
}

// prepare completes a plan and reports what is wrong with it.
func (p Plan) prepare() (*prepared, error) {
	if p.System == nil || p.Strategy == nil {
		return nil, errors.New("lockstep: a plan needs a System and a Strategy")
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"Runs", p.Runs}, {"Steps", p.Steps}, {"Settle", p.Settle}, {"Workers", p.Workers}, {"Keep", p.Keep},
		{"Repetitions", p.Repetitions}, {"Limits.Steps", p.Limits.Steps}, {"Limits.InFlight", p.Limits.InFlight},
		{"Limits.Time", int(p.Limits.Time)}, {"Limits.Inconclusive", p.Limits.Inconclusive}} {
		if f.value < 0 {
			return nil, fmt.Errorf("lockstep: the plan's %s is %d, it must not be negative", f.name, f.value)
		}
	}
	for _, f := range []struct {
		name        string
		value, most int
	}{{"Settle", p.Settle, trace.MaxSettle}, {"Limits.Steps", p.Limits.Steps, trace.MaxSteps - trace.MaxSettle}} {
		if f.value > f.most { // traces of such runs could not be read
			return nil, fmt.Errorf("lockstep: the plan's %s is %d, allowed are 0..%d", f.name, f.value, f.most)
		}
	}
	info, err := p.System.Describe()
	if err != nil {
		return nil, err
	}
	if info.Nodes < 1 || info.Nodes > trace.MaxNodes {
		return nil, fmt.Errorf("%s: %d nodes, allowed are 1..%d", info.Name, info.Nodes, trace.MaxNodes)
	}
	terms, err := p.Strategy.Fit(info)
	if err != nil {
		return nil, err
	}
	if p.Scenario != nil {
		declared, err := p.Scenario.Fit(info)
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", p.Scenario.Name(), err)
		}
		if p.Budget == nil {
			p.Budget = declared
		}
	}
	if err := p.Budget.check(); err != nil {
		return nil, err
	}
	p.complete()
	return &prepared{Plan: p, info: info, terms: terms}, nil
}

// complete fills in the defaults.
func (p *Plan) complete() {
	if p.Spec == nil {
		p.Spec = nothing{}
	}
	p.Runs = cmp.Or(p.Runs, DefaultRuns)
	p.Keep = cmp.Or(p.Keep, DefaultKeep)
	p.Repetitions = cmp.Or(p.Repetitions, DefaultRepetitions)
	p.Limits.Steps = cmp.Or(p.Limits.Steps, DefaultSteps)
	p.Limits.InFlight = cmp.Or(p.Limits.InFlight, DefaultInFlight)
	p.Limits.Inconclusive = cmp.Or(p.Limits.Inconclusive, DefaultInconclusive)
}

// Check reports what is wrong with a plan.
func (p Plan) Check() error {
	_, err := p.prepare()
	return err
}

// header is the header of the traces of this plan.
func (p *prepared) header(number int) trace.Header {
	h := trace.Header{
		Tool:     Version,
		Target:   p.info.Name,
		Build:    p.info.Build,
		Options:  p.info.Options,
		Strategy: p.Strategy.String(),
		Seed:     p.Seed,
		Run:      number,
		Nodes:    p.info.Nodes,
		Rounds:   p.info.Rounds,
		Phases:   p.info.Phases,
		Aside:    p.info.Aside,
		Settle:   p.Settle,
		Order:    p.terms.Order,
	}
	if p.Scenario != nil {
		h.Scenario = p.Scenario.Name()
	}
	return h
}

// RunSeed is the seed of one run of a campaign: a fixed mix of the campaign's seed and
// the run's number.
func RunSeed(seed uint64, run int) uint64 { return mix.Seed(seed, run) }
