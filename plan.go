package lockstep

import (
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep/trace"
)

// Defaults of a plan and its limits.
const (
	DefaultRuns     = 1000
	DefaultSteps    = 100_000
	DefaultInFlight = 10_000
	DefaultKeep     = 100
)

// Plan says what to explore and how.
type Plan struct {
	System   System
	Strategy Strategy
	// Scenario guides the runs; nil leaves every choice to the strategy.
	Scenario Scenario
	// Spec is what the system promises; nil means that only a panic is a finding.
	Spec Spec
	// Observer, where it is set, watches the runs.
	Observer Observer

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

	// Workers is the number of runs under way at once; 0 means one for each processor.
	// Results do not depend on it.
	Workers int
	// KeepGoing continues after a finding; otherwise the campaign ends with the first.
	KeepGoing bool
	// AllowVacuous lets Test pass though parts of the scenario never took effect; see
	// Result.VacuousParts.
	AllowVacuous bool
	// Keep is the number of findings whose traces are kept; 0 means DefaultKeep.
	Keep int
	// Distinct counts the different schedules and, where the system offers fingerprints, the
	// different states of the campaign. It costs time and memory.
	Distinct bool
	// Progress, where it is set, is called now and then from one goroutine at a time
	// with the result so far, which it must not keep.
	Progress func(*Result)
}

// Limits bound one run. A run that reaches one has the verdict unknown, with the limit
// as the reason.
type Limits struct {
	Steps    int  // steps of a run; 0 means DefaultSteps
	InFlight int  // messages in flight at once; 0 means DefaultInFlight
	Time     Time // virtual time; 0 means no limit
}

// check completes a plan and reports what is wrong with it.
func (p Plan) check() (Plan, Info, error) {
	if p.System == nil || p.Strategy == nil {
		return p, Info{}, errors.New("lockstep: a plan needs a System and a Strategy")
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"Runs", p.Runs}, {"Steps", p.Steps}, {"Settle", p.Settle}, {"Workers", p.Workers}, {"Keep", p.Keep},
		{"Limits.Steps", p.Limits.Steps}, {"Limits.InFlight", p.Limits.InFlight}, {"Limits.Time", int(p.Limits.Time)}} {
		if f.value < 0 {
			return p, Info{}, fmt.Errorf("lockstep: the plan's %s is %d, it must not be negative", f.name, f.value)
		}
	}
	info, err := p.System.Describe()
	if err != nil {
		return p, info, err
	}
	if info.Nodes < 1 || info.Nodes > trace.MaxNodes {
		return p, info, fmt.Errorf("%s: %d nodes, allowed are 1..%d", info.Name, info.Nodes, trace.MaxNodes)
	}
	if err := p.Strategy.Check(info); err != nil {
		return p, info, err
	}
	if p.Scenario != nil {
		if err := p.Scenario.Check(info); err != nil {
			return p, info, fmt.Errorf("scenario %s: %w", p.Scenario.Name(), err)
		}
	}
	if b, ok := p.Scenario.(Budgeted); ok && p.Budget == nil {
		p.Budget = b.Budget()
	}
	if err := p.Budget.check(); err != nil {
		return p, info, err
	}
	if p.Spec == nil {
		p.Spec = nothing{}
	}
	orDefault(&p.Runs, DefaultRuns)
	orDefault(&p.Keep, DefaultKeep)
	orDefault(&p.Limits.Steps, DefaultSteps)
	orDefault(&p.Limits.InFlight, DefaultInFlight)
	return p, info, nil
}

func orDefault(v *int, d int) {
	if *v == 0 {
		*v = d
	}
}

// header is the header of the traces of this plan.
func (p Plan) header(info Info, number int) trace.Header {
	h := trace.Header{Tool: Version, Target: info.Name, Options: info.Options, Strategy: p.Strategy.String(),
		Seed: p.Seed, Run: number, Nodes: info.Nodes, Rounds: info.Rounds, Settle: p.Settle}
	if p.Scenario != nil {
		h.Scenario = p.Scenario.Name()
	}
	return h
}

// RunSeed is the seed of one run of a campaign: a fixed mix of the campaign's seed and
// the run's number (the finalizer of splitmix64).
func RunSeed(seed uint64, run int) uint64 {
	z := seed + (uint64(run)+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
