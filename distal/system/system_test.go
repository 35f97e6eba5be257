package system_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal/system"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

const dir = "../../examples/distal"

func explore(t *testing.T, p system.Program, s lockstep.Strategy, runs int) *lockstep.Result {
	t.Helper()
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: p, Strategy: s, Spec: system.Properties,
		Runs: runs, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Every strategy runs on the buggy program and finds what the exhaustive search finds;
// the finding replays, shrinks and replays again.
func TestPaxosBug(t *testing.T) {
	p := system.Program{File: filepath.Join(dir, "paxos_buggy.distal")}
	for _, s := range []lockstep.Strategy{strategy.Walk{Deliver: 10, Drop: 1, Timer: 1, Steps: 150},
		strategy.Uniform{Period: 4, Isolations: 6, Rounds: 20}, strategy.Lossy{Rounds: 20, Loss: 0.2}} {
		result := explore(t, p, s, 20_000)
		f := result.First()
		if f == nil || f.Flaky != "" || f.Finding.Property != "Prefix" && f.Finding.Property != "Successive" {
			t.Fatalf("%s: %+v", s, f)
		}
		plan := lockstep.Plan{System: p, Spec: system.Properties}
		small, err := shrink.Run(t.Context(), plan, f.Trace, shrink.Options{Attempts: 300})
		if err != nil {
			t.Fatal(err)
		}
		again, err := replay.Run(t.Context(), plan, small.Trace)
		if err != nil || again.Trace.Outcome.Verdict != trace.Fail {
			t.Errorf("%s: replay %+v, %v", s, again.Trace.Outcome, err)
		}
	}
}

// The corrected programs keep their properties under random walks, under the network
// that they ask for: those that need more than any subset of messages run without loss.
func TestCorrectPrograms(t *testing.T) {
	tier.NotShort(t)
	for name, drop := range map[string]int{"paxos_fixed": 1, "raft_fixed": 1, "lastvoting_fixed": 1,
		"chandratoueg_fixed": 1, "onethird_fixed": 1,
		"fastpaxos_fixed": 1, "benor_fixed": 0, "benortwoquorums_fixed": 0, "twophase_fixed": 0, "threephase_fixed": 0} {
		p := system.Program{File: filepath.Join(dir, name+".distal")}
		result := explore(t, p, strategy.Walk{Deliver: 10, Drop: drop, Timer: min(1, drop), Steps: 120}, 200)
		if result.Verdict() != trace.Pass {
			t.Errorf("%s: %v %v", name, result.Verdicts, result.First().Finding)
		}
	}
}

// The bugs of the others are found in the same way.
func TestBuggyPrograms(t *testing.T) {
	for name, drop := range map[string]int{"lastvoting_buggy": 1, "chandratoueg_buggy": 1, "onethird_buggy": 1,
		"fastpaxos_buggy":  1,
		"threephase_buggy": 1, "threephase_fixed": 1, "benortwoquorums_buggy": 0} {
		p := system.Program{File: filepath.Join(dir, name+".distal")}
		result := explore(t, p, strategy.Walk{Deliver: 10, Drop: drop, Timer: min(1, drop), Steps: 150}, 5000)
		if result.Verdict() != trace.Fail {
			t.Errorf("%s: %v", name, result.Verdicts)
		}
	}
}

// A second copy of a message changes nothing: senders are counted, not messages.
func TestDuplicates(t *testing.T) {
	p := system.Program{File: filepath.Join(dir, "paxos_fixed.distal")}
	result := explore(t, p, strategy.Walk{Deliver: 10, Duplicate: 5, Timer: 1, Steps: 150}, 200)
	if result.Verdict() != trace.Pass {
		t.Errorf("%v %v", result.Verdicts, result.First().Finding)
	}
	text := "protocol P(n = 2)\nmessage A { k: int } tag (k, A)\nrounds A\nstate { k: int = 1 got: int = 0 }\n" +
		"init { if self == node(1) { send A(k) to node(2) } }\nupon A ms with .k == k times >= 2 do { got := len(ms) " +
		"}\nproperty One: forall p in all: p.got == 0\n"
	result = explore(t, system.FromSource(text, ""), strategy.Walk{Deliver: 1, Duplicate: 1, Steps: 20}, 100)
	if result.Verdict() != trace.Pass {
		t.Errorf("two copies are two senders: %v", result.First().Finding)
	}
}

func TestBadPrograms(t *testing.T) {
	for _, c := range []struct {
		p    system.Program
		want string
	}{
		{system.Program{File: "nowhere.distal"}, "the program cannot be read: open nowhere.distal"},
		{system.FromSource("protocol", ""), "distal: "},
		{system.Program{File: filepath.Join(dir, "benor_fixed.distal"), Params: "f"}, "not a list of parameters"},
		{system.Program{File: filepath.Join(dir, "paxos_fixed.distal"), Test: "large"}, "there is no test large"},
	} {
		if _, err := c.p.Describe(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want ...%s...", c.p, err, c.want)
		}
	}
}

func ExampleFromSource() {
	text, err := os.ReadFile(filepath.Join(dir, "paxos_buggy.distal"))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: system.FromSource(string(text), "small"),
		Spec:     system.Properties,
		Strategy: strategy.Walk{Deliver: 10, Drop: 1, Timer: 1, Steps: 150}, Runs: 5000})
	fmt.Println(result.Verdict(), err)
	// Output: fail <nil>
}
