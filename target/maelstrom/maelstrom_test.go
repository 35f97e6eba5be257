package maelstrom_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/maelstrom"
	"github.com/lockstep-go/lockstep/trace"
)

// python returns the program of a node in Python, or skips the test if there is no Python.
func python(t *testing.T, file string) string {
	t.Helper()
	path := outside.Program(t, "python3")
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return path + " -S " + file
}

// built returns the program of a node in Go.
func built(t *testing.T, dir string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "node")
	if out, err := exec.Command("go", "build", "-o", bin, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

var lossy = strategy.Walk{Deliver: 8, Drop: 1, Duplicate: 1, Request: 2, Cut: 1, Heal: 1, Steps: 60}

// A program that sends each message once loses values when messages are lost. The finding is reproduced, shrunk to the
// minimum number of steps, and replayed.
func TestWrongBroadcast(t *testing.T) {
	tier.NotShort(t)
	system := maelstrom.Cluster{
		Bin:      python(t, "../../examples/maelstrom/broadcast.py"),
		Workload: "broadcast",
		Nodes:    3,
		Topology: "line",
		Requests: 4,
		Pace:     1000,
	}
	plan := lockstep.Plan{
		System:      system,
		Spec:        maelstrom.Promise,
		Strategy:    lossy,
		Runs:        30,
		Settle:      60,
		Workers:     2,
		Repetitions: 2,
	}
	result := enginetest.Explore(t, plan)
	f := result.First()
	if f == nil || f.Flaky != "" || f.Failed < 2 {
		t.Fatalf("%+v", result)
	}
	small, err := shrink.Run(t.Context(), plan, f.Trace, shrink.Options{Attempts: tier.Pick(15, 60), Repetitions: 1,
		Share: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("shrunk from %s to %s: %s", small.Was, small.Is, small.Trace.Outcome.Finding)
	enginetest.FailsAgain(t, plan, small.Trace)
}

// A program that retries does not.
func TestRightBroadcast(t *testing.T) {
	tier.NotShort(t)
	system := maelstrom.Cluster{
		Bin:      built(t, "../../examples/maelstrom/broadcast"),
		Workload: "broadcast",
		Nodes:    3,
		Topology: "line",
		Requests: 4,
	}
	plan := lockstep.Plan{
		System:   system,
		Spec:     maelstrom.Promise,
		Strategy: lossy,
		Runs:     tier.Pick(1, 10),
		Settle:   100,
		Workers:  2,
	}
	result := enginetest.Explore(t, plan)
	if result.Verdict() != trace.Pass || result.Checked[0].N < plan.Runs {
		t.Fatalf("%+v", result)
	}
}

// Every workload passes with nodes that satisfy it, performs checks, and detects nodes that do not.
func TestWorkloads(t *testing.T) {
	tier.NotShort(t)
	node := python(t, "testdata/node.py")
	deliveries := strategy.Walk{Deliver: 4, Request: 2, Steps: 60}
	for i, workload := range []string{"broadcast", "lin-kv", "g-set", "unique-ids", "kafka", "txn-list-append"} {
		t.Run(workload, func(t *testing.T) {
			tier.Some(t, i, 6)
			for _, wrong := range []bool{false, true} {
				system := maelstrom.Cluster{
					Bin:      node,
					Workload: workload,
					Nodes:    3,
					Topology: "total",
					Requests: 8,
					Exact:    true,
					Timeout:  time.Minute,
				}
				plan := lockstep.Plan{
					System:    system,
					Spec:      maelstrom.Promise,
					Strategy:  deliveries,
					Runs:      3,
					Settle:    60,
					Workers:   2,
					KeepGoing: true,
				}
				if wrong {
					system.Bin += " alone"
					plan.System, plan.Runs, plan.KeepGoing = system, 60, false
				}
				if wrong {
					enginetest.FailsAgain(t, plan, enginetest.First(t, plan).Trace)
				} else if result := enginetest.Explore(t, plan); result.Verdict() != trace.Pass ||
					len(result.Unchecked()) > 0 {
					t.Errorf("%+v", result)
				}
			}
		})
	}
}

// Errors name invalid settings, and programs that do not exist.
func TestBugs(t *testing.T) {
	good := maelstrom.Cluster{Bin: "true", Workload: "echo", Nodes: 1, Topology: "grid"}
	for want, change := range map[string]func(*maelstrom.Cluster){
		"bin is the program":     func(c *maelstrom.Cluster) { c.Bin = " " },
		`workload is "chat"`:     func(c *maelstrom.Cluster) { c.Workload = "chat" },
		"allowed are 1..":        func(c *maelstrom.Cluster) { c.Nodes = 0 },
		"requests is -1":         func(c *maelstrom.Cluster) { c.Requests = -1 },
		"grid, line, total":      func(c *maelstrom.Cluster) { c.Topology = "star" },
		"it ended: exit":         func(*maelstrom.Cluster) {},
		"/no/such/node":          func(c *maelstrom.Cluster) { c.Bin = "/no/such/node" },
		"not a message: \"y\"":   func(c *maelstrom.Cluster) { c.Bin = "echo y" },
		"does not answer \"init": func(c *maelstrom.Cluster) { c.Bin = "cat /dev/stdin /dev/null -u --" },
	} {
		c := good
		change(&c)
		plan := lockstep.Plan{System: c, Spec: maelstrom.Promise, Strategy: strategy.DefaultWalk, Runs: 1, Workers: 1}
		result, err := lockstep.Explore(t.Context(), plan)
		text := ""
		if err != nil {
			text = err.Error()
		} else {
			for reason := range result.Reasons {
				text += reason
			}
		}
		if !strings.Contains(text, want) {
			t.Errorf("%q does not contain %q", text, want)
		}
	}
}
