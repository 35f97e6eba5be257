package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
	"github.com/lockstep-go/lockstep/watchdog"
)

// recorded is the trace that a command reads, the program that has its target, and what the user permits the trace to
// name.
type recorded struct {
	Trace   string   `arg:"" help:"Trace file."`
	Program string   `placeholder:"PACKAGE" help:"Build and run the program that knows the trace's target: a main package, or a target that is built on demand."`
	Set     []string `placeholder:"K=V" sep:"none" help:"Allow what a trace must not choose: a version that is not listed, or an option that names a program or a file; may be repeated."`
	conforming
	NoOverlay bool     `help:"Build the target without the overlay that makes goroutine programs deterministic, as --no-overlay of run."`
	Allow     []string `hidden:"" sep:"none" help:"Allow an option with this value, where the trace has it."`
}

// allow returns what the user permits the trace to name.
func (r *recorded) allow() Allow {
	a := Allow{Set: slices.Concat(r.Allow, r.Set)}
	if r.Program != "" {
		a.Programs = []string{r.Program}
	}
	return a
}

// place finds the program that has the trace's target.
func (r *recorded) place(e *Env, t *trace.Trace) (place, error) {
	e.bestEffort = r.NoOverlay
	h := &t.Header
	name := h.Target
	if r.Program != "" && r.Program != e.asked {
		if err := checkName("program", r.Program); err != nil {
			return place{}, err
		}
		if e.app.program(r.Program) == nil {
			return place{program: &target.Program{Name: r.Program, Package: r.Program}}, nil
		}
		name = r.Program
	}
	set := r.version(e, name, h)
	if err := e.CheckNamed(name, set, r.allow()); err != nil {
		return place{}, fmt.Errorf("%s: %w", r.Trace, err)
	}
	at, err := e.locate(name, set)
	if err != nil {
		return at, fmt.Errorf("%s: unknown target %q: this program knows %s; %s", r.Trace, h.Target,
			strings.Join(e.app.names(), ", "), r.origin(h))
	}
	if at.program != nil {
		at.set = nil
		for _, key := range slices.Sorted(maps.Keys(h.Options)) {
			at.set = append(at.set, key+"="+h.Options[key])
		}
	}
	return at, nil
}

// version returns the option for the version of the target's library: the user's or the trace's.
func (r *recorded) version(e *Env, name string, h *trace.Header) []string {
	p := e.app.program(name)
	if p == nil || p.Library == "" {
		return nil
	}
	version, _ := takeVersion(r.Set)
	if built, ok := p.VersionOf(h.Build); ok && version == "" {
		version = built
	}
	if version == "" {
		return nil
	}
	return []string{target.VersionKey + "=" + version}
}

// origin names the program that would have the trace's target.
func (r *recorded) origin(h *trace.Header) string {
	if _, program, ok := strings.Cut(h.Tool, " "); ok && checkName("program", program) == nil {
		return fmt.Sprintf("the trace was made by %s, which --program %s builds and uses", program, words.Quoted(program))
	}
	return "--program names the main package of one that has it, which calls cli.Main with its targets"
}

// plan returns the plan on which the trace can be replayed.
func (r *recorded) plan(t *trace.Trace, at *place) (lockstep.Plan, error) {
	if t.Header.Build == "" {
		at.build = "" // the trace does not say which build it was
	}
	other := func(build string) error {
		return fmt.Errorf("%s: the trace is of %s in the build %s, this program has %s", r.Trace, t.Header.Target,
			t.Header.Build, orUnnamed(build))
	}
	if at.build != "" && t.Header.Build != at.build { // check this first: other errors may follow from it
		return lockstep.Plan{}, other(at.build)
	}
	options, err := r.options(at.target, t.Header.Options)
	if err != nil {
		return lockstep.Plan{}, fmt.Errorf("%s: %w", r.Trace, err)
	}
	t.Header.Options = options
	s, err := at.target.Rebuild(options)
	if err != nil {
		return lockstep.Plan{}, fmt.Errorf("%s: %w", r.Trace, err)
	}
	if at.build != "" {
		s = named{s, at.build}
	}
	info, err := s.Describe()
	if err != nil {
		return lockstep.Plan{}, fmt.Errorf("%s: %w", r.Trace, err)
	}
	if t.Header.Build != "" && t.Header.Build != info.Build {
		return lockstep.Plan{}, other(info.Build)
	}
	plan := lockstep.Plan{System: s, Spec: at.target.Spec, Watchdog: watchdog.After(timeout(at.target, watchdog.Default))}
	if guide, err := at.target.Scenario(t.Header.Scenario); err == nil { // the scenario checks runs, too
		plan.Scenario = guide.Build()
	}
	return plan, nil
}

func orUnnamed(build string) string {
	if build == "" {
		return "one without a name"
	}
	return build
}

// open loads the trace and returns its plan. If another program has the target, that program takes over.
func (r *recorded) open(e *Env) (*trace.Trace, lockstep.Plan, error) {
	t, err := trace.ReadFile(r.Trace)
	if err != nil {
		return nil, lockstep.Plan{}, err
	}
	plan, err := r.known(e, t)
	return t, plan, err
}

// known returns the plan of a trace whose target this program has. If another program has it, that program takes over.
func (r *recorded) known(e *Env, t *trace.Trace) (lockstep.Plan, error) {
	at, err := r.place(e, t)
	if err != nil {
		return lockstep.Plan{}, err
	}
	return r.planAt(e, t, at)
}

// planAt returns the plan of a trace whose target was located. If it is in another program, that program takes over.
func (r *recorded) planAt(e *Env, t *trace.Trace, at place) (lockstep.Plan, error) {
	if at.program != nil {
		return lockstep.Plan{}, e.handOver(at)
	}
	plan, err := r.plan(t, &at)
	if err != nil {
		return plan, err
	}
	return plan, e.conform(&plan, r.conforming)
}

type replayCmd struct {
	recorded
	looked
	Script string `placeholder:"FILE" help:"Write a draft of a script that does the same with real servers, if the target has one, instead of replaying the run."`
	JSON   bool   `name:"json" help:"Print one JSON object."`
}

// Help returns the longer help.
func (replayCmd) Help() string {
	return "Exit status 1: the run fails, or the system does not repeat itself.\n\nExample:\n  lockstep replay " +
		"lockstep-out/smr-bug-prefix-seed0-run6.trace\n  lockstep replay run.trace --log 2\n" +
		"  lockstep replay run.trace --until 40 --stop"
}

// replayed is the JSON output of a replay.
type replayed struct {
	Trace      string         `json:"trace"`
	Target     string         `json:"target"`
	Build      string         `json:"build,omitempty"`
	Verdict    trace.Verdict  `json:"verdict"`
	Finding    *trace.Finding `json:"finding"` // null: no finding
	Result     string         `json:"result"`
	Difference string         `json:"difference,omitempty"`
	Failed     int            `json:"failed,omitempty"` // the number of repetitions that failed, if the run was repeated
	Of         int            `json:"of,omitempty"`
	Steps      int            `json:"steps"`
}

// Run replays the run.
func (r *replayCmd) Run(e *Env) error {
	t, plan, err := r.open(e)
	if err != nil {
		return err
	}
	if r.Script != "" {
		return r.script(e, t)
	}
	if err := r.check(t); err != nil {
		return err
	}
	if r.some() {
		return r.show(e, plan, t)
	}
	again, err := replay.Run(e.Ctx, plan, t)
	if err != nil {
		return err
	}
	if err := artifact.Replayed(again.Trace); err != nil {
		return err
	}
	o := again.Trace.Outcome
	if o.Finding != nil || o.Verdict == trace.Flaky {
		e.Found()
	}
	if r.JSON {
		return e.JSON(
			replayed{
				Trace:      r.Trace,
				Target:     t.Header.Target,
				Build:      t.Header.Build,
				Verdict:    o.Verdict,
				Finding:    o.Finding,
				Result:     again.Words(t),
				Difference: again.Difference,
				Failed:     again.Failed,
				Of:         again.Of,
				Steps:      o.Steps,
			},
		)
	}
	if err := e.Grid(again.Trace); err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "replayed %d steps: %s\n", o.Steps, joinLines(again.Words(t)))
	return nil
}

type shrinkCmd struct {
	recorded
	Out      string        `placeholder:"FILE" help:"Where the smaller run goes; the default is the trace's name with .small.trace."`
	Attempts int           `placeholder:"N" help:"Most runs to make; 0 is ${attempts}."`
	For      time.Duration `placeholder:"1m" help:"Most time to spend; 0 is ${shrinkFor} for a nondeterministic system, ${shrinkTimed} for one in virtual time, and no limit for others."`
	JSON     bool          `name:"json" help:"Print one JSON object."`
}

// Help returns the longer help.
func (shrinkCmd) Help() string {
	return "Example:\n  lockstep shrink lockstep-out/smr-bug-prefix-seed0-run6.found.trace --out small.trace"
}

// shrunk is the JSON output of a shrunk run.
type shrunk struct {
	Trace       string         `json:"trace"`
	Target      string         `json:"target"`
	Build       string         `json:"build,omitempty"`
	Verdict     trace.Verdict  `json:"verdict"`
	Finding     *trace.Finding `json:"finding"`
	Was         string         `json:"was"`
	Is          string         `json:"is"`
	Attempts    int            `json:"attempts"`
	Exhausted   bool           `json:"exhausted"`
	Interrupted bool           `json:"interrupted"`
	Why         []string       `json:"why,omitempty"` // how the run differs from the nearest run that passes
}

// Run shrinks the run.
func (s *shrinkCmd) Run(e *Env) error {
	t, plan, err := s.open(e)
	if err != nil {
		return err
	}
	if f := t.Outcome.Finding; f != nil && f.Property == lockstep.Hang {
		return fmt.Errorf("%s: the run hangs, and so would its repetitions: it cannot be shrunk", s.Trace)
	}
	if err := CheckFiles("out", s.Out); err != nil {
		return err
	}
	small, err := artifact.Shrink(e.Ctx, plan, t, shrink.Options{Attempts: s.Attempts}, s.For)
	if err != nil {
		return err
	}
	out := s.Out
	if out == "" {
		out = strings.TrimSuffix(strings.TrimSuffix(s.Trace, ".trace"), ".found") + ".small.trace"
	}
	small.Trace.Header.Tool = tool()
	if err := artifact.Trace(e.write, out, small.Trace); err != nil {
		return fmt.Errorf("%s cannot be written: %w", out, err)
	}
	e.Found()
	o, why := small.Trace.Outcome, artifact.Why(e.Ctx, plan, small.Trace)
	if s.JSON {
		return e.JSON(
			shrunk{Trace: out, Target: t.Header.Target, Build: t.Header.Build, Verdict: o.Verdict, Finding: o.Finding,
				Was: small.Was, Is: small.Is, Attempts: small.Attempts, Exhausted: small.Exhausted,
				Interrupted: e.Interrupted(), Why: why},
		)
	}
	if err := e.Grid(small.Trace); err != nil {
		return err
	}
	printLines(e, why)
	interrupted := ""
	if e.Interrupted() {
		interrupted = ", interrupted"
	}
	if small.Was == small.Is {
		fmt.Fprintf(e.Out, "not shrunk: no smaller run was found in %d attempts%s\ntrace %s\n", small.Attempts,
			interrupted, out)
		return nil
	}
	fmt.Fprintf(e.Out, "from %s\nto   %s, in %d attempts%s\ntrace %s\n", small.Was, small.Is, small.Attempts,
		interrupted, out)
	return nil
}

// howFar describes how far a run was shrunk, after the word "shrunk".
func howFar(s *shrink.Shrunk) string {
	if s.Was == s.Is {
		return fmt.Sprintf("not at all: no run smaller than %s was found", s.Is)
	}
	return fmt.Sprintf("from %s to %s", s.Was, s.Is)
}

type explainCmd struct {
	recorded
	Width    int    `placeholder:"N" help:"Columns to fit into, 40 at least; the terminal's, or 100."`
	HTML     string `name:"html" placeholder:"FILE" help:"Write a page to look at as well."`
	ShiViz   string `name:"shiviz" placeholder:"FILE" help:"Write the run for ShiViz as well."`
	Steps    bool   `help:"Draw every step of a run in time, instead of its timeline."`
	Markdown string `placeholder:"FILE" help:"Write the finding and the timeline for a bug report as well."`
}

// Help returns the longer help.
func (explainCmd) Help() string {
	return "Any trace is drawn. A run that is not in lock-step rounds is rewritten into an equivalent one that is, " +
		"where\n" +
		"this program knows its target and there is one; otherwise the first delivery that breaks the rounds is named.\n" +
		"A shrunk run is also compared with the nearest run that passes.\n" +
		"Nothing is built and no program is started, unless --program or --set asks for it.\n\nExamples:\n" +
		"  lockstep explain lockstep-out/smr-bug-prefix-seed0-run6.trace --html run.html"
}

// Run draws the run.
func (c *explainCmd) Run(e *Env) error {
	if c.Width < 0 {
		return fmt.Errorf("--width is %d, allowed is 0 and more", c.Width)
	}
	if err := CheckFiles("html", c.HTML, "shiviz", c.ShiViz, "markdown", c.Markdown); err != nil {
		return err
	}
	t, err := trace.ReadFile(c.Trace)
	if err != nil {
		return err
	}
	form, note, why, err := c.explain(e, t)
	if err != nil {
		return err
	}
	o := options(e.Out)
	if c.Width > 0 {
		o.Width = c.Width
	}
	o.Steps = c.Steps
	drawn := form
	if form == nil {
		drawn = t
	}
	if err := report.Grid(e.Out, drawn, o); err != nil {
		return err
	}
	if note != "" {
		fmt.Fprintln(e.Out, joinLines(note))
	}
	printLines(e, why)
	return c.files(e, t, form, report.PageOptions{Note: note, Why: why, Replay: e.Replay(c.Trace, c.Set...)})
}

// printLines prints texts that come from a trace, each on one line.
func printLines(e *Env, list []string) {
	for _, line := range list {
		fmt.Fprintln(e.Out, joinLines(line))
	}
}

// files writes the run to the requested files.
func (c *explainCmd) files(e *Env, t, form *trace.Trace, o report.PageOptions) error {
	var failed error
	if c.HTML != "" {
		views := report.Views{Found: t}
		if len(t.Rounds) == 0 {
			views.Lockstep = form
		}
		failed = e.write(c.HTML, func(w io.Writer) error {
			return report.Page(w, views, o)
		})
	}
	if c.Markdown != "" {
		failed = errors.Join(failed, e.write(c.Markdown, func(w io.Writer) error {
			return report.Markdown(w, t, o)
		}))
	}
	if c.ShiViz != "" {
		failed = errors.Join(failed, e.write(c.ShiViz, func(w io.Writer) error { return report.ShiViz(w, t) }))
	}
	return failed
}

// explain returns the lockstep form of the run if this program has the target, and as text how the form differs or why
// there is none. For a shrunk run it also returns how the run differs from the nearest run that passes. It builds and
// starts no program unless the user's own flags ask for it.
func (c *explainCmd) explain(e *Env, t *trace.Trace) (form *trace.Trace, note string, why []string, err error) {
	plan, err := c.known(e, t)
	switch {
	case err == nil && len(t.Rounds) > 0:
		return t, "", artifact.Why(e.Ctx, plan, t), nil
	case err == nil:
		form, note = c.rewrite(e, plan, t)
		return form, note, artifact.Why(e.Ctx, plan, t), nil
	case c.allow().any():
		return nil, "", nil, err
	case len(t.Rounds) > 0:
		return t, "", nil, e.Ctx.Err()
	default:
		return nil, "no lock-step form, drawn from the trace alone: " + err.Error(), nil, e.Ctx.Err()
	}
}

// known returns the plan of a trace, but builds no program that the user did not ask for.
func (c *explainCmd) known(e *Env, t *trace.Trace) (lockstep.Plan, error) {
	at, err := c.place(e, t)
	if err == nil && at.program != nil && !c.allow().any() {
		err = fmt.Errorf("%s is built on demand: --program %s builds it", at.program.Name, words.Quoted(at.program.Name))
	}
	if err != nil {
		return lockstep.Plan{}, err
	}
	return c.planAt(e, t, at)
}

// formFor is the time limit of the search for a lockstep form.
const formFor = 10 * time.Second

// rewrite searches for the lockstep form until the time limit.
func (c *explainCmd) rewrite(e *Env, plan lockstep.Plan, t *trace.Trace) (*trace.Trace, string) {
	ctx, cancel := context.WithTimeout(e.Ctx, formFor)
	defer cancel()
	form, note := artifact.Form(ctx, plan, t)
	if form == nil && ctx.Err() != nil && e.Ctx.Err() == nil {
		note = fmt.Sprintf("no lock-step form: none was found within %v", formFor)
	}
	return form, note
}
