// Package locksteptest explores plans inside Go tests.
//
// A failing test prints the finding, how far the run was shrunk, and its picture. The last line is the command that
// replays the run. The trace and a page for a browser are stored under testdata/lockstep/<test name>/; the next test
// run replays the trace first.
package locksteptest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/trace"
	"github.com/lockstep-go/lockstep/watchdog"
)

// The flags of go test. Each has an environment variable that applies if the flag is not set.
var (
	flagSeed = flag.String("lockstep.seed", "", "seed of locksteptest.Run instead of the plan's (or LOCKSTEP_SEED)")
	flagRuns = flag.String("lockstep.runs", "",
		"number of runs of locksteptest.Run instead of the plan's (or LOCKSTEP_RUNS)")
	flagVacuous = flag.String(
		"lockstep.vacuous",
		"",
		"true lets locksteptest.Run pass even if a part of the scenario or a property was never exercised "+
			"(or LOCKSTEP_VACUOUS)",
	)
	flagStepTimeout = flag.String(
		"lockstep.steptimeout",
		"",
		"a step that takes longer hangs, which is a finding; default 30s, 0 waits indefinitely (or LOCKSTEP_STEPTIMEOUT)",
	)
	flagShrink = flag.String(
		"lockstep.shrinkfor",
		"",
		"most time that locksteptest.Run spends on shrinking a failing run; default 30s, 0 is no limit "+
			"(or LOCKSTEP_SHRINKFOR)",
	)
	flagReplay = flag.String("lockstep.replay", "",
		"trace file that locksteptest.Run replays instead of exploring (or LOCKSTEP_REPLAY)")
)

func setting(value *string, env string) string {
	if *value != "" {
		return *value
	}
	return os.Getenv(env)
}

// lastWords is the part of a test's time before its deadline that is reserved for shrinking and reporting.
const lastWords = 5 * time.Second

// Run explores a plan inside a Go test. It first replays the traces of earlier failures, stored under
// testdata/lockstep/<test name>/. A finding fails the test: Run shrinks, draws and stores the run, and the last printed
// line is the command that replays it.
//
// The test also fails if a passing run of a deterministic system differs when it is repeated, or if runs reached a
// limit. It fails if the scenario or a part of it never took effect, or if a property was never checked. See
// [lockstep.Result.Problems]. Unless there is a finding, Run logs the average activity of a run.
//
// A step that takes more than 30 seconds is a finding, too: Run stores the incomplete run.
//
// Shrinking a failing run takes at most 30 seconds; Run writes its progress to standard error every few seconds.
//
// The flags -lockstep.seed, -lockstep.runs, -lockstep.steptimeout, -lockstep.shrinkfor, -lockstep.vacuous and
// -lockstep.replay, or the environment variables LOCKSTEP_SEED and so on, override the plan. Run respects the test's
// deadline: the campaign stops in time, and Run logs that.
func Run(t testing.TB, plan lockstep.Plan) {
	t.Helper()
	if err := applySettings(&plan); err != nil {
		t.Fatal(err)
	}
	if err := plan.Check(); err != nil {
		t.Fatal(err)
	}
	limit, err := shrinkLimit()
	if err != nil {
		t.Fatal(err)
	}
	c := testCase{TB: t, shrinkFor: limit, plan: plan, dir: filepath.Join("testdata", "lockstep", dir(t.Name()))}
	if file := setting(flagReplay, "LOCKSTEP_REPLAY"); file != "" {
		c.replay(file, true)
		return
	}
	stored, _ := filepath.Glob(filepath.Join(c.dir, "*.trace"))
	for _, file := range stored {
		if c.replay(file, false); t.Failed() {
			return
		}
	}
	c.explore()
}

func applySettings(plan *lockstep.Plan) error {
	if s := setting(flagSeed, "LOCKSTEP_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return fmt.Errorf("lockstep: the seed %q is not a whole number from 0 to 2^64-1", s)
		}
		plan.Seed = seed
	}
	if s := setting(flagRuns, "LOCKSTEP_RUNS"); s != "" {
		runs, err := strconv.Atoi(s)
		if err != nil || runs < 1 {
			return fmt.Errorf("lockstep: the number of runs %q is not a whole number from 1 on", s)
		}
		plan.Runs = runs
	}
	timeout := watchdog.Default
	if s := setting(flagStepTimeout, "LOCKSTEP_STEPTIMEOUT"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 {
			return fmt.Errorf("lockstep: the timeout %q is not a time such as 30s", s)
		}
		timeout, plan.Watchdog = d, nil
	}
	if plan.Watchdog == nil {
		plan.Watchdog = watchdog.After(timeout)
	}
	if s := setting(flagVacuous, "LOCKSTEP_VACUOUS"); s != "" {
		allow, err := strconv.ParseBool(s)
		if err != nil {
			return fmt.Errorf("lockstep: -lockstep.vacuous is %q, allowed are true and false", s)
		}
		plan.AllowVacuous = allow
	}
	return nil
}

// DefaultShrinkFor is the default time limit for shrinking a failing run. The flag -lockstep.shrinkfor overrides it.
const DefaultShrinkFor = 30 * time.Second

// shrinkLimit returns the time limit for shrinking; negative means no limit.
func shrinkLimit() (time.Duration, error) {
	s := setting(flagShrink, "LOCKSTEP_SHRINKFOR")
	if s == "" {
		return DefaultShrinkFor, nil
	}
	limit, err := time.ParseDuration(s)
	switch {
	case err != nil || limit < 0:
		return 0, fmt.Errorf("lockstep: the time for shrinking %q is not a time such as 30s; 0 is no limit", s)
	case limit == 0:
		return -1, nil
	default:
		return limit, nil
	}
}

// The interval and the destination of progress messages. A test's own log is not visible before the test ends.
var (
	progressEvery           = 5 * time.Second
	progressOut   io.Writer = os.Stderr
)

// progress periodically reports the progress of shrinking.
func (c *testCase) progress(began time.Time) func(int, func() string) {
	last := began
	return func(attempts int, size func() string) {
		now := time.Now()
		if now.Sub(last) < progressEvery {
			return
		}
		last = now
		limit := ""
		if c.shrinkFor > 0 {
			limit = fmt.Sprintf(" of at most %s", c.shrinkFor)
		}
		fmt.Fprintf(progressOut, "lockstep: %s: shrinking the failing run for %s%s, %d runs: %s\n",
			c.Name(), now.Sub(began).Round(time.Second/10), limit, attempts, size())
	}
}

// dir returns a test's name as a path: subtests become directories.
func dir(name string) string {
	parts := strings.Split(strings.ReplaceAll(name, "..", "_"), "/")
	for i, p := range parts {
		parts[i] = artifact.SafeName(p)
	}
	return filepath.Join(parts...)
}

// testCase is one call of Run.
type testCase struct {
	testing.TB
	plan      lockstep.Plan
	dir       string
	shrinkFor time.Duration // negative: no limit
}

// context returns a context that ends some time before the test's deadline.
func (c *testCase) context() (context.Context, context.CancelFunc) {
	if d, ok := c.TB.(interface{ Deadline() (time.Time, bool) }); ok {
		if at, ok := d.Deadline(); ok {
			return context.WithDeadline(context.Background(), at.Add(-lastWords))
		}
	}
	return context.WithCancel(context.Background())
}

// replay replays a stored run. A run requested by flag must fail again; otherwise the test fails for another reason.
// The bug of a merely stored run may have been fixed.
func (c *testCase) replay(file string, asked bool) {
	c.Helper()
	t, err := trace.ReadFile(file)
	if err != nil {
		c.passedOver(file, err, asked)
		return
	}
	ctx, cancel := c.context()
	defer cancel()
	again, err := replay.Run(ctx, c.plan, t)
	if err != nil {
		c.passedOver(file, err, asked)
		return
	}
	if err := artifact.Replayed(again.Trace); err != nil {
		c.Fatal(err)
	}
	words := again.Words(t)
	switch o := again.Trace.Outcome; {
	case o.Finding != nil:
		c.fail(again.Trace, file, "the stored run fails again: "+words)
	case asked:
		c.Fatalf("lockstep: %s: %s", file, words)
	case o.Verdict == trace.Pass:
		c.Logf("lockstep: stored trace %s: %s. Delete it when that is as it should be", file, words)
	default:
		c.Logf("lockstep: stored trace %s: %s", file, words)
	}
}

func (c *testCase) passedOver(file string, err error, asked bool) {
	c.Helper()
	if asked {
		c.Fatal(err)
	}
	c.Logf("lockstep: stored trace %s passed over: %v", file, err)
}

func (c *testCase) explore() {
	c.Helper()
	ctx, cancel := c.context()
	defer cancel()
	result, err := lockstep.Explore(ctx, c.plan)
	if result != nil {
		c.check(ctx, result)
	}
	if err != nil {
		c.Fatal(err)
	}
}

// check passes or fails the test by the problems of its campaign. The last line is the command that repeats the
// failure.
func (c *testCase) check(ctx context.Context, result *lockstep.Result) {
	c.Helper()
	var kept *artifact.Kept
	if f := result.First(); f != nil && f.Flaky == "" {
		if kept = c.keep(ctx, f); kept.Differs {
			result.MarkFlaky(0, kept.Fresh)
		}
	}
	var failing, others []lockstep.Problem
	for _, p := range result.Problems() {
		if c.fails(&p) {
			p.Severity = lockstep.SeverityError // users do not read the warnings of a passing test
			failing = append(failing, p)
		} else {
			others = append(others, p)
		}
	}
	first := result.First()
	drawn := first != nil && first.Flaky == ""
	lines := campaign.ProblemLines(others, "")
	if result.Determinism != lockstep.Deterministic {
		lines = append(lines, campaign.BestEffort)
	}
	if !drawn {
		lines = append(campaign.Activity(result), lines...)
	}
	if s, ok := c.plan.Scenario.(interface{ Name() string }); ok {
		lines = append([]string{campaign.ScenarioLine(s.Name(), result)}, lines...)
	}
	for _, line := range lines {
		c.Logf("lockstep: %s", line)
	}
	switch {
	case len(failing) > 0:
		c.failing(result, failing, !drawn)
	case result.Interrupted:
		c.Logf("lockstep: stopped by the test's deadline after %d runs; nothing found", result.Runs)
	default:
		c.Logf("lockstep: %d runs, nothing found; %s", result.Runs, result.Guarantee)
		for _, line := range campaign.NextRun(result) {
			c.Logf("lockstep: %s", line)
		}
	}
	if drawn {
		c.found(first, kept)
	}
}

// fails reports whether a problem fails the test: an error, or a warning that leaves something unchecked.
func (c *testCase) fails(p *lockstep.Problem) bool {
	switch p.Kind {
	case lockstep.ProblemVacuousPart, lockstep.ProblemVacuousProperty:
		return !c.plan.AllowVacuous
	default:
		return p.Severity == lockstep.SeverityError || p.Verdict() != trace.Pass
	}
}

// failing prints the problems that fail the test, with hints. If no trace reproduces them, it prints how to repeat the
// campaign.
func (c *testCase) failing(result *lockstep.Result, list []lockstep.Problem, again bool) {
	c.Helper()
	lines := campaign.ProblemLines(list, "")
	has := func(kinds ...string) bool {
		return slices.ContainsFunc(list, func(p lockstep.Problem) bool { return slices.Contains(kinds, p.Kind) })
	}
	for _, hint := range hints {
		if has(hint.kinds...) {
			lines = append(lines, hint.text)
		}
	}
	if c.plan.Settle == 0 && has(lockstep.ProblemVacuousProperty) {
		lines = append(lines, "liveness is checked only after a settling stage, which the plan's Settle gives")
	}
	if again {
		lines = append(lines, fmt.Sprintf("%s -lockstep.runs=%d", c.again(""), max(result.Runs, 1)))
	}
	c.Errorf("lockstep: %s", strings.Join(lines, "\n"))
}

// hints are suggestions for solving problems.
var hints = []struct {
	kinds []string
	text  string
}{
	{[]string{lockstep.ProblemUnknown}, "raise the plan's MaxSteps, MaxInFlight, MaxTime or Budget, or make runs shorter"},
	{[]string{lockstep.ProblemVacuousPart, lockstep.ProblemVacuousProperty},
		"set the plan's AllowVacuous, or pass -lockstep.vacuous=true, if that is as it should be"},
	{[]string{lockstep.ProblemDivergence, lockstep.ProblemFlaky},
		"the system is not deterministic: find what differs, or declare it as best effort (Info.Determinism)"},
}

// keep shrinks, draws and stores a failing run, and reruns it in a fresh process.
func (c *testCase) keep(ctx context.Context, f *lockstep.Failure) *artifact.Kept {
	c.Helper()
	k, err := artifact.Run(ctx, c.plan, f.Trace, artifact.Options{Dir: c.dir, ShrinkFor: c.shrinkFor,
		Shrink: shrink.Options{Progress: c.progress(time.Now())},
		Name:   artifact.SafeName(fmt.Sprintf("%s-seed%d-run%d", f.Finding.Property, c.plan.Seed, f.Run)),
		Replay: func(file string) string { return c.again(file) },
		Fresh:  c.fresh})
	if k.NotShrunk != nil {
		c.Logf("lockstep: not shrunk: %v", k.NotShrunk)
	}
	if err != nil {
		c.Logf("lockstep: %v", err)
	}
	return k
}

// found reports a failing run.
func (c *testCase) found(f *lockstep.Failure, k *artifact.Kept) {
	c.Helper()
	what := fmt.Sprintf("run %d of seed %d fails", f.Run, c.plan.Seed)
	if f.Repeated > 1 {
		what += ", and " + f.Confirmed()
	}
	if k.Fresh != "" {
		what += "; " + k.Fresh
	}
	drawn := k.Trace
	if k.Form != nil && len(k.Trace.Rounds) == 0 {
		drawn = k.Form
		what += "; drawn in its " + k.Note
	}
	for _, line := range k.Why {
		what += "\n" + line
	}
	if k.Page != "" {
		what += "\npage: " + k.Page
	}
	for _, file := range k.Pictures {
		what += "\ndrawn by the spec: " + file
	}
	c.fail(drawn, k.File, what)
}

// fail prints a failing run and the command that reruns it.
func (c *testCase) fail(t *trace.Trace, file, what string) {
	c.Helper()
	var b strings.Builder
	_ = report.Grid(&b, t, report.Options{}) // a strings.Builder returns no error
	c.Errorf("lockstep: %s\n\n%s\n%s", what, b.String(), c.again(file))
}

// fresh returns the command by which a fresh process reruns a stored run.
func (c *testCase) fresh(file string) []string {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return []string{
		self,
		"-test.run=^" + strings.ReplaceAll(c.Name(), "/", "$/^") + "$",
		"-test.count=1",
		"-lockstep.replay=" + file,
	}
}

// again returns the command that reruns a failing run: from its trace, or else from its seed.
func (c *testCase) again(file string) string {
	name := strings.ReplaceAll(c.Name(), "/", "$/^")
	if file == "" {
		return fmt.Sprintf("go test -run '^%s$' -lockstep.seed=%d", name, c.plan.Seed)
	}
	return fmt.Sprintf("go test -run '^%s$' -lockstep.replay='%s'", name, file)
}
