package lockstep

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/trace"
)

// Defaults of a plan: they replace fields that are zero.
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
	// Spec states the promises of the system. Nil means that only what the engine, the system and the scenario find
	// without a spec is a finding, such as a panic.
	Spec Spec
	// Observers watch the runs.
	Observers []Observer

	// Seed is the campaign's seed; each run derives its own from it and its number.
	Seed uint64
	// Runs is the number of runs; 0 means DefaultRuns.
	Runs int
	// Steps is the length of the exploring stage of a run, after which the run ends normally; 0 leaves the length to
	// the strategy.
	Steps int
	// Settle is the number of steps of the settling stage, in which faults stop, links heal, crashed nodes return and
	// delivery is fair. 0 means that there is no such stage and that liveness is not checked.
	Settle int
	// Budget is the fault model: a run with more faults is unknown, whatever it shows. Nil means the scenario's fault
	// model; if the scenario declares none, any fault is allowed.
	Budget *Budget
	// MaxSteps bounds the steps of a run; 0 means DefaultSteps. A run that reaches a bound has the verdict unknown, with
	// the bound as the reason.
	MaxSteps int
	// MaxInFlight bounds the free messages at any time: those in flight that the scenario does not hold. 0 means
	// DefaultInFlight.
	MaxInFlight int
	// MaxTime bounds the time of a run; 0 means no bound.
	MaxTime trace.Time
	// MaxInconclusive is the number of inconclusive runs that a campaign always tolerates; 0 means
	// DefaultInconclusive. A campaign with more of them ends with an error if they are more than half of its runs, or
	// more than this number in a row.
	MaxInconclusive int
	// Repetitions is how often a failing run of a best-effort system is repeated; 0 means DefaultRepetitions.
	Repetitions int

	// Workers is the number of concurrent runs; 0 means one for each processor. Results do not depend on it.
	Workers int
	// Scratch is the directory in which each deployment gets a directory of its own; empty means the system's
	// directory for temporary files.
	Scratch string
	// KeepGoing continues after a finding; otherwise the campaign ends with the first.
	KeepGoing bool
	// AllowVacuous lets a Go test pass although parts of the scenario never took effect, or properties were never
	// checked: see Result.VacuousParts.
	AllowVacuous bool
	// Keep is the number of findings whose traces are kept; 0 means DefaultKeep.
	Keep int
	// Distinct makes the campaign count its distinct schedules and, if the system offers fingerprints, the distinct
	// states of some of its runs (Result.StateRuns). It adds less than a tenth to the time.
	Distinct bool
	// Texts renders messages and states as text in every run, for observers that read them. It costs time.
	Texts bool
	// Watchdog, if set, detects runs that hang because a step does not end. The engine has no clock, so Watchdog starts
	// a ticker: it returns its channel and a function that stops it. If no step began between two ticks, the run hangs,
	// which is a finding. The goroutine of such a run cannot be stopped and stays running. Package watchdog makes
	// watchdogs. Without one, the engine waits indefinitely.
	Watchdog func() (ticks <-chan time.Time, stop func())
	// Warming, if set, is called when a deployment begins to warm up its process (Env.WarmUp). It returns a function
	// that is called at the end of the warm-up. A campaign with a time limit does not count that time. Several
	// deployments may warm up concurrently.
	Warming func() (done func())
	// Progress, if set, is called now and then from one goroutine at a time with the result so far, which it must not
	// keep.
	Progress func(*Result)
	// OnFailure, if set, is called with each finding as soon as it has a trace. The calls come from one goroutine at a
	// time, and there are at most Keep. A caller that stores the findings loses none, however the campaign ends. A
	// finding of a best-effort system comes before its repetitions, which may take long. If there are more findings
	// than Keep, the first one passed need not be the first in run order, which the result keeps.
	OnFailure func(*Failure)
}

// prepared is a plan that has been checked and completed.
type prepared struct {
	Plan
	info  Info
	terms Terms
}

// prepare completes a plan and reports its errors.
func (p Plan) prepare() (*prepared, error) {
	if p.System == nil || p.Strategy == nil {
		return nil, errors.New("lockstep: a plan needs a System and a Strategy")
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"Runs", p.Runs}, {"Steps", p.Steps}, {"Settle", p.Settle}, {"Workers", p.Workers}, {"Keep", p.Keep},
		{"Repetitions", p.Repetitions}, {"MaxSteps", p.MaxSteps}, {"MaxInFlight", p.MaxInFlight},
		{"MaxTime", int(p.MaxTime)}, {"MaxInconclusive", p.MaxInconclusive}} {
		if f.value < 0 {
			return nil, fmt.Errorf("lockstep: the plan's %s is %d, it must not be negative", f.name, f.value)
		}
	}
	for _, f := range []struct {
		name        string
		value, most int
	}{{"Settle", p.Settle, trace.MaxSettle}, {"MaxSteps", p.MaxSteps, trace.MaxSteps - trace.MaxSettle}} {
		if f.value > f.most { // traces of such runs would be unreadable
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
	p.MaxSteps = cmp.Or(p.MaxSteps, DefaultSteps)
	p.MaxInFlight = cmp.Or(p.MaxInFlight, DefaultInFlight)
	p.MaxTime = cmp.Or(p.MaxTime, math.MaxInt64)
	p.MaxInconclusive = cmp.Or(p.MaxInconclusive, DefaultInconclusive)
}

// Check reports the errors of a plan.
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

// RunSeed is the seed of one run of a campaign: a fixed mix of the campaign's seed and the run's number.
func RunSeed(seed uint64, run int) uint64 { return mix.Seed(seed, run) }
