package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/closure"
	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

type runCmd struct {
	Target       string        `arg:"" help:"What to test; lockstep list names them."`
	Strategy     string        `default:"uniform" placeholder:"S" help:"How to choose steps: name:key=value,... (${default})."`
	Nodes        *int          `placeholder:"N" help:"Number of nodes."`
	Set          []string      `placeholder:"K=V" sep:"none" help:"Option of the target; may be repeated."`
	Steps        int           `placeholder:"N" help:"Length of a run in steps; 0 leaves it to the strategy."`
	Settle       *int          `placeholder:"N" help:"Steps of the settling stage, after which liveness is judged; the target's unless given."`
	Runs         int           `placeholder:"N" help:"Number of runs; 10000 unless there is a time limit."`
	For          time.Duration `placeholder:"30s" help:"Stop after this time."`
	Seed         uint64        `placeholder:"X" help:"Seed of the campaign."`
	Workers      int           `placeholder:"W" help:"Runs at once; 0 is one for each processor. Results do not depend on it."`
	KeepGoing    bool          `help:"Continue after a finding."`
	NoShrink     bool          `help:"Keep the first finding as it was found."`
	Closure      bool          `help:"Count how often late messages change a state, by type."`
	Coverage     bool          `help:"Measure which partitions the runs had, and what the theorems promise for as many."`
	Operations   []string      `placeholder:"OP,OP" help:"With --coverage: words in requests; pairs of these operations are measured, too."`
	CoverCrashes bool          `help:"With --coverage: count a crashed node as cut off."`
	Report       string        `placeholder:"FILE" help:"Write the campaign as an HTML page."`
	JUnit        string        `name:"junit" placeholder:"FILE" help:"Write the campaign as JUnit XML."`
	Annotate     bool          `help:"Print GitHub annotations."`
	Out          string        `default:"lockstep-out" placeholder:"DIR" help:"Where traces of findings go (${default})."`
	JSON         bool          `name:"json" help:"Print one JSON object."`
}

const defaultRuns = 10_000

// Help implements kong's longer help.
func (runCmd) Help() string {
	return `Examples:
  lockstep run smr-bug
  lockstep run smr-bug --nodes 5 --strategy lossy:rounds=24,loss=0.1 --keep-going
  lockstep run smr --set requests=4 --strategy walk:crash=1,restart=1 --for 30s --workers 2
  lockstep run register --strategy partition:notion=isolate,balanced=true --runs 50 --keep-going --coverage`
}

// Run implements the command.
func (c *runCmd) Run(e *env) error {
	plan, err := c.plan()
	if err != nil {
		return err
	}
	meter, err := c.meter(&plan)
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
	start, show := time.Now(), newProgress(e.err, plan.Runs, c.For)
	var curve []report.Sample
	plan.Progress = func(r *lockstep.Result) {
		curve = addSample(curve, r, time.Since(start))
		_ = show.Update(report.Status{Runs: r.Runs, Findings: r.Verdicts[trace.Fail] + r.Verdicts[trace.Flaky], Coverage: seen(r)})
	}
	result, err := lockstep.Explore(ctx, plan)
	elapsed := time.Since(start)
	_ = show.Done()
	if result == nil {
		return err
	}
	sum := summary(plan, result, elapsed)
	sum.Again, sum.Curve = c.again(), addSample(curve, result, elapsed)
	if result.First() != nil {
		e.status = statusFinding
	}
	plan.Progress = nil
	failed := errors.Join(c.keep(e, plan, result, sum), c.measure(e, plan, sum))
	var coverage []cover.Reading
	if meter != nil {
		coverage = meter.Read()
	}
	for _, r := range coverage {
		sum.Coverage = append(sum.Coverage, report.Covered{Name: r.Name, Seen: r.Covered, Of: r.Goals})
	}
	return errors.Join(err, c.print(e, result, sum, coverage), failed, c.files(e, sum))
}

// measure counts late messages where that was asked for.
func (c *runCmd) measure(e *env, plan lockstep.Plan, sum *report.Campaign) error {
	if !c.Closure {
		return nil
	}
	m, err := closure.Measure(e.ctx, plan, max(sum.Runs, 1))
	if m != nil {
		for _, t := range m.Types {
			sum.Closure = append(sum.Closure, report.LateCount{Type: t.Type, Delivered: t.Delivered, Late: t.Late, Changed: t.Changed})
		}
	}
	return err
}

// files writes the campaign for machines and browsers.
func (c *runCmd) files(e *env, sum *report.Campaign) error {
	var failed error
	if c.Report != "" {
		failed = e.write(c.Report, func(w io.Writer) error { return report.CampaignPage(w, sum) })
	}
	if c.JUnit != "" {
		failed = errors.Join(failed, e.write(c.JUnit, func(w io.Writer) error { return report.JUnit(w, sum) }))
	}
	if c.Annotate {
		failed = errors.Join(failed, report.Annotations(e.out, sum, report.Place{}))
	}
	return failed
}

// plan makes the plan that the flags describe.
func (c *runCmd) plan() (lockstep.Plan, error) {
	var plan lockstep.Plan
	t, err := findTarget(c.Target)
	if err != nil {
		return plan, err
	}
	pairs := c.Set
	if c.Nodes != nil {
		if *c.Nodes < 1 {
			return plan, fmt.Errorf("--nodes is %d, allowed is 1 and more", *c.Nodes)
		}
		pairs = append([]string{fmt.Sprintf("nodes=%d", *c.Nodes)}, pairs...)
	}
	system, err := t.Build(pairs)
	if err != nil {
		return plan, err
	}
	s, err := strategy.Parse(c.Strategy)
	if err != nil {
		return plan, err
	}
	settle := t.Settle
	if c.Settle != nil {
		settle = *c.Settle
	}
	for _, f := range []struct {
		name  string
		value int64
	}{{"runs", int64(c.Runs)}, {"steps", int64(c.Steps)}, {"settle", int64(settle)}, {"workers", int64(c.Workers)}, {"for", int64(c.For)}} {
		if f.value < 0 {
			return plan, fmt.Errorf("--%s is negative, allowed is 0 and more", f.name)
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
		Settle: settle, Workers: c.Workers, KeepGoing: c.KeepGoing, Distinct: c.Report != ""}, nil
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
	if c.Settle != nil {
		words = append(words, fmt.Sprintf("--settle %d", *c.Settle))
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
func (c *runCmd) keep(e *env, plan lockstep.Plan, result *lockstep.Result, sum *report.Campaign) error {
	var failed error
	var found []report.Occurrence
	for i := range result.Found {
		f := &result.Found[i]
		name := traceName(f.Trace.Header, f.Finding)
		views := report.Views{Found: f.Trace}
		if i == 0 && f.Flaky == "" && !c.NoShrink {
			if small, err := lockstep.Shrink(e.ctx, plan, f.Trace, 0); err == nil {
				sum.Shrunk = fmt.Sprintf("from %s to %s in %d tries", small.Was, small.Is, small.Tries)
				if _, err := saveTrace(e, c.Out, strings.TrimSuffix(name, ".trace")+".found.trace", f.Trace); err != nil {
					failed = err
				}
				f.Trace, views.Shrunk = small.Trace, small.Trace
			} else {
				fmt.Fprintln(e.err, "lockstep: not shrunk:", joinLines(err.Error()))
			}
		}
		file, err := saveTrace(e, c.Out, name, f.Trace)
		if err != nil {
			failed = err
		}
		sum.Traces = append(sum.Traces, file)
		found = append(found, report.Occurrence{Run: f.Run, Trace: f.Trace, File: file})
		if i == 0 && file != "" {
			sum.Trace, sum.Replay = file, fmt.Sprintf("%s replay %s", e.self, quoted(file))
			failed = errors.Join(failed, e.page(plan, strings.TrimSuffix(file, ".trace")+".html", views, sum.Replay))
		}
	}
	sum.Groups = report.GroupFindings(found)
	return failed
}

func (c *runCmd) print(e *env, result *lockstep.Result, sum *report.Campaign, coverage []cover.Reading) error {
	if c.JSON {
		return writeJSON(e.out, covered{sum, coverage})
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
	if err := sum.Write(e.out, o); err != nil {
		return err
	}
	writeCoverage(e.out, coverage)
	return nil
}
