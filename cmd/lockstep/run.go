package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

type runCmd struct {
	Target    string        `arg:"" help:"What to test; lockstep list names them."`
	Strategy  string        `default:"uniform" placeholder:"S" help:"How to choose steps: name:key=value,... (${default})."`
	Nodes     *int          `placeholder:"N" help:"Number of nodes."`
	Set       []string      `placeholder:"K=V" sep:"none" help:"Option of the target; may be repeated."`
	Steps     int           `placeholder:"N" help:"Length of a run in steps; 0 leaves it to the strategy."`
	Settle    int           `placeholder:"N" help:"Steps of the settling stage, after which liveness is judged."`
	Runs      int           `placeholder:"N" help:"Number of runs; 10000 unless there is a time limit."`
	For       time.Duration `placeholder:"30s" help:"Stop after this time."`
	Seed      uint64        `placeholder:"X" help:"Seed of the campaign."`
	Workers   int           `placeholder:"W" help:"Runs at once; 0 is one for each processor. Results do not depend on it."`
	KeepGoing bool          `help:"Continue after a finding."`
	NoShrink  bool          `help:"Keep the first finding as it was found."`
	Out       string        `default:"lockstep-out" placeholder:"DIR" help:"Where traces of findings go (${default})."`
	JSON      bool          `name:"json" help:"Print one JSON object."`
}

const defaultRuns = 10_000

// Help implements kong's longer help.
func (runCmd) Help() string {
	return `Examples:
  lockstep run smr-bug
  lockstep run smr-bug --nodes 5 --strategy lossy:rounds=24,loss=0.1 --keep-going
  lockstep run smr --set requests=4 --strategy walk:crash=1,restart=1 --for 30s --workers 2`
}

// Run implements the command.
func (c *runCmd) Run(e *env) error {
	plan, t, err := c.plan()
	if err != nil {
		return err
	}
	if err := checkOut(c.Out); err != nil {
		return err
	}
	ctx, cancel := e.ctx, context.CancelFunc(func() {})
	if c.For > 0 {
		ctx, cancel = context.WithTimeout(ctx, c.For)
	}
	defer cancel()
	show := newTicker(e.err)
	plan.Progress = func(r *lockstep.Result) {
		show.line(func(elapsed time.Duration) string { return campaignLine(r, plan.Runs, c.For, elapsed) })
	}
	result, err := lockstep.Explore(ctx, plan)
	elapsed := time.Since(show.start)
	show.clear()
	if result == nil {
		return err
	}
	sum := summary(plan, result, elapsed)
	sum.Again = c.again()
	failed := c.keep(e, plan, t, result, sum)
	if result.First() != nil {
		e.status = statusFinding
	}
	return errors.Join(err, c.print(e, result, sum), failed)
}

// plan makes the plan that the flags describe.
func (c *runCmd) plan() (lockstep.Plan, target.Target, error) {
	var plan lockstep.Plan
	t, err := findTarget(c.Target)
	if err != nil {
		return plan, t, err
	}
	pairs := c.Set
	if c.Nodes != nil {
		pairs = append([]string{fmt.Sprintf("nodes=%d", *c.Nodes)}, pairs...)
	}
	system, err := t.Build(pairs)
	if err != nil {
		return plan, t, err
	}
	s, err := strategy.Parse(c.Strategy)
	if err != nil {
		return plan, t, err
	}
	for _, f := range []struct {
		name  string
		value int64
	}{{"runs", int64(c.Runs)}, {"steps", int64(c.Steps)}, {"settle", int64(c.Settle)}, {"workers", int64(c.Workers)}, {"for", int64(c.For)}} {
		if f.value < 0 {
			return plan, t, fmt.Errorf("--%s is negative, allowed is 0 and more", f.name)
		}
	}
	runs := c.Runs
	if runs == 0 {
		runs = defaultRuns
		if c.For > 0 {
			runs = math.MaxInt32
		}
	}
	return lockstep.Plan{System: system, Strategy: s, Spec: t.Spec, Seed: c.Seed, Runs: runs, Steps: c.Steps,
		Settle: max(c.Settle, t.Settle), Workers: c.Workers, KeepGoing: c.KeepGoing}, t, nil
}

// again is the command line that makes the campaign again.
func (c *runCmd) again() string {
	words := []string{"lockstep run", c.Target, "--strategy", c.Strategy}
	if c.Nodes != nil {
		words = append(words, fmt.Sprintf("--nodes %d", *c.Nodes))
	}
	for _, s := range c.Set {
		words = append(words, "--set "+s)
	}
	if c.Steps > 0 {
		words = append(words, fmt.Sprintf("--steps %d", c.Steps))
	}
	if c.Settle > 0 {
		words = append(words, fmt.Sprintf("--settle %d", c.Settle))
	}
	if c.Runs > 0 {
		words = append(words, fmt.Sprintf("--runs %d", c.Runs))
	}
	if c.KeepGoing {
		words = append(words, "--keep-going")
	}
	return strings.Join(append(words, fmt.Sprintf("--seed %d", c.Seed)), " ")
}

// keep stores what was found, the first finding shrunk as well.
func (c *runCmd) keep(e *env, plan lockstep.Plan, t target.Target, result *lockstep.Result, sum *report.Campaign) error {
	plan.Progress = nil
	var failed error
	for i := range result.Found {
		f := &result.Found[i]
		name := traceName(f.Trace.Header, f.Finding)
		if i == 0 && f.Flaky == "" && !c.NoShrink {
			if small, err := lockstep.Shrink(e.ctx, plan, f.Trace, 0); err == nil {
				sum.Shrunk = fmt.Sprintf("from %s to %s in %d tries", small.Was, small.Is, small.Tries)
				if _, err := saveTrace(e, c.Out, strings.TrimSuffix(name, ".trace")+".found.trace", f.Trace); err != nil {
					failed = err
				}
				f.Trace = small.Trace
			} else {
				fmt.Fprintln(e.err, "lockstep: not shrunk:", joinLines(err.Error()))
			}
		}
		file, err := saveTrace(e, c.Out, name, f.Trace)
		if err != nil {
			failed = err
		}
		sum.Traces = append(sum.Traces, file)
	}
	if len(sum.Traces) > 0 {
		sum.Trace = sum.Traces[0]
		sum.Replay = fmt.Sprintf("%s replay %s", e.self, quoted(sum.Trace))
	}
	return failed
}

func (c *runCmd) print(e *env, result *lockstep.Result, sum *report.Campaign) error {
	if c.JSON {
		return writeJSON(e.out, sum)
	}
	o := options(e.out)
	if f := result.First(); f != nil && f.Flaky == "" {
		if err := report.Grid(e.out, f.Trace, o); err != nil {
			return err
		}
		fmt.Fprintln(e.out)
	} else if f != nil {
		fmt.Fprintf(e.out, "flaky: run %d found %s, but %s\n", f.Run, f.Finding, f.Flaky)
	}
	return sum.Write(e.out, o)
}
