package netrix_test

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/netrix"
	"github.com/lockstep-go/lockstep/trace"
)

// electors returns the plan of the documentation page on remote systems, with further options.
func electors(t *testing.T, arguments string, options ...string) lockstep.Plan {
	bin := outside.Program(t,
		"python3") + " ../../examples/netrix/electors.py {id} {nodes} {server} {self} " + arguments
	system, err := netrix.Target.Build(
		append(options, "bin="+bin, "agree=Leader:term:replica", "silence=5ms", "timeout=1m"))
	if err != nil {
		t.Fatal(err)
	}
	return lockstep.Plan{System: system, Spec: netrix.Target.Spec, Repetitions: 2, Workers: 1,
		Strategy: strategy.Walk{Deliver: 10, Timer: 3, Crash: 1, Restart: 4, Steps: 60}}
}

// The target finds the bug of a program in Python, and none in the same program with a durable vote.
func TestTarget(t *testing.T) {
	tier.OnlyFull(t, "200 runs of programs in real time")
	for arguments, runs := range map[string]int{"": 200, "durable": 5} {
		plan := electors(t, arguments)
		plan.Runs = runs
		result, err := lockstep.Explore(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		f := result.First()
		if (f != nil) != (arguments == "") || result.Inconclusive > 0 || result.Checked[0].N == 0 {
			t.Errorf("with the arguments %q: %+v", arguments, result)
		}
		if f != nil && (f.Finding.Property != "agreement" ||
			!strings.Contains(f.Finding.Text, "Leader with term=") || len(f.Finding.About) != 2) {
			t.Errorf("found %+v", f.Finding)
		}
	}
}

// Byzantine replicas that send grants instead of vote requests let two replicas lead in one term, although votes are
// durable.
func TestByzantine(t *testing.T) {
	tier.NotShort(t)
	plan := electors(t, "durable", "nodes=3")
	plan.Runs = 100
	plan.Strategy = strategy.Walk{Deliver: 10, Timer: 2, Steps: 40}
	byzantine := scenario.New("grants instead of votes")
	byzantine.If(scenario.IsSend(), scenario.Type("vote")).Then(scenario.Replace(netrix.Forged("grant", []byte("1"))))
	plan.Scenario = byzantine
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	f := result.First()
	if f == nil || f.Finding.Property != "agreement" {
		t.Fatalf("%+v", result)
	}
	forged := 0
	for _, r := range f.Trace.Records {
		if r.Step.Kind == trace.Replace {
			forged++
		}
	}
	if forged == 0 {
		t.Error("the trace has no forged message")
	}
}

// An invalid forged message produces an error that names the format.
func TestForgedFormat(t *testing.T) {
	plan := electors(t, "durable")
	plan.Runs = 5
	nonsense := scenario.New("nonsense")
	nonsense.If(scenario.IsSend(), scenario.Type("vote")).Then(scenario.Replace("grant 1"))
	plan.Scenario = nonsense
	_, err := lockstep.Explore(t.Context(), plan)
	if err == nil ||
		!strings.Contains(err.Error(), `the forged message "grant 1" is no JSON object with type and data`) {
		t.Error(err)
	}
}

// For invalid settings of the target, the error names the option and the valid values.
func TestTargetSettings(t *testing.T) {
	for want, set := range map[string]string{
		"bin is the program of a replica": "nodes=3",
		"must be EVENT:KEY:VALUE":         "agree=Leader",
		"nodes is 0":                      "nodes=0",
		"must not be negative":            "silence=-1s",
		"not a loopback address":          "listen=0.0.0.0:1",
	} {
		options := []string{set}
		if want != "bin is the program of a replica" {
			options = append(options, "bin=true")
		}
		s, err := netrix.Target.Build(options)
		if err == nil {
			_, err = s.Describe()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not say %q", set, err, want)
		}
	}
}
