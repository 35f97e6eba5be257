package locksteptest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/locksteptest"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// inTest calls Run as a test with that name would.
func inTest(f *enginetest.FakeT, plan lockstep.Plan) *enginetest.FakeT {
	f.Run(func(t testing.TB) { locksteptest.Run(t, plan) })
	return f
}

func TestTest(t *testing.T) {
	tier.NotShort(t)
	t.Chdir(t.TempDir())
	plan := lockstep.Plan{
		System:   smr.Cluster{Nodes: 3, Bug: true},
		Strategy: strategy.DefaultUniform,
		Spec:     smr.Prefix,
		Runs:     5000,
	}

	f := inTest(&enginetest.FakeT{TestName: "TestLog/small"}, plan)
	text := f.Text.String()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := lines[len(lines)-1]
	for _, want := range []string{"run 6 of seed 0 fails", "shrunk from", "| phase 3", "FAIL prefix at step"} {
		if !f.Bad || !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	file := filepath.Join("testdata", "lockstep", "TestLog", "small", "prefix-seed0-run6.trace")
	if want := fmt.Sprintf("go test -run '^TestLog$/^small$' -lockstep.replay='%s'", file); last != want {
		t.Errorf("last line %q, want %q", last, want)
	}

	if page, err := os.ReadFile(strings.TrimSuffix(file, ".trace") + ".html"); err != nil ||
		!strings.Contains(string(page), "<html") {
		t.Errorf("the page: %d bytes, %v", len(page), err)
	}

	f = inTest(&enginetest.FakeT{TestName: "TestLog/small"}, plan)
	if !f.Bad || !strings.Contains(f.Text.String(), "the stored run fails again") {
		t.Errorf("the stored trace is not replayed first:\n%s", f.Text.String())
	}
	fixed := plan
	fixed.System = toy.Wrapped{System: smr.Cluster{Nodes: 3}, Info: func(i *lockstep.Info) { i.Name = "smr-bug" }}
	f = inTest(&enginetest.FakeT{TestName: "TestLog/small"}, fixed)
	if f.Bad || !strings.Contains(f.Text.String(), "fixed: the run now passes; the first difference: step") ||
		!strings.Contains(f.Text.String(), "5000 runs, nothing found") {
		t.Errorf("after the bug is fixed:\n%s", f.Text.String())
	}
	if err := os.WriteFile(file, []byte(`{"lockstep":99}`), 0o666); err != nil {
		t.Fatal(err)
	}
	f = inTest(&enginetest.FakeT{TestName: "TestLog/small"}, fixed)
	if f.Bad || !strings.Contains(f.Text.String(), "format version 99, this tool reads version 4") {
		t.Errorf("a stored trace of another version:\n%s", f.Text.String())
	}
}

func TestTestSettings(t *testing.T) {
	tier.NotShort(t)
	t.Chdir(t.TempDir())
	plan := lockstep.Plan{
		System:   smr.Cluster{Nodes: 3, Bug: true},
		Strategy: strategy.DefaultUniform,
		Spec:     smr.Prefix,
		Runs:     1,
	}
	inTest(&enginetest.FakeT{TestName: "TestFind"},
		lockstep.Plan{System: plan.System, Strategy: plan.Strategy, Spec: plan.Spec, Runs: 5000})
	stored, _ := filepath.Glob("testdata/lockstep/TestFind/*.trace")
	if len(stored) != 1 {
		t.Fatalf("stored %q", stored)
	}
	for _, c := range []struct{ env, value, want string }{
		{"LOCKSTEP_SEED", "12", "1 runs, nothing found"},
		{"LOCKSTEP_SEED", "x", `the seed "x" is not a whole number from 0 to 2^64-1`},
		{"LOCKSTEP_RUNS", "5000", "run 6 of seed 0 fails"},
		{"LOCKSTEP_RUNS", "0", `the number of runs "0" is not a whole number from 1 on`},
		{"LOCKSTEP_STEPTIMEOUT", "soon", `the timeout "soon" is not a time such as 30s`},
		{"LOCKSTEP_STEPTIMEOUT", "0", "1 runs, nothing found"},
		{"LOCKSTEP_REPLAY", "nowhere.trace", "open nowhere.trace"},
		{"LOCKSTEP_REPLAY", stored[0], "the stored run fails again"},
	} {
		t.Run(c.env+"="+c.value, func(t *testing.T) {
			t.Setenv(c.env, c.value)
			if f := inTest(&enginetest.FakeT{TestName: "TestOther"}, plan); !strings.Contains(f.Text.String(), c.want) {
				t.Errorf("%q is missing in\n%s", c.want, f.Text.String())
			}
			os.RemoveAll("testdata/lockstep/TestOther")
		})
	}
}

// A limit or a scenario without effect fails a test, and so does an invalid plan.
func TestTestVerdicts(t *testing.T) {
	t.Chdir(t.TempDir())
	base := lockstep.Plan{System: toy.Cluster(nil), Strategy: strategy.DefaultWalk, Runs: 10}
	limited := base
	limited.MaxSteps = 5
	idle := base
	idle.Scenario = idleScenario()
	calls := 0
	odd := base
	odd.System = toy.Cluster(func(*sim.Context[int], int) {
		if calls++; calls == 1 {
			panic("once")
		}
	})
	odd.Workers = 1
	for _, c := range []struct {
		name   string
		plan   lockstep.Plan
		failed bool
		want   string
	}{
		{"pass", base, false, "10 runs, nothing found; no guarantee"},
		{"estimate", base, false, "next run: reaches something new with probability "},
		{
			"limit",
			limited,
			true,
			"error: 10 of 10 runs were not checked: more than 5 steps (10, first run 0)\nraise the plan's MaxSteps",
		},
		{"vacuous", idle, true, "error: the scenario took effect in none of 10 runs"},
		{"flaky", odd, true, "error: panic in 1 of 1 run, first in run 0, but the second time nothing was found: once"},
		{"no strategy", lockstep.Plan{System: toy.Cluster(nil)}, true, "a plan needs a System and a Strategy"},
		{
			"negative",
			lockstep.Plan{System: toy.Cluster(nil), Strategy: strategy.DefaultWalk, Runs: -1},
			true,
			"the plan's Runs is -1, it must not be negative",
		},
	} {
		f := inTest(&enginetest.FakeT{TestName: "TestVerdicts"}, c.plan)
		if f.Bad != c.failed || !strings.Contains(f.Text.String(), c.want) {
			t.Errorf("%s: failed %v, log:\n%s", c.name, f.Bad, f.Text.String())
		}
	}
}

// The deadline ends a campaign that would run indefinitely, and the test reports that.
func TestTestDeadline(t *testing.T) {
	tier.NotShort(t)
	t.Chdir(t.TempDir())
	f := &enginetest.FakeT{TestName: "TestDeadline", Until: time.Now().Add(5*time.Second + 200*time.Millisecond)}
	inTest(f, lockstep.Plan{System: toy.Cluster(nil), Strategy: strategy.DefaultWalk, Runs: 1 << 40})
	if f.Bad || !strings.Contains(f.Text.String(), "stopped by the test's deadline after") {
		t.Errorf("failed %v, log:\n%s", f.Bad, f.Text.String())
	}
}

// If a trace cannot be stored, the run is still printed, with its seed.
func TestTestCannotStore(t *testing.T) {
	tier.NotShort(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("testdata", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	f := inTest(
		&enginetest.FakeT{TestName: "TestFull"},
		lockstep.Plan{
			System:   smr.Cluster{Nodes: 3, Bug: true},
			Strategy: strategy.DefaultUniform,
			Spec:     smr.Prefix,
			Runs:     5000,
		},
	)
	if text := f.Text.String(); !strings.Contains(text, "the trace could not be stored") ||
		!strings.Contains(text, "go test -run '^TestFull$' -lockstep.seed=0") {
		t.Errorf("log:\n%s", text)
	}
}

// idleScenario returns a scenario that never takes effect.
func idleScenario() lockstep.Scenario {
	sc := scenario.New("idle")
	sc.If(scenario.Type("none such")).Then(scenario.Drop())
	return sc
}

// Run fails if a part of a scenario never took effect in any run, unless the plan allows that.
func TestVacuousPartsFailTest(t *testing.T) {
	t.Chdir(t.TempDir())
	sc := scenario.New("half idle")
	sc.If(scenario.Round("Ack")).Named("acks").First(1).Then(scenario.Deliver())
	sc.If(scenario.Round("Ack"), scenario.Phase(-1)).Named("no such phase").Then(scenario.Drop())
	plan := lockstep.Plan{
		System:   smr.Cluster{Nodes: 3},
		Strategy: strategy.DefaultWalk,
		Scenario: sc,
		Spec:     smr.Prefix,
		Runs:     50,
	}
	f := inTest(&enginetest.FakeT{TestName: "TestHalf"}, plan)
	if !f.Bad || !strings.Contains(f.Text.String(), `"filter 2 (no such phase) acted" never took effect`) {
		t.Errorf("the idle filter is not named:\n%s", f.Text.String())
	}
	if want := "scenario half idle took "; !strings.Contains(f.Text.String(), want) {
		t.Errorf("%q is missing in\n%s", want, f.Text.String())
	}
	plan.AllowVacuous = true
	if f := inTest(&enginetest.FakeT{TestName: "TestHalf"}, plan); f.Bad {
		t.Errorf("it fails although the plan allows it:\n%s", f.Text.String())
	}
}

// A property that was never checked fails a test, unless the plan allows that. A passing test reports the activity of
// its runs.
func TestUncheckedPropertiesFailTest(t *testing.T) {
	t.Chdir(t.TempDir())
	never := spec.OnEvent("never", "no such event",
		func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding { return nil })
	plan := lockstep.Plan{
		System:   smr.Cluster{Nodes: 3},
		Strategy: strategy.DefaultWalk,
		Spec:     spec.All(smr.Prefix, never),
		Runs:     50,
	}
	f := inTest(&enginetest.FakeT{TestName: "TestNever"}, plan)
	if !f.Bad ||
		!strings.Contains(f.Text.String(), "error: property never was never checked\nset the plan's AllowVacuous") {
		t.Errorf("failed %v:\n%s", f.Bad, f.Text.String())
	}
	t.Setenv("LOCKSTEP_VACUOUS", "maybe")
	if f := inTest(&enginetest.FakeT{TestName: "TestNever"}, plan); !f.Bad ||
		!strings.Contains(f.Text.String(), `-lockstep.vacuous is "maybe", allowed are true and false`) {
		t.Errorf("failed %v:\n%s", f.Bad, f.Text.String())
	}
	t.Setenv("LOCKSTEP_VACUOUS", "true")
	f = inTest(&enginetest.FakeT{TestName: "TestNever"}, plan)
	for _, want := range []string{
		"nothing found",
		"lockstep: average run: ",
		" events (output ",
		"property prefix was checked ",
		"warning: property never was never checked",
	} {
		if f.Bad || !strings.Contains(f.Text.String(), want) {
			t.Errorf("failed %v, %q:\n%s", f.Bad, want, f.Text.String())
		}
	}
}

// A stored trace whose run differs only in a word of a state still fails the test.
func TestStoredTraceOfAChangedSystem(t *testing.T) {
	t.Chdir(t.TempDir())
	plan := lockstep.Plan{
		System:   toy.Cluster(nil),
		Strategy: strategy.Walk{Deliver: 2, Timer: 1, Steps: 10},
		Spec:     toy.AtEnd,
		Runs:     3,
	}
	inTest(&enginetest.FakeT{TestName: "TestKept"}, plan)
	files, _ := filepath.Glob("testdata/lockstep/TestKept/*.trace")
	if len(files) != 1 {
		t.Fatalf("stored %q", files)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "total=0", "total= 0", 1)
	if err := os.WriteFile(files[0], []byte(changed), 0o666); err != nil {
		t.Fatal(err)
	}
	f := inTest(&enginetest.FakeT{TestName: "TestKept"}, plan)
	log := f.Text.String()
	if !f.Bad || !strings.Contains(log, "the stored run fails again: it still fails; the first difference: step 0") ||
		strings.Contains(log, "elete") {
		t.Errorf("log:\n%s", log)
	}
}

// A failing run that is not in rounds is drawn in its lock-step form, and the page contains that.
func TestLockstepForm(t *testing.T) {
	tier.NotShort(t)
	t.Chdir(t.TempDir())
	f := inTest(
		&enginetest.FakeT{TestName: "TestForm"},
		lockstep.Plan{
			System:   smr.Cluster{Nodes: 3, Bug: true},
			Strategy: strategy.DefaultWalk,
			Spec:     smr.Prefix,
			Runs:     5000,
		},
	)
	if log := f.Text.String(); !f.Bad || !strings.Contains(log, "equivalent lock-step form") ||
		!strings.Contains(log, "| phase 1") {
		t.Errorf("log:\n%s", log)
	}
	pages, _ := filepath.Glob("testdata/lockstep/TestForm/*.html")
	if len(pages) != 1 {
		t.Fatalf("pages %q", pages)
	}
	if page, err := os.ReadFile(pages[0]); err != nil || !strings.Contains(string(page), "lock-step form") {
		t.Errorf("the page has no lock-step form: %v", err)
	}
}

// Undecided runs fail a test, and the pictures of a finding are stored beside its trace.
func TestPicturesAreStored(t *testing.T) {
	t.Chdir(t.TempDir())
	history := spec.Linearizable{Model: porcupine.Model{Init: func() any { return 0 },
		Step: func(state, _, output any) (bool, any) { _, no := output.(spec.Unanswered); return no, state }}}
	system := toy.Cluster(func(c *sim.Context[int], m int) {
		id := 10*m + int(c.Self()) // each node gets a number once
		c.Emit(spec.EventCall, &spec.Call{Client: 1, ID: id, Input: m})
		c.Emit(spec.EventReturn, &spec.Return{Client: 1, ID: id, Output: m})
	})
	plan := lockstep.Plan{
		System:   system,
		Strategy: strategy.Walk{Deliver: 1, Timer: 1, Steps: 5},
		Spec:     history,
		Runs:     50,
	}
	f := inTest(&enginetest.FakeT{TestName: "TestPicture"}, plan)
	if !f.Bad {
		t.Fatalf("nothing found:\n%s", f.Text.String())
	}
	files, _ := filepath.Glob("testdata/lockstep/TestPicture/*-history.html")
	if len(files) != 1 {
		t.Fatalf("pictures stored: %q", files)
	}
	if !strings.Contains(f.Text.String(), "\ndrawn by the spec: "+files[0]+"\n") {
		t.Errorf("%s is not named:\n%s", files[0], f.Text.String())
	}
	history.Steps, history.Model.Step = 1, func(state, _, _ any) (bool, any) { return true, state }
	plan.Spec, plan.Strategy = history, strategy.Walk{Deliver: 3, Timer: 1, Steps: 30}
	if f := inTest(&enginetest.FakeT{TestName: "TestUndecided"}, plan); !f.Bad ||
		!strings.Contains(f.Text.String(), "operations: not decided within 1 steps") {
		t.Errorf("a test with undecided runs:\n%s", f.Text.String())
	}
}
