// Package command provides the commands for protocols written in Distal: one command for each function of package
// distal.
package command

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/syntax"
	"github.com/lockstep-go/lockstep/distal/system"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/trace"
)

// Commands are the commands for Distal programs, in the form that package cli expects.
type Commands struct {
	Distal struct {
		Check    checkCmd    `cmd:"" help:"Check names, types and the conditions for rounds."`
		Fmt      fmtCmd      `cmd:"" help:"Print the program in its canonical form."`
		Rounds   roundsCmd   `cmd:"" help:"Print the rounds as a graph: what can happen in each, and where it leads."`
		Seq      seqCmd      `cmd:"" help:"Print the sequential program: Distal in lock-step, which can be explored itself."`
		Export   exportCmd   `cmd:"" help:"Print a Promela model for Spin."`
		Explore  exploreCmd  `cmd:"" help:"Search every behavior to a bound, or random ones."`
		Test     testCmd     `cmd:"" help:"Run the tests of a file and check whether each ends as it expects."`
		Generate generateCmd `cmd:"" help:"Make a suite of tests for implementations, which together cover what the program can do."`
		Conform  conformCmd  `cmd:"" help:"Check whether a recorded run of an implementation is a behavior of the program."`
	} `cmd:"" help:"Check, transform and search protocols written in Distal."`
}

// program is the argument that all verbs share.
type program struct {
	File string `arg:"" help:"Distal program (*.distal)."`
}

func (p program) read() (string, error) {
	text, err := os.ReadFile(p.File)
	return string(text), err
}

// report prints remarks one per line, as compilers do, and fails if one is an error.
func (p program) report(e *cli.Env, remarks distal.Remarks) error {
	failed := 0
	for _, r := range remarks {
		separator := ":" // so that an editor finds the position
		if r.Pos == (syntax.Pos{}) {
			separator = ": "
		}
		fmt.Fprintf(e.Err, "%s%s%s\n", p.File, separator, r)
		if r.Severity == syntax.Error {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s: %s", p.File, several(failed, "error"))
	}
	return nil
}

// several formats a number of things as text.
func several(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// instance has the flags that select an instance of a program.
type instance struct {
	Test     string           `placeholder:"NAME" help:"Test of the file whose settings are taken; the first unless given."`
	Nodes    int              `placeholder:"N" help:"Number of nodes; 0 leaves it to the test or the file."`
	Phases   int              `placeholder:"P" help:"Bound on the phases; 0 leaves it to the test, or 3."`
	Network  string           `placeholder:"X" help:"Network assumption: any, own, reliable, \"atleast(n - f)\", kernel, mutual, one that the file declares, or a formula."`
	Timeouts string           `placeholder:"T" help:"Timeouts: eager or free."`
	Set      map[string]int64 `placeholder:"K=V" help:"Other parameters of the program; may be repeated."`
}

func (i instance) options() distal.Options {
	return distal.Options{Test: i.Test, Nodes: i.Nodes, Phases: i.Phases, Network: i.Network, Timeouts: i.Timeouts,
		Params: i.Set}
}

func (i instance) check() error {
	if i.Nodes < 0 || i.Phases < 0 {
		return errors.New("--nodes and --phases must not be negative")
	}
	return nil
}

type checkCmd struct {
	program
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Help returns the longer help.
func (checkCmd) Help() string {
	return "Example:\n  lockstep distal check examples/distal/paxos_fixed.distal"
}

// Run runs the command.
func (c *checkCmd) Run(e *cli.Env) error {
	text, err := c.read()
	if err != nil {
		return err
	}
	result, remarks := distal.Check(text)
	if err := c.report(e, remarks); err != nil {
		return err
	}
	if c.JSON {
		return e.JSON(result)
	}
	fmt.Fprintf(e.Out, "%s: protocol %s, phase %s\n", c.File, result.Protocol, result.Phase)
	proved := 0
	for _, p := range result.Conditions {
		if p.Text == "" {
			proved++
			continue
		}
		fmt.Fprintf(e.Out, "  %s:%v %s: %s is %v: %s\n", c.File, p.Pos, p.Rule, p.Condition, p.Status, p.Text)
	}
	fmt.Fprintf(e.Out, "%d of %d conditions are proved\n", proved, len(result.Conditions))
	return nil
}

type fmtCmd struct {
	program
	Write bool `short:"w" help:"Write the result back to the file."`
}

// Help returns the longer help.
func (fmtCmd) Help() string { return "Example:\n  lockstep distal fmt -w paxos.distal" }

// Run runs the command.
func (f *fmtCmd) Run(e *cli.Env) error {
	text, err := f.read()
	if err != nil {
		return err
	}
	result, remarks := distal.Fmt(text)
	if err := f.report(e, remarks); err != nil {
		return err
	}
	if !f.Write {
		fmt.Fprint(e.Out, result.Text)
		return nil
	}
	if !result.Changed {
		return nil
	}
	return e.Write(f.File, func(w io.Writer) error {
		_, err := io.WriteString(w, result.Text)
		return err
	})
}

type roundsCmd struct {
	program
	Unfold bool `help:"Print a phase as a program instead, unfolded: inside each rule the rules that may follow it."`
}

// Help returns the longer help.
func (roundsCmd) Help() string {
	return "Examples:\n  lockstep distal rounds examples/distal/paxos_fixed.distal\n" +
		"  lockstep distal rounds examples/distal/paxos_fixed.distal --unfold"
}

// Run runs the command.
func (r *roundsCmd) Run(e *cli.Env) error {
	text, err := r.read()
	if err != nil {
		return err
	}
	print := distal.Rounds
	if r.Unfold {
		print = distal.Unfold
	}
	result, remarks := print(text)
	if err := r.report(e, remarks); err != nil {
		return err
	}
	fmt.Fprint(e.Out, result.Text)
	return nil
}

type seqCmd struct {
	program
	instance
}

// Help returns the longer help.
func (seqCmd) Help() string {
	return "Example:\n  lockstep distal seq examples/distal/uniformvoting_fixed.distal --network kernel"
}

// Run runs the command.
func (s *seqCmd) Run(e *cli.Env) error {
	text, err := s.read()
	if err := errors.Join(err, s.check()); err != nil {
		return err
	}
	result, remarks := distal.Seq(text, s.options())
	if err := s.report(e, remarks); err != nil {
		return err
	}
	fmt.Fprint(e.Out, result.Text)
	return nil
}

type exportCmd struct {
	program
	instance
}

// Help returns the longer help.
func (exportCmd) Help() string {
	return "Example:\n  lockstep distal export examples/distal/paxos_fixed.distal --phases 4 > paxos.pml\n" +
		"  spin -a paxos.pml && gcc -O2 -DSAFETY -DVECTORSZ=65536 -o pan pan.c && ./pan -E -m1000000"
}

// Run runs the command.
func (c *exportCmd) Run(e *cli.Env) error {
	text, err := c.read()
	if err := errors.Join(err, c.check()); err != nil {
		return err
	}
	result, remarks := distal.Export(text, c.options())
	if err := c.report(e, remarks); err != nil {
		return err
	}
	fmt.Fprint(e.Out, result.Text)
	return nil
}

type exploreCmd struct {
	program
	instance
	Memory  int64  `placeholder:"MB" help:"Memory limit in megabytes, about; 0 is 4096."`
	Disk    int64  `placeholder:"MB" help:"Temporary disk space to use when memory is full, in megabytes; 0 is none."`
	Workers int    `placeholder:"W" help:"Processors to use; 0 is all. Results do not depend on it."`
	Random  int    `placeholder:"RUNS" help:"Make so many random runs instead of searching all."`
	Seed    uint64 `placeholder:"X" help:"Seed of random runs."`
	Trace   string `placeholder:"FILE" help:"Write the counterexample as a trace, to be explained and drawn."`
	HTML    string `name:"html" placeholder:"FILE" help:"Write the counterexample as a page to look at."`
	JSON    bool   `name:"json" help:"Print one JSON object."`
}

// Help returns the longer help.
func (exploreCmd) Help() string {
	return "Exit status 1: a property is broken, or nothing could be: the verdict is vacuous.\n\nExamples:\n" +
		"  lockstep distal explore examples/distal/paxos_buggy.distal\n" +
		"  lockstep distal explore examples/distal/paxos_fixed.distal --phases 6\n" +
		"  lockstep distal explore examples/distal/paxos_fixed.distal --test eight --memory 256 --disk 4096\n" +
		"  lockstep distal explore examples/distal/paxos_buggy.distal --phases 5 --random 100000"
}

// Run runs the command.
func (c *exploreCmd) Run(e *cli.Env) error {
	text, err := c.read()
	if err := errors.Join(err, c.check()); err != nil {
		return err
	}
	if c.Memory < 0 || c.Disk < 0 || c.Workers < 0 || c.Random < 0 {
		return errors.New("--memory, --disk, --workers and --random must not be negative")
	}
	o := distal.ExploreOptions{Options: c.options(), Memory: c.Memory << 20, Disk: c.Disk << 20, Workers: c.Workers}
	if c.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Memory > 0 {
		// This is the limit of the process: with less, the garbage collector would run constantly.
		debug.SetMemoryLimit(o.Memory/2*3 + 128<<20)
	}
	if c.Random > 0 {
		o.Random = &explore.RandomOptions{Runs: c.Random, Seed: c.Seed}
	}
	start := time.Now()
	show := e.Progress(0, 0)
	o.Progress = func(p explore.Progress) bool {
		_ = show.Show(func(elapsed time.Duration) string {
			return c.progress(p, elapsed)
		})
		return e.Ctx.Err() == nil
	}
	result, remarks := distal.Explore(text, o)
	_ = show.Done()
	if err := c.report(e, remarks); err != nil {
		return err
	}
	elapsed := time.Since(start)
	result.ElapsedMS = elapsed.Milliseconds()
	result.StatesPerSec = perSecond(float64(result.States), elapsed)
	if result.Violation != nil || result.Verdict == explore.Vacuous {
		e.Found()
	}
	drawn, err := c.draw(e, text, result)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.JSON(explored{result, e.Interrupted()})
	}
	c.print(e, result, elapsed)
	e.Partial("states searched")
	switch {
	case drawn != nil:
		return e.Grid(drawn)
	case result.Violation != nil:
		fmt.Fprint(e.Out, result.Trace)
	}
	return nil
}

// parameters writes parameters in the form that the asynchronous system parses.
func parameters(set map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		parts = append(parts, fmt.Sprintf("%s=%d", name, set[name]))
	}
	return strings.Join(parts, ",")
}

// progress describes the progress of a search.
func (c *exploreCmd) progress(p explore.Progress, elapsed time.Duration) string {
	line := fmt.Sprintf("phase %d round %d: %d states, %.0f/s, %d MB", p.Phase, p.Round, p.States,
		perSecond(float64(p.States), elapsed), p.Memory>>20)
	if p.Disk > 0 {
		line += fmt.Sprintf(" and %d MB on disk", p.Disk>>20)
	}
	if p.Of > 0 {
		line += fmt.Sprintf(", %d%% of the round", p.Done*100/p.Of)
	}
	if p.Estimate > 0 {
		line += fmt.Sprintf(", about %.2g states in all", float64(p.Estimate))
	}
	return line
}

// draw draws a violation and writes the picture to the requested files.
func (c *exploreCmd) draw(e *cli.Env, text string, r distal.ExploreResult) (*trace.Trace, error) {
	if r.Violation == nil || !r.Replayed {
		return nil, nil
	}
	m, _, remarks := distal.NewModel(text, c.options())
	if m == nil {
		return nil, remarks
	}
	program := system.Program{File: c.File, Nodes: c.Nodes, Test: c.Test, Params: parameters(c.Set)}
	_, t, failed := system.Counterexample(e.Ctx, program, m, r.Violation)
	if failed != nil {
		return nil, failed
	}
	if c.Trace != "" {
		failed = artifact.Trace(e.Write, c.Trace, t)
	}
	if c.HTML != "" {
		failed = errors.Join(failed, e.Write(c.HTML, func(w io.Writer) error {
			return report.Page(w, report.Views{Found: t}, report.PageOptions{})
		}))
	}
	return t, failed
}

func (c *exploreCmd) print(e *cli.Env, r distal.ExploreResult, elapsed time.Duration) {
	fmt.Fprintf(e.Out, "%s, %d nodes, network %s, %s timeouts, %d phases\n",
		r.Protocol, r.Nodes, r.Network, r.Timeouts, r.Phases)
	if r.Random != nil {
		fmt.Fprintf(e.Out, "%d random runs, %d rounds in %v (%.0f rounds/s), %d violations\n",
			r.Random.Runs, r.Random.Rounds, elapsed.Round(time.Millisecond),
			perSecond(float64(r.Random.Rounds), elapsed), r.Random.Violations)
	} else {
		disk := ""
		if r.Disk > 0 {
			disk = fmt.Sprintf(" and %d MB on disk", r.Disk>>20)
		}
		fmt.Fprintf(e.Out, "%d distinct states in %v (%.0f states/s, %d MB%s), %s\n",
			r.States, elapsed.Round(time.Millisecond), r.StatesPerSec, r.Memory>>20, disk, r.Complete())
	}
	for _, line := range r.Claims.Lines() {
		fmt.Fprintln(e.Out, line)
	}
	for _, idle := range r.Never {
		fmt.Fprintf(e.Out, "never fired: %s:%s %s\n", c.File, idle.Pos, idle.Rule)
	}
	if len(r.Silent) > 0 {
		fmt.Fprintf(e.Out, "nothing was sent in phases %v\n", r.Silent)
	}
	if v := r.Violation; v != nil {
		if r.Replayed {
			fmt.Fprintln(e.Out, "the counterexample was reproduced message by message")
		}
		fmt.Fprintf(e.Out, "FAIL %s in phase %d, round %d (%s), %s: %s (%s:%s)\n\n",
			v.Property, v.Phase, v.Round, v.RoundName, several(v.ActiveRounds, "active round"), v.Text, c.File, v.Pos)
		return
	}
	if r.Reason != "" {
		r.Reason = ": " + r.Reason
	}
	pass := "PASS every behavior to the bound keeps the properties"
	if r.Timeouts == "eager" {
		pass = "PASS every behavior to the bound in which time-outs are eager keeps the properties"
	}
	switch watched, assumed := len(r.Claims.Watched) > 0, r.Claims.Assumed != ""; {
	case watched && assumed:
		pass += ", as far as asynchronous runs keep the watched conditions and the network"
	case watched:
		pass += ", as far as asynchronous runs keep the watched conditions"
	case assumed:
		pass += ", as far as asynchronous runs keep the network"
	}
	fmt.Fprintln(e.Out, map[string]string{explore.Pass: pass,
		explore.Vacuous: "VACUOUS nothing was found" + r.Reason,
		explore.Unknown: "UNKNOWN nothing was found, but not everything was searched" + r.Reason}[r.Verdict])
}

func perSecond(n float64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return n / d.Seconds()
}

// explored is what the command explore prints as JSON.
type explored struct {
	distal.ExploreResult
	Interrupted bool `json:"interrupted"`
}

// Documents returns for each command that prints JSON the value that it prints, without content. The schema in the
// documentation is generated from their types.
func Documents() map[string]any {
	return map[string]any{
		"distal check":   distal.CheckResult{},
		"distal explore": explored{},
		"distal test":    tested{},
	}
}
