package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
	"github.com/lockstep-go/lockstep/watchdog"
)

type runCmd struct {
	explored
	Strategy          string        `placeholder:"S" help:"How to choose steps: name:key=value,... (${usual}; with a scenario ${guided}). Some targets and scenarios have their own, which lockstep list names."`
	Suite             string        `placeholder:"DIR" help:"Execute the tests of a suite that lockstep distal generate made, each in a run, instead of a strategy."`
	Scenario          string        `placeholder:"NAME" help:"Guide the runs by one of the target's scenarios, and store one of them with its explanation; lockstep list TARGET names them."`
	Control           bool          `help:"With --scenario: make as many runs without the scenario's faults, too, for comparison."`
	Runs              int           `placeholder:"N" help:"Number of runs; ${runs} unless there is a time limit."`
	For               time.Duration `placeholder:"30s" help:"Stop after this time, without that of building a program and of warming it up."`
	StepTimeout       time.Duration `default:"${timeout}" placeholder:"30s" help:"A step that takes longer hangs, which is a finding (${default}, or what the target needs); 0 waits indefinitely."`
	KeepGoing         bool          `help:"Continue after a finding."`
	NoShrink          bool          `help:"Keep findings as they were found."`
	ShrinkFor         time.Duration `placeholder:"1m" help:"Most time to spend on shrinking; 0 is ${shrinkFor} for a nondeterministic system, ${shrinkTimed} for one in virtual time, and no limit for others."`
	Closure           bool          `help:"Count how often late messages change a state, by type."`
	Coverage          bool          `help:"Measure which partitions the runs had, and what the theorems promise for as many."`
	Operations        []string      `placeholder:"OP,OP" help:"With --coverage: words in requests; pairs of these operations are measured, too."`
	PartitionSequence string        `placeholder:"SEQUENCE" help:"With --coverage: a partition sequence to be measured, too, e.g. '2|2 then 1|3'."`
	CoverCrashes      bool          `help:"With --coverage: count a crashed node as cut off."`
	CoverProfile      string        `name:"coverprofile" placeholder:"FILE" help:"Count the statements of the system that the runs execute, and write them as a cover profile of Go. The target is built on demand with counters."`
	CoverPage         string        `name:"coverpage" placeholder:"FILE" help:"Count them, too, and write the sources as an HTML page: executed, only under faults, never."`
	CoverPkg          []string      `name:"coverpkg" placeholder:"PATTERN,..." help:"With --coverprofile, --coverpage or guided:by=code: patterns of the packages to count, instead of those of the system."`
	CountStatements   bool          `hidden:"" help:"Count the statements, for another process that writes them."`
	Sometimes         []string      `placeholder:"WHAT,..." help:"What must happen at least once in the campaign, which otherwise has the problem that it is unreached: types of events, kinds of step (crash), both with a role (crash:leader), or usual: what lockstep list names for the target."`
	Report            string        `placeholder:"FILE" help:"Write the campaign as an HTML page."`
	JUnit             string        `name:"junit" placeholder:"FILE" help:"Write the campaign as JUnit XML."`
	Annotate          bool          `help:"Print GitHub annotations."`
	Out               string        `default:"lockstep-out" placeholder:"DIR" help:"Where traces of findings go (${default})."`
	JSON              bool          `name:"json" help:"Print one JSON object."`
	Fleet             string        `placeholder:"URL" help:"Have the runs made by the fleet there; the result is the same. See lockstep fleet."`
	TokenFile         string        `env:"LOCKSTEP_FLEET_TOKEN_FILE" placeholder:"FILE" help:"With --fleet: the file with the fleet's work token; otherwise the variable LOCKSTEP_FLEET_TOKEN has it."`
	Batches           bool          `hidden:"" help:"Make the runs that standard input asks for: what the workers of a fleet do."`
	FromFile          bool          `hidden:"" help:"The options are those of a file: refuse those that start programs or read files."`
	Allow             []string      `hidden:"" sep:"none" help:"With --from-file: an option that the user allows."`

	suite    *Suite    // of --suite
	gathered *Gathered // the results of other processes or a fleet
	stored   *stored   // the findings stored so far
}

const defaultRuns = 10_000

// unbounded is the number of runs if the user gives only a time.
const unbounded = math.MaxInt32

// Help returns the longer help.
func (runCmd) Help() string {
	return `A target is linked in, or it is a program that is built on demand: one of those that lockstep list names, in
the version that --set version=V asks for, or the main package in a directory, which calls cli.Main with its targets
(PACKAGE:NAME, where it has several). What was built is kept in the user's cache.

Where runs repeat exactly and a process can make only one at a time, as with programs in virtual time, each of several
workers is a process.

Examples:
  lockstep run smr-bug
  lockstep run smr-bug --nodes 5 --strategy lossy:rounds=24,loss=0.1 --keep-going
  lockstep run smr --set requests=4 --strategy walk:crash=1,restart=1 --for 30s --workers 2
  lockstep run etcdraft --set version=v3.6.0 --strategy pos
  lockstep run ./cmd/check --strategy walk
  lockstep run etcdraft --scenario ReVote --runs 100 --control
  lockstep run etcdraft --set atomic=true --conform examples/distal/raftlog_fixed.distal
  lockstep run register --strategy partition:criterion=isolate,balanced=true --runs 50 --keep-going --coverage`
}

// Run explores the target.
func (c *runCmd) Run(e *Env) error {
	if err := errors.Join(c.checkSuite(), c.chooseBuild(), c.elsewhere(e)); err != nil {
		return err
	}
	at, err := c.here(e)
	if err != nil {
		return err
	}
	if err := c.checkOptions(at); err != nil {
		return err
	}
	guide, err := c.guide(at)
	if err != nil {
		return err
	}
	plan, err := c.plan(e, at, guide.Set)
	if err != nil {
		return err
	}
	if guide.Build != nil {
		plan.Scenario = guide.Build()
	}
	if err := c.sometimes(&plan, at.target); err != nil {
		return err
	}
	meter, err := c.meter(&plan)
	if err != nil {
		return err
	}
	statements, err := c.statements(&plan)
	if err != nil {
		return err
	}
	if c.Batches {
		share(plan.Workers)
		measures := batch.Measures{Coverage: meter, Closure: c.Closure, Code: statements}
		if e.conformance != nil {
			measures.Model = e.conformance.Visits
		}
		return batch.Serve(e.Ctx, plan, measures, os.Stdin, e.Out)
	}
	if err := c.checkFiles(); err != nil {
		return err
	}
	sum, err := c.explore(e, plan)
	if sum == nil ||
		err != nil && sum.Result.Runs == 0 { // without a deployed system there is no result to report
		return err
	}
	plan.Observers = nil
	c.realized(e, sum)
	failed := errors.Join(c.visited(e, plan, sum), c.executed(e, statements, sum), c.keep(e, plan, sum),
		c.measure(e, plan, sum), c.fromTrace(e, plan, sum), c.control(e, plan, statements, sum))
	sum.Result.Stopped = sum.Result.Stopped || e.Interrupted() // the interrupt may have come after the last run
	if meter != nil {
		if g := c.gathered; g != nil && g.Coverage != nil {
			failed = errors.Join(failed, meter.Put(*g.Coverage))
		}
		sum.Coverage = meter.Read()
	}
	e.Report(sum.Problems())
	return errors.Join(err, c.print(e, sum), failed, c.files(e, sum))
}

// checkFiles reports output files that cannot be written.
func (c *runCmd) checkFiles() error {
	return errors.Join(CheckOut(c.Out), CheckFiles("report", c.Report, "junit", c.JUnit, "coverprofile", c.CoverProfile,
		"coverpage", c.CoverPage))
}

// explore makes the runs and summarizes them. It returns nil if it could make none.
func (c *runCmd) explore(e *Env, plan lockstep.Plan) (*campaign.Campaign, error) {
	ctx, cancel := e.Ctx, context.CancelFunc(func() {})
	if c.For > 0 {
		var time *timed
		ctx, time, cancel = newTimed(ctx, c.For)
		plan.Warming = time.pause
		defer overtime(ctx, func() {
			fmt.Fprintln(e.Err, "lockstep: the time is up; runs that have begun end first, and a rerun confirms a finding")
		})()
	}
	defer cancel()
	start, show := time.Now(), e.Progress(plan.Runs, c.For)
	sum := &campaign.Campaign{Rerun: c.again(e)}
	plan.Progress = func(r *lockstep.Result) {
		sum.Curve = campaign.AddSample(sum.Curve, r, time.Since(start))
		_ = show.Update(campaign.Status{Runs: r.Runs, Findings: campaign.Findings(r), Coverage: seen(r)})
	}
	if info, err := plan.System.Describe(); c.KeepGoing || err == nil && info.Determinism == lockstep.BestEffort {
		c.stored = &stored{files: map[int]string{}}
		plan.OnFailure = func(f *lockstep.Failure) { c.stored.add(e, c.Out, f) }
	}
	result, err := c.result(ctx, e, plan)
	_ = show.Done()
	if result == nil {
		return nil, err
	}
	info, _ := plan.System.Describe() // the error was handled in Explore, which called Describe before
	sum.Result, sum.Options, sum.Build, sum.Elapsed = result, info.Options, info.Build, time.Since(start)
	result.Stopped = result.Interrupted && e.Interrupted()
	if g := c.gathered; g != nil {
		sum.Elapsed, sum.Curve, result.Stopped = g.Elapsed, g.Curve, g.Stopped
	}
	sum.TimeUp = result.Interrupted && !result.Stopped
	sum.Curve = campaign.AddSample(sum.Curve, result, sum.Elapsed)
	return sum, err
}

// seen reports how many states a campaign has seen, if it counts them.
func seen(r *lockstep.Result) string {
	switch {
	case r.States > 0:
		return fmt.Sprintf("%d states", r.States)
	case r.Schedules > 0:
		return fmt.Sprintf("%d schedules", r.Schedules)
	default:
		return ""
	}
}

// measure counts late messages if the user asked for it.
func (c *runCmd) measure(e *Env, plan lockstep.Plan, sum *campaign.Campaign) error {
	if f := sum.Result.First(); !c.Closure || f != nil && f.Finding.Property == lockstep.Hang {
		return nil
	}
	if g := c.gathered; g != nil && g.Closure != nil {
		sum.Closure = g.Closure.Types
		return nil
	}
	m, err := lockstepform.Measure(e.Ctx, plan, max(sum.Result.Runs, 1))
	if m != nil {
		sum.Closure = m.Types
	}
	return err
}

// files writes the campaign to files for machines and browsers.
func (c *runCmd) files(e *Env, sum *campaign.Campaign) error {
	var failed error
	if c.Report != "" {
		failed = e.write(c.Report, func(w io.Writer) error { return campaign.Page(w, sum) })
	}
	if c.JUnit != "" {
		failed = errors.Join(failed, e.write(c.JUnit, func(w io.Writer) error { return campaign.JUnit(w, sum) }))
	}
	if c.Annotate {
		w := e.Out
		if c.JSON { // JSON is the whole output
			w = e.Err
		}
		failed = errors.Join(failed, campaign.Annotations(w, sum, campaign.Place{}))
	}
	return failed
}

// plan returns the plan that the flags describe, with the options that a scenario needs. Flags override the scenario's
// options.
func (c *runCmd) plan(e *Env, at *place, needs []string) (lockstep.Plan, error) {
	if err := notNegative("runs", int64(c.Runs), "for", int64(c.For), "timeout", int64(c.StepTimeout)); err != nil {
		return lockstep.Plan{}, err
	}
	plan, err := c.explored.plan(e, at, needs)
	if err != nil {
		return plan, err
	}
	plan.Watchdog = watchdog.After(timeout(at.target, c.StepTimeout))
	if c.learnsFrom(lockstep.ModelFeatures) && c.Conform == "" {
		return plan, errors.New("--strategy " + byModel + " needs --conform, which names the model")
	}
	if c.Suite != "" {
		return plan, c.useSuite(e, &plan)
	}
	plan.Strategy, err = strategy.Parse(c.Strategy)
	plan.Runs, plan.KeepGoing, plan.Distinct = c.Runs, c.KeepGoing, c.Report != ""
	switch {
	case c.Runs == 0 && c.For > 0:
		plan.Runs = unbounded
	case c.Runs == 0:
		plan.Runs = defaultRuns
	}
	return plan, err
}

// timeout returns the step timeout of a target: the requested one, or else the one that the target needs.
func timeout(t target.Target, asked time.Duration) time.Duration {
	if asked == watchdog.Default {
		return cmp.Or(t.StepTimeout, asked)
	}
	return asked
}

// again returns the command line that reruns the campaign. It has everything that the result depends on, and no output
// flags.
func (c *runCmd) again(e *Env) string {
	words := append([]string{e.Self}, c.words()...)
	if c.NoShrink {
		words = append(words, "--no-shrink")
	}
	if c.Control {
		words = append(words, "--control")
	}
	return commandLine(append(append(words, c.measures()...), "--seed", fmt.Sprint(c.Seed)))
}

// measures returns the flags that select measurements.
func (c *runCmd) measures() (words []string) {
	for _, f := range []struct {
		name string
		set  bool
	}{{"--closure", c.Closure}, {"--coverage", c.Coverage}, {"--cover-crashes", c.CoverCrashes}} {
		if f.set {
			words = append(words, f.name)
		}
	}
	if len(c.Operations) > 0 {
		words = append(words, "--operations", strings.Join(c.Operations, ","))
	}
	if c.PartitionSequence != "" {
		words = append(words, "--partition-sequence", c.PartitionSequence)
	}
	if len(c.Sometimes) > 0 {
		words = append(words, "--sometimes", strings.Join(c.Sometimes, ","))
	}
	return words
}

// words returns the command and the flags that the runs depend on, except the seed.
func (c *runCmd) words() []string {
	words := []string{"run", c.Target}
	for _, f := range []struct{ name, value string }{{"--strategy", c.Strategy}, {"--suite", c.Suite},
		{"--scenario", c.Scenario}} {
		if f.value != "" {
			words = append(words, f.name, f.value)
		}
	}
	words = append(words, c.explored.words()...)
	if c.Runs > 0 {
		words = append(words, "--runs", strconv.Itoa(c.Runs))
	}
	if c.For > 0 {
		words = append(words, "--for", c.For.String())
	}
	if c.KeepGoing {
		words = append(words, "--keep-going")
	}
	if c.StepTimeout != watchdog.Default {
		words = append(words, "--step-timeout", c.StepTimeout.String())
	}
	return words
}

// keep stores the findings. It also shrinks and draws the first one.
func (c *runCmd) keep(e *Env, plan lockstep.Plan, sum *campaign.Campaign) error {
	var failed error
	var found []campaign.Occurrence
	var first *trace.Trace
	if f := sum.Result.First(); f != nil {
		first = f.Trace
	}
	for i := range sum.Result.Failures {
		f := &sum.Result.Failures[i]
		file, err := c.stored.file(f.Run), error(nil)
		switch {
		case i == 0:
			file, err = c.keepFirst(e, plan, f, sum)
		case file == "":
			file, err = e.store(c.Out, artifact.NameIn(c.Out, f.Trace, f.Run), f.Trace)
		}
		failed = errors.Join(failed, err)
		sum.Traces = append(sum.Traces, file)
		o := campaign.Occurrence{Run: f.Run, Trace: f.Trace, File: file}
		if i == 0 {
			o.Page = sum.Page
			o.Trace = first // not the shrunk one, whose events are others
		}
		found = append(found, o)
	}
	sum.Groups = campaign.GroupFindings(found)
	c.fresh(e, plan, sum, found)
	return errors.Join(failed, c.keepGroups(e, plan, sum, found))
}

// keepFirst shrinks, draws and stores the first finding. The result then has its smaller form.
func (c *runCmd) keepFirst(e *Env, plan lockstep.Plan, f *lockstep.Failure, sum *campaign.Campaign) (string, error) {
	k, err := e.Keep(
		plan,
		f.Trace,
		artifact.Options{
			Dir:       c.Out,
			Name:      artifact.NameIn(c.Out, f.Trace, f.Run),
			Found:     true,
			NoShrink:  c.NoShrink || f.Flaky != "",
			ShrinkFor: c.ShrinkFor,
		},
	)
	if k.NotShrunk != nil {
		fmt.Fprintln(e.Err, "lockstep: not shrunk:", unprefixed(joinLines(k.NotShrunk.Error())))
	}
	if k.Shrunk != nil {
		sum.Shrunk = fmt.Sprintf("%s in %d attempts", howFar(k.Shrunk), k.Shrunk.Attempts)
		if small := k.Trace.Outcome.Finding; small != nil {
			sum.ShrunkText = small.Text
		}
	}
	if k.Differs {
		sum.Result.MarkFlaky(0, k.Fresh)
	} else if k.Fresh != "" {
		fmt.Fprintln(e.Err, "lockstep:", k.Fresh)
	}
	sum.Why = k.Why
	f.Trace, sum.Trace, sum.Page, sum.Found, sum.Pictures = k.Trace, k.File, k.Page, k.FoundFile, k.Pictures
	if k.File != "" {
		sum.Replay = e.Replay(k.File, e.allowances(plan)...)
	}
	return k.File, err
}

func (c *runCmd) print(e *Env, sum *campaign.Campaign) error {
	if c.JSON {
		return e.JSON(sum.Document())
	}
	if f := sum.Result.First(); f != nil && f.Flaky == "" {
		if err := e.Grid(f.Trace); err != nil {
			return err
		}
		fmt.Fprintln(e.Out)
	}
	sum.Notes = slices.Concat(c.guided(sum.Result), controlled(sum.Control), coverageLines(sum.Coverage))
	return sum.Write(e.Out, options(e.Out).Color)
}
