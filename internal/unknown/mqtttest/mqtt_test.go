//go:build lockstep_overlay

package mqtttest

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

const runs = 20

// faults break connections and cut links. Nodes do not crash: the broker and its sessions are in memory.
var faults = strategy.Walk{Deliver: 200, Drop: 2, Wait: 40, Cut: 1, Heal: 5, Steps: 1500}

func plan(o options, runs int) lockstep.Plan {
	return lockstep.Plan{System: cluster(o), Strategy: faults, Spec: delivery(), Runs: runs, Settle: settle, Seed: 1}
}

func campaign(t *testing.T, o options) *lockstep.Result {
	t.Helper()
	result, err := lockstep.Explore(t.Context(), plan(o, runs))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs, %v %v, %d steps, %d messages, checked %v, divergences %v, %q", result.Runs, result.Verdicts,
		result.Reasons, result.Steps, result.Messages, result.Checked, result.Divergences, result.Nondeterminism)
	return result
}

// A subscriber receives every acknowledged message, although connections break.
func TestMQTT(t *testing.T) {
	result := campaign(t, options{qos: 1})
	if f := result.First(); f != nil {
		t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
	if result.Verdict() != trace.Pass || result.Checked[0].N < 20*runs {
		t.Errorf("%v, checked %v", result.Verdict(), result.Checked)
	}
}

// A subscription with quality of service 0 loses messages when the connection breaks.
func TestAtMostOnce(t *testing.T) { wants(t, options{qos: 0}) }

// A subscription whose session ends with the connection loses messages, too.
func TestCleanSession(t *testing.T) { wants(t, options{qos: 1, clean: true}) }

func wants(t *testing.T, o options) {
	t.Helper()
	f := campaign(t, o).First()
	if f == nil || f.Finding.Property != "delivery" {
		t.Fatalf("found %+v", f)
	}
	t.Logf("run %d: %s", f.Run, f.Finding)
}

// Runs are the same in every process.
func TestDigests(t *testing.T) {
	processes.AllSame(t, runs, func() []processes.Row {
		digests, err := bubble.Digests(t.Context(), plan(options{qos: 1}, 0), runs)
		if err != nil {
			t.Fatal(err)
		}
		return []processes.Row{{Name: "mqtt", Outcomes: digests}}
	})
}
