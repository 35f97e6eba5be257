package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/smr"
)

// guidedApp has a replicated log with two scenarios, one of which fails on its own.
func guidedApp() App {
	build := func(name, state string) func() lockstep.Scenario {
		return func() lockstep.Scenario {
			sc := scenario.New(name)
			sc.Machine().On(scenario.IsEvent(smr.Output), state).MarkSuccess()
			return sc.Use(
				scenario.Withhold(scenario.Round("Promise").And(scenario.From(2)), scenario.IsEvent(smr.Output)))
		}
	}
	log := target.Of("smr", "a replicated log", smr.Cluster{Nodes: 3}, smr.Prefix).Explored("walk:steps=40")
	return App{Targets: []target.Target{log.Guided(
		target.Scenario{
			Name:     "late promise",
			Help:     "a promise comes late",
			Strategy: "pos",
			Set:      []string{"requests=2"},
			Build:    build("late promise", "output"),
		},
		target.Scenario{Name: "no output", Help: "an output is a finding", Build: build("no output", scenario.Fail)},
	)}}
}

func guidedRun(t *testing.T, args ...string) (status int, out, errOut string) {
	t.Helper()
	var a, b bytes.Buffer
	status = guidedApp().execute(context.Background(), "lockstep", args, &a, &b)
	return status, a.String(), b.String()
}

// TestRunScenario checks that a guided campaign reports how the scenario went, and stores one run with its explanation
// and page. Options of the command line override those of the scenario.
func TestRunScenario(t *testing.T) {
	t.Chdir(t.TempDir())
	status, out, errOut := guidedRun(t, "run", "smr", "--scenario", "late promise", "--runs", "20", "--strategy",
		"walk")
	if status != statusClean || !strings.Contains(out, "scenario late promise succeeded in ") ||
		!strings.Contains(out, "requests=2") {
		t.Errorf("status %d\n%s%s", status, out, errOut)
	}
	for _, file := range []string{"trace", "html", "txt"} {
		name := "lockstep-out/smr-late_promise-seed0-run0." + file
		text, err := os.ReadFile(name)
		if err != nil || len(text) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
		if file == "txt" &&
			(!strings.Contains(string(text), "withhold: ") || !strings.Contains(string(text), "\nverdict ")) {
			t.Errorf("explanation:\n%s", text)
		}
	}
	if _, out, _ = guidedRun(t, "run", "smr", "--scenario", "late promise", "--runs", "1", "--strategy", "walk",
		"--set", "requests=3"); !strings.Contains(
		out,
		"requests=3",
	) {
		t.Errorf("the option of the command line is not taken:\n%s", out)
	}
}

// TestUsualStrategies checks that a target and a scenario may have default strategies. The command list prints them,
// and the command line overrides them.
func TestUsualStrategies(t *testing.T) {
	tier.NotShort(t)
	t.Chdir(t.TempDir())
	for _, c := range []struct{ want, args string }{
		{"steps=40,", ""},
		{"under pos:", "--scenario=late promise"},
		{"under pctcp:", "--scenario=no output"},
		{"under delay:", "--strategy=delay"},
	} {
		args := []string{"run", "smr", "--runs=1", "--no-shrink"}
		if c.args != "" {
			args = append(args, c.args)
		}
		if _, out, errOut := guidedRun(t, args...); !strings.Contains(out, c.want) {
			t.Errorf("%s: no %q in\n%s%s", c.args, c.want, out, errOut)
		}
	}
	if _, out, _ := guidedRun(t, "list", "smr"); !strings.Contains(out, "--strategy     by default walk:steps=40\n") {
		t.Errorf("%s", out)
	}
}

// TestControl checks that --control runs the scenario without its faults beside it, on the console and in JSON.
func TestControl(t *testing.T) {
	tier.NotShort(t)
	t.Chdir(t.TempDir())
	args := []string{"run", "smr", "--scenario", "late promise", "--runs", "20", "--strategy", "walk", "--control"}
	status, out, errOut := guidedRun(t, args...)
	if status != statusClean || !strings.Contains(out, "control without the scenario's faults: 20 runs, ") ||
		!strings.Contains(out, " succeeded, 0 with a finding\n") {
		t.Errorf("status %d\n%s%s", status, out, errOut)
	}
	_, out, _ = guidedRun(t, append(args, "--json")...)
	var document struct {
		Rerun   string `json:"rerun"`
		Control struct{ Runs, Successes, Findings int }
	}
	if err := json.Unmarshal([]byte(out), &document); err != nil || document.Control.Runs != 20 ||
		document.Control.Successes == 0 || !strings.Contains(document.Rerun, "--control") {
		t.Errorf("%v, %+v", err, document)
	}
	status, _, errOut = guidedRun(t, "run", "smr", "--runs", "1", "--control")
	if status != statusFailure || !strings.Contains(errOut, "--control needs a --scenario") {
		t.Errorf("status %d: %s", status, errOut)
	}
}

// TestRunScenarioFinding checks that a finding of the scenario itself is kept and explained, and that a replay
// reproduces it.
func TestRunScenarioFinding(t *testing.T) {
	t.Chdir(t.TempDir())
	status, out, errOut := guidedRun(t, "run", "smr", "--scenario", "no output", "--runs", "50", "--strategy", "walk",
		"--json", "--no-shrink")
	var document struct{ Trace string }
	if err := json.Unmarshal([]byte(out), &document); status != statusFinding || err != nil {
		t.Fatalf("status %d, %v\n%s%s", status, err, out, errOut)
	}
	if _, err := os.Stat(strings.TrimSuffix(document.Trace, ".trace") + ".txt"); err != nil {
		t.Error(err)
	}
	status, out, _ = guidedRun(t, "replay", document.Trace)
	if status != statusFinding || !strings.Contains(out, "scenario no output") {
		t.Errorf("replayed with status %d:\n%s", status, out)
	}
}

// TestRunScenarioUnknown checks that the error lists the available scenarios.
func TestRunScenarioUnknown(t *testing.T) {
	t.Chdir(t.TempDir())
	if status, _, errOut := guidedRun(t, "run", "smr", "--scenario", "early"); status != statusFailure ||
		!strings.Contains(errOut, `target smr has no scenario "early": one of late promise, no output`) {
		t.Errorf("status %d: %s", status, errOut)
	}
}

// TestListTarget checks that list prints what scenarios can refer to, with the Go types of messages and values.
func TestListTarget(t *testing.T) {
	status, out, errOut := guidedRun(t, "list", "smr")
	for _, want := range []string{"late promise", "Messages: type, Go type of the content, an example", "Promise",
		"Events: type, Go type of the value, an example", smr.Output,
		"Rounds, in 200 runs that lose a fifth of the messages", "neither one-to-all nor all-to-one: Promise (",
		"lossy:period=4 makes them, too"} {
		if status != statusClean || !strings.Contains(out, want) {
			t.Errorf("status %d, no %q in\n%s%s", status, want, out, errOut)
		}
	}
	_, out, _ = guidedRun(t, "list", "smr", "--json")
	var all struct{ Targets []listed }
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all.Targets) != 1 ||
		len(all.Targets[0].Scenarios) != 2 ||
		all.Targets[0].Seen == nil {
		t.Fatalf("%v: %s", err, out)
	}
	if s := all.Targets[0].Shapes; s == nil || s.LeaderBased || len(s.Rounds) != 4 || s.Rounds[0].OneToAll < 200 ||
		s.Rounds[1].AllToOne < 200 ||
		s.Rounds[3].Other == 0 {
		t.Errorf("the rounds are %+v", s)
	}
	for _, e := range all.Targets[0].Seen.Events {
		if e.Type == smr.Output && (e.Value == "" || e.Example == "") {
			t.Errorf("%+v has no value", e)
		}
	}
}
