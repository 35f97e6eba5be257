// Package target describes systems that users can test by name, with options, as on the command line. The packages
// below it contain the systems themselves.
package target

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/option"
	"github.com/lockstep-go/lockstep/trace"
)

// Target is a system that can be created from a name and options.
type Target struct {
	Name string
	// Help is a description in one line.
	Help string
	// Spec is the spec of the system.
	Spec lockstep.Spec
	// Settle is the number of steps of the settling stage that its liveness needs.
	Settle int
	// Strategy is the default strategy of its runs, as written on the command line; empty means the command line's
	// own default.
	Strategy string
	// Campaign is the options of a campaign for which the user sets none, as "key=value": a workload in which operations
	// are answered, faults happen, and most runs check every property of the spec. nil means the options' defaults.
	Campaign []string
	// Sometimes is what a campaign that tests the target well reaches at least once, as --sometimes names it.
	Sometimes []string
	// Script is a draft of a program, usually a shell script, that does with real servers what a run does; nil: there is
	// none.
	Script func(*trace.Trace) string
	// StepTimeout is the default time after which a step counts as hanging; 0 means the default of the command line.
	// Servers in processes may take minutes on a busy machine.
	StepTimeout time.Duration
	// Scenarios are the scenarios that can guide its runs.
	Scenarios []Scenario

	def    lockstep.System
	gather string // the option that collects unknown keys; empty: none does
}

// Scenario is a scenario that users can select by name.
type Scenario struct {
	Name string
	// Help is a description in one line.
	Help string
	// Build creates the scenario.
	Build func() lockstep.Scenario
	// Set are the options of the target that it needs, as "key=value". Users may add others, and override these.
	Set []string
	// Strategy is the default strategy for the choices that the scenario leaves open. Empty means the target's, or
	// the command line's own if the target has none.
	Strategy string
}

// Scenario looks up one of the target's scenarios by name. The error lists the known names.
func (t Target) Scenario(name string) (Scenario, error) {
	var names []string
	for _, s := range t.Scenarios {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return Scenario{}, fmt.Errorf("target %s has no scenarios, and thus no %q", t.Name, name)
	}
	return Scenario{}, fmt.Errorf("target %s has no scenario %q: one of %s", t.Name, name, strings.Join(names, ", "))
}

// Guided is the target with more scenarios.
func (t Target) Guided(by ...Scenario) Target {
	t.Scenarios = append(slices.Clone(t.Scenarios), by...)
	return t
}

// Explored is the target with another default strategy.
func (t Target) Explored(strategy string) Target {
	t.Strategy = strategy
	return t
}

// WithScript is the target with drafts of programs that do outside what a run does.
func (t Target) WithScript(script func(*trace.Trace) string) Target {
	t.Script = script
	return t
}

// WithCampaign is the target with options of a campaign for which the user sets none.
func (t Target) WithCampaign(pairs ...string) Target {
	t.Campaign = pairs
	return t
}

// WithSometimes is the target with what a campaign that tests it well reaches at least once.
func (t Target) WithSometimes(what ...string) Target {
	t.Sometimes = what
	return t
}

// Settled is the target with a settling stage of so many steps.
func (t Target) Settled(steps int) Target {
	t.Settle = steps
	return t
}

// Gathered is the target with an option that collects all pairs whose key is no option of the target, as a list
// "key=value,...". A tested program may have parameters of its own.
func (t Target) Gathered(option string) Target {
	t.gather = option
	return t
}

// WithStepTimeout is the target with another time after which a step counts as hanging.
func (t Target) WithStepTimeout(timeout time.Duration) Target {
	t.StepTimeout = timeout
	return t
}

// Of makes a target of a system, a struct whose exported fields are the options.
func Of(name, help string, def lockstep.System, spec lockstep.Spec) Target {
	return Target{Name: name, Help: help, Spec: spec, def: def}
}

// Fill is a system with its defaults: every zero field of the struct has the value that its tag `zero` states.
func Fill[T any](system T) T {
	option.Fill(&system)
	return system
}

// Check validates the struct of a system, under the system's name. It reports the first number or time that is not in
// the range of its tag `range`, or the first text that its tag `oneof` does not list.
func Check(name string, v any) error {
	if err := option.Check(v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Changed lists the options of a system that differ from those of another, and those named in addition, for the
// header of traces.
func Changed(v, usual any, always ...string) map[string]string {
	return option.Changed(v, usual, always...)
}

// Option is a key of a target with its default.
type Option = option.Option

// Options lists the target's options.
func (t Target) Options() []Option { return option.List(t.def) }

// Build creates the system with the options given as "key=value".
func (t Target) Build(pairs []string) (lockstep.System, error) {
	system, err := option.With(t.def, t.gathered(pairs))
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", t.Name, err)
	}
	if cleared := option.Cleared(system, t.def); len(cleared) > 0 {
		return without{system, cleared}, nil
	}
	return system, nil
}

// without is a system without something that its target has by default. A system leaves out its own zero options from
// the header of a trace, and there they must be, or a replay would build the target's default.
type without struct {
	lockstep.System
	cleared map[string]string
}

// Describe adds the options to those of the system.
func (w without) Describe() (lockstep.Info, error) {
	info, err := w.System.Describe()
	if err != nil {
		return info, err
	}
	options := maps.Clone(w.cleared)
	maps.Copy(options, info.Options)
	info.Options = options
	return info, nil
}

// gathered moves the options that are not the target's into the option that collects them.
func (t Target) gathered(pairs []string) []string {
	if t.gather == "" {
		return pairs
	}
	var own, others []string
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		switch {
		case key == t.gather:
			others = append(others, value)
		case !ok || slices.ContainsFunc(t.Options(), func(o Option) bool { return o.Key == key }):
			own = append(own, pair)
		default:
			others = append(others, key+"="+strings.TrimSpace(value))
		}
	}
	if len(others) > 0 {
		own = append(own, t.gather+"="+strings.Join(others, ","))
	}
	return own
}

// Rebuild creates the system from the options in the header of a trace.
func (t Target) Rebuild(options map[string]string) (lockstep.System, error) {
	var pairs []string
	for _, k := range slices.Sorted(maps.Keys(options)) {
		pairs = append(pairs, k+"="+options[k])
	}
	return t.Build(pairs)
}

// Find looks up a target by name. The error lists the known names.
func Find(targets []Target, name string) (Target, error) {
	var names []string
	for _, t := range targets {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Target{}, fmt.Errorf("unknown target %q: one of %s", name, strings.Join(names, ", "))
}
