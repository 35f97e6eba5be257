package lockstep

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/trace"
)

// The flags of go test, each with an environment twin that applies where the flag is
// not given.
var (
	flagSeed   = flag.String("lockstep.seed", "", "seed of lockstep.Test instead of the plan's (or LOCKSTEP_SEED)")
	flagRuns   = flag.String("lockstep.runs", "", "number of runs of lockstep.Test instead of the plan's (or LOCKSTEP_RUNS)")
	flagReplay = flag.String("lockstep.replay", "", "trace file that lockstep.Test replays instead of exploring (or LOCKSTEP_REPLAY)")
)

func setting(value *string, env string) string {
	if *value != "" {
		return *value
	}
	return os.Getenv(env)
}

// lastWords is what is kept free of a test's deadline for shrinking and reporting.
const lastWords = 5 * time.Second

// Test explores a plan inside a Go test. Traces of earlier failures, stored under
// testdata/lockstep/<test name>/, are replayed first. A finding fails the test: it is
// shrunk, drawn and stored, and the last line printed is the command that replays it.
// A campaign in which runs reached a limit, or in which the scenario or a part of it
// never took effect, fails too: neither is a pass.
//
// The flags -lockstep.seed, -lockstep.runs and -lockstep.replay, or the environment
// variables LOCKSTEP_SEED, LOCKSTEP_RUNS and LOCKSTEP_REPLAY, take the place of what the
// plan says. The test's deadline is respected: the campaign stops in time, and says so.
func Test(t testing.TB, plan Plan) {
	t.Helper()
	if err := applySettings(&plan); err != nil {
		t.Fatal(err)
	}
	if _, _, err := plan.check(); err != nil {
		t.Fatal(err)
	}
	c := testCase{TB: t, plan: plan, dir: filepath.Join("testdata", "lockstep", safeName(t.Name()))}
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

func applySettings(plan *Plan) error {
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
	return nil
}

// safeName is a test's name as a path: subtests become folders.
func safeName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`:*?"<>|\`, r) {
			return '_'
		}
		return r
	}, strings.ReplaceAll(name, "..", "_"))
}

// testCase is one call of Test.
type testCase struct {
	testing.TB
	plan Plan
	dir  string
}

// context ends a while before the test's deadline.
func (c *testCase) context() (context.Context, context.CancelFunc) {
	if d, ok := c.TB.(interface{ Deadline() (time.Time, bool) }); ok {
		if at, ok := d.Deadline(); ok {
			return context.WithDeadline(context.Background(), at.Add(-lastWords))
		}
	}
	return context.WithCancel(context.Background())
}

// replay repeats a stored run. One that was asked for must fail again, or the test does
// for another reason; one that is merely stored may have been mended meanwhile.
func (c *testCase) replay(file string, asked bool) {
	c.Helper()
	t, err := trace.ReadFile(file)
	if err != nil {
		if asked {
			c.Fatal(err)
		}
		c.Logf("lockstep: stored trace passed over: %v", err)
		return
	}
	again, err := Replay(c.plan, t)
	switch {
	case err != nil && asked:
		c.Fatal(err)
	case err != nil:
		c.Logf("lockstep: stored trace %s passed over: %v", file, err)
	case again.Outcome.Finding != nil:
		c.fail(again, file, "the stored run fails again")
	case asked:
		c.Fatalf("lockstep: %s: %s", again.Outcome.Verdict, again.Outcome.Reason)
	default:
		c.Logf("lockstep: stored trace %s no longer fails (%s %s); delete it when the bug is mended", file, again.Outcome.Verdict, again.Outcome.Reason)
	}
}

func (c *testCase) explore() {
	c.Helper()
	ctx, cancel := c.context()
	defer cancel()
	result, err := Explore(ctx, c.plan)
	if result != nil && result.First() != nil {
		c.found(ctx, result.First())
	}
	switch {
	case err != nil:
		c.Fatal(err)
	case c.Failed():
	case result.Verdict() == trace.Unknown:
		c.Errorf("lockstep: unknown: %d of %d runs reached a limit (%v); raise the plan's Limits or Budget or make runs shorter",
			result.Verdicts[trace.Unknown], result.Runs, result.Reasons)
	case result.Verdict() == trace.Vacuous:
		c.Errorf("lockstep: vacuous: the scenario took effect in none of %d runs", result.Runs)
	case len(result.idle()) > 0 && !c.plan.AllowVacuous:
		c.Errorf("lockstep: %d runs found nothing, but parts of the scenario never took effect: %s; set the plan's AllowVacuous if that is as it should be",
			result.Runs, strings.Join(result.idle(), ", "))
	case result.Interrupted:
		c.Logf("lockstep: stopped by the test's deadline after %d runs; nothing found", result.Runs)
	default:
		c.Logf("lockstep: %d runs, nothing found; %s", result.Runs, result.Guarantee)
		for _, name := range result.unjudged() {
			c.Logf("lockstep: %s could never have failed", name)
		}
	}
}

// found shrinks a failing run and reports it.
func (c *testCase) found(ctx context.Context, f *Found) {
	c.Helper()
	if f.Flaky != "" {
		c.Errorf("lockstep: flaky: run %d found %s, but %s", f.Run, f.Finding, f.Flaky)
		return
	}
	t, views := f.Trace, report.Views{Found: f.Trace}
	if small, err := Shrink(ctx, c.plan, t, 0); err == nil {
		t, views.Shrunk = small.Trace, small.Trace
	} else {
		c.Logf("lockstep: not shrunk: %v", err)
	}
	file := filepath.Join(c.dir, fmt.Sprintf("%s-seed%d-run%d.trace", safeName(f.Finding.Property), c.plan.Seed, f.Run))
	if err := writeTrace(file, t); err != nil {
		c.Logf("lockstep: the trace could not be stored: %v", err)
		file = ""
	} else if err := writePage(strings.TrimSuffix(file, ".trace")+".html", views, c.again(t, file)); err != nil {
		c.Logf("lockstep: the page could not be stored: %v", err)
	}
	c.fail(t, file, fmt.Sprintf("run %d of seed %d fails", f.Run, c.plan.Seed))
}

// writePage draws the run for a browser, beside its trace.
func writePage(file string, views report.Views, replay string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(report.Page(f, views, report.PageOptions{Replay: replay}), f.Close())
}

func writeTrace(file string, t *trace.Trace) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	err = errors.Join(trace.Write(f, t), f.Close())
	for _, p := range t.Pictures {
		err = errors.Join(err, os.WriteFile(strings.TrimSuffix(file, ".trace")+"-"+p.Name, p.Data, 0o666))
	}
	return err
}

// fail prints a failing run and how to make it again.
func (c *testCase) fail(t *trace.Trace, file, what string) {
	c.Helper()
	var b strings.Builder
	_ = report.Grid(&b, t, report.Options{}) // a strings.Builder does not fail
	c.Errorf("lockstep: %s\n\n%s\n%s", what, b.String(), c.again(t, file))
}

// again is the command that makes a failing run again: from its trace, or else its seed.
func (c *testCase) again(t *trace.Trace, file string) string {
	name := strings.ReplaceAll(c.Name(), "/", "$/^")
	if file == "" {
		return fmt.Sprintf("go test -run '^%s$' -lockstep.seed=%d", name, t.Header.Seed)
	}
	return fmt.Sprintf("go test -run '^%s$' -lockstep.replay='%s'", name, file)
}
