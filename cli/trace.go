package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/trace"
	"github.com/lockstep-go/lockstep/watchdog"
)

// traceCmd makes one run of a campaign and prints it, whether or not it fails.
type traceCmd struct {
	explored
	Number   int    `name:"run" default:"0" placeholder:"N" help:"Number of the run in its campaign (${default})."`
	Strategy string `placeholder:"S" help:"How to choose steps, as with run."`
	Scenario string `placeholder:"NAME" help:"Guide the run by one of the target's scenarios, as with run."`
	Out      string `placeholder:"FILE" help:"Write the run to a trace file too, which replay and explain read."`
}

// Help returns the longer help.
func (traceCmd) Help() string {
	return `Prints each step, and below it the events that the step caused. The run is the one that a campaign with the same
flags makes under this number. Exit status 1: the run fails.

Examples:
  lockstep trace smr --seed 7 --run 12
  lockstep trace smr-bug --strategy walk --run 3 --out run3.trace`
}

// Run makes the run.
func (c *traceCmd) Run(e *Env) error {
	at, err := c.here(e)
	if err != nil {
		return err
	}
	of := runCmd{
		explored:    c.explored,
		Strategy:    c.Strategy,
		Scenario:    c.Scenario,
		Runs:        c.Number + 1,
		StepTimeout: watchdog.Default,
	}
	if err := cmp.Or(notNegative("run", int64(c.Number)), CheckFiles("out", c.Out)); err != nil {
		return err
	}
	guide, err := of.guide(at)
	if err != nil {
		return err
	}
	plan, err := of.plan(e, at, guide.Set)
	if err != nil {
		return err
	}
	if guide.Build != nil {
		plan.Scenario = guide.Build()
	}
	if err := independent(plan); err != nil {
		return err
	}
	t, err := lockstep.Record(e.Ctx, plan, c.Number)
	if err != nil {
		return err
	}
	if t.Outcome.Verdict == trace.Fail {
		e.Found()
	}
	err = report.Text(e.Out, t)
	if c.Out != "" {
		err = errors.Join(err, e.write(c.Out, func(w io.Writer) error { return trace.Write(w, t) }))
	}
	return err
}

// independent reports why one run of a plan cannot be made without the runs before it.
func independent(plan lockstep.Plan) error {
	info, err := plan.System.Describe()
	if err != nil {
		return err
	}
	terms, err := plan.Strategy.Fit(info)
	if err == nil && (terms.Sequential || terms.Lineages > 0) {
		return fmt.Errorf(
			"--strategy %s learns from run to run, so that no run can be made alone; allowed are strategies whose runs "+
				"are independent",
			plan.Strategy,
		)
	}
	return err
}
