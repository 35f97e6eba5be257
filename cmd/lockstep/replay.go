package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/closure"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/trace"
)

// load reads a trace and makes the plan on which it can be repeated.
func load(file string) (lockstep.Plan, *trace.Trace, error) {
	var plan lockstep.Plan
	t, err := trace.ReadFile(file)
	if err != nil {
		return plan, nil, err
	}
	known, err := findTarget(t.Header.Target)
	if err != nil {
		return plan, nil, fmt.Errorf("%s: %w", file, err)
	}
	system, err := known.Rebuild(t.Header.Options)
	if err != nil {
		return plan, nil, fmt.Errorf("%s: %w", file, err)
	}
	return lockstep.Plan{System: system, Spec: known.Spec}, t, nil
}

type replayCmd struct {
	Trace string `arg:"" help:"Trace file."`
	JSON  bool   `name:"json" help:"Print one JSON object."`
}

// Help implements kong's longer help.
func (replayCmd) Help() string {
	return "Exit status 1: the same finding, or flaky.\n\nExample:\n  lockstep replay lockstep-out/smr-bug-prefix-seed0-run6.trace"
}

// Run implements the command.
func (c *replayCmd) Run(e *env) error {
	plan, t, err := load(c.Trace)
	if err != nil {
		return err
	}
	again, err := lockstep.Replay(plan, t)
	if err != nil {
		return err
	}
	if again.Outcome.Verdict == trace.Fail || again.Outcome.Verdict == trace.Flaky {
		e.status = statusFinding
	}
	if c.JSON {
		return writeJSON(e.out, struct {
			Trace  string `json:"trace"`
			Target string `json:"target"`
			trace.Outcome
		}{c.Trace, t.Header.Target, again.Outcome})
	}
	if err := report.Grid(e.out, again, options(e.out)); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "replayed %d steps: %s\n", again.Outcome.Steps, replayWords(again.Outcome))
	return nil
}

func replayWords(o trace.Outcome) string {
	switch o.Verdict {
	case trace.Fail:
		return "the same finding"
	case trace.Flaky:
		return "flaky"
	default:
		return "verdict " + string(o.Verdict) + ", as recorded"
	}
}

type shrinkCmd struct {
	Trace string `arg:"" help:"Trace file of a finding."`
	Out   string `placeholder:"FILE" help:"Where the smaller run goes; the default is the trace's name with .small.trace."`
	Tries int    `placeholder:"N" help:"Most runs to make; 0 is 20000."`
	JSON  bool   `name:"json" help:"Print one JSON object."`
}

// Help implements kong's longer help.
func (shrinkCmd) Help() string {
	return "Example:\n  lockstep shrink lockstep-out/smr-bug-prefix-seed0-run6.found.trace --out small.trace"
}

// Run implements the command.
func (c *shrinkCmd) Run(e *env) error {
	plan, t, err := load(c.Trace)
	if err != nil {
		return err
	}
	small, err := lockstep.Shrink(e.ctx, plan, t, c.Tries)
	if err != nil {
		return err
	}
	out := c.Out
	if out == "" {
		out = strings.TrimSuffix(strings.TrimSuffix(c.Trace, ".trace"), ".found") + ".small.trace"
	}
	if err := e.writeTrace(out, small.Trace); err != nil {
		return fmt.Errorf("%s cannot be written: %w", out, err)
	}
	e.status = statusFinding
	if c.JSON {
		return writeJSON(e.out, struct {
			Trace     string         `json:"trace"`
			Was       string         `json:"was"`
			Is        string         `json:"is"`
			Tries     int            `json:"tries"`
			Exhausted bool           `json:"exhausted"`
			Finding   *trace.Finding `json:"finding"`
		}{out, small.Was, small.Is, small.Tries, small.Exhausted, small.Trace.Outcome.Finding})
	}
	if err := report.Grid(e.out, small.Trace, options(e.out)); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "from %s\nto   %s, in %d tries\ntrace %s\n", small.Was, small.Is, small.Tries, out)
	return nil
}

type explainCmd struct {
	Trace  string `arg:"" help:"Trace file."`
	Width  int    `placeholder:"N" help:"Columns to fit into; the terminal's, or 100."`
	HTML   string `name:"html" placeholder:"FILE" help:"Write a page to look at as well."`
	ShiViz string `name:"shiviz" placeholder:"FILE" help:"Write the run for ShiViz as well."`
}

// Help implements kong's longer help.
func (explainCmd) Help() string {
	return "A run that is not in lock-step rounds is rewritten into an equivalent one that is, where there is one;\n" +
		"otherwise the first delivery that breaks the rounds is named.\n\nExamples:\n" +
		"  lockstep explain lockstep-out/smr-bug-prefix-seed0-run6.trace --html run.html"
}

// Run implements the command.
func (c *explainCmd) Run(e *env) error {
	plan, t, err := load(c.Trace)
	if err != nil {
		return err
	}
	o := options(e.out)
	if c.Width > 0 {
		o.Width = c.Width
	}
	form, why := e.form(plan, t)
	if form == nil {
		form = t
	}
	if err := report.Grid(e.out, form, o); err != nil {
		return err
	}
	if why != "" {
		fmt.Fprintln(e.out, why)
	}
	var failed error
	if c.HTML != "" {
		failed = e.page(plan, c.HTML, report.Views{Found: t}, fmt.Sprintf("%s replay %s", e.self, quoted(c.Trace)))
	}
	if c.ShiViz != "" {
		failed = errors.Join(failed, e.write(c.ShiViz, func(w io.Writer) error { return report.ShiViz(w, t) }))
	}
	return failed
}

// form is the lock-step form of a run, and in words how it differs or why there is none.
func (e *env) form(plan lockstep.Plan, t *trace.Trace) (*trace.Trace, string) {
	if len(t.Rounds) > 0 {
		return t, ""
	}
	r, err := closure.Form(e.ctx, plan, t)
	switch {
	case err != nil:
		return nil, "no lock-step form: " + joinLines(err.Error())
	case r.Trace == nil && r.Break != nil:
		return nil, fmt.Sprintf("no lock-step form: %s. What breaks the rounds: %s", r.Reason, r.Break)
	case r.Trace == nil:
		return nil, "no lock-step form: " + r.Reason
	default:
		return r.Trace, fmt.Sprintf("equivalent lock-step form: %d deliveries that changed nothing are shown as lost", r.Ignored)
	}
}

// page writes the page of a run, with its lock-step form where there is one.
func (e *env) page(plan lockstep.Plan, file string, v report.Views, replay string) error {
	last := v.Found
	if v.Shrunk != nil {
		last = v.Shrunk
	}
	o := report.PageOptions{Replay: replay}
	if len(last.Rounds) == 0 {
		v.Lockstep, o.Note = e.form(plan, last)
	}
	return e.write(file, func(w io.Writer) error { return report.Page(w, v, o) })
}
