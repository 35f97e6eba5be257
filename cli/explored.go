package cli

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/lockstep-go/lockstep"
)

// explored has the flags that select what is explored. Several commands share them.
type explored struct {
	Target string   `arg:"" help:"What to test: lockstep list names targets; or the directory or import path of a main package."`
	Nodes  *int     `placeholder:"N" help:"Number of nodes."`
	Set    []string `placeholder:"K=V" sep:"none" help:"Option of the target; may be repeated."`
	Steps  int      `placeholder:"N" help:"Length of a run in steps; 0 leaves it to the strategy."`
	Settle *int     `placeholder:"N" help:"Steps of the settling stage, after which liveness is checked; the target's unless given."`
	Seed   uint64   `placeholder:"X" help:"Seed of the campaign, or of the first of several."`
	conforming
	NoOverlay bool `help:"Build the target without the overlay that makes goroutine programs deterministic: repeating a run is then a best effort."`
	Workers   int  `placeholder:"W" help:"Runs at once; 0 is one for each processor. Results do not depend on it."`

	build []string // options that select a build of the target
}

// here finds the target. If it is in another program, that program takes over.
func (x *explored) here(e *Env) (*place, error) {
	e.bestEffort = x.NoOverlay
	at, err := e.locate(x.Target, slices.Concat(x.build, x.Set))
	if err == nil && at.program != nil {
		err = e.handOver(at)
	}
	return &at, err
}

// plan returns the plan of these flags, still without a strategy. The given options are defaults, which the flags
// override. Without any, a target that has options for such a campaign gets these.
func (x *explored) plan(e *Env, at *place, options []string) (lockstep.Plan, error) {
	settle := at.target.Settle
	if x.Settle != nil {
		settle = *x.Settle
	}
	plan := lockstep.Plan{Spec: at.target.Spec, Seed: x.Seed, Steps: x.Steps, Settle: settle, Workers: x.Workers}
	if err := notNegative("steps", int64(x.Steps), "settle", int64(settle), "workers", int64(x.Workers)); err != nil {
		return plan, err
	}
	pairs := at.set
	if x.Nodes != nil {
		if *x.Nodes < 1 {
			return plan, fmt.Errorf("--nodes is %d, it must be at least 1", *x.Nodes)
		}
		pairs = append([]string{fmt.Sprintf("nodes=%d", *x.Nodes)}, pairs...)
	}
	if len(at.set) == 0 && options == nil {
		options = at.target.Campaign
	}
	var err error
	plan.System, err = at.system(slices.Concat(options, pairs))
	if err != nil {
		return plan, err
	}
	return plan, e.conform(&plan, x.conforming)
}

// words returns the flags as the user gave them, without the seed.
func (x *explored) words() []string {
	var words []string
	if x.Nodes != nil {
		words = append(words, "--nodes", strconv.Itoa(*x.Nodes))
	}
	for _, s := range x.Set {
		words = append(words, "--set", s)
	}
	if x.Steps > 0 {
		words = append(words, "--steps", strconv.Itoa(x.Steps))
	}
	if x.Settle != nil {
		words = append(words, "--settle", strconv.Itoa(*x.Settle))
	}
	words = append(words, x.conforming.words()...)
	if x.NoOverlay {
		words = append(words, "--no-overlay")
	}
	return words
}

// notNegative checks flags, given as pairs of name and value.
func notNegative(pairs ...any) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1].(int64) < 0 {
			return fmt.Errorf("--%s is negative, allowed is 0 and more", pairs[i])
		}
	}
	return nil
}
