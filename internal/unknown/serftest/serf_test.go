//go:build lockstep_overlay

package serftest

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

const runs = 8

// faults lose datagrams, break connections, cut links and crash nodes.
var faults = strategy.Walk{Deliver: 40, Drop: 4, Wait: 10, Cut: 1, Heal: 1, Crash: 1, Restart: 2, Steps: 1500}

func plan(buffer int, together bool, runs int) lockstep.Plan {
	promises := spec.All(once(together), agreement())
	return lockstep.Plan{System: cluster(buffer), Strategy: faults, Spec: promises, Runs: runs, Settle: settle, Seed: 1}
}

func campaign(t *testing.T, p lockstep.Plan) *lockstep.Result {
	t.Helper()
	result, err := lockstep.Explore(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs, %v %v, %d steps, %d messages, checked %v, divergences %v, %q", result.Runs, result.Verdicts,
		result.Reasons, result.Steps, result.Messages, result.Checked, result.Divergences, result.Nondeterminism)
	return result
}

// Nodes agree on members and events after losses, partitions and crashes, and receive no event twice.
func TestSerf(t *testing.T) {
	result := campaign(t, plan(buffer, false, runs))
	if f := result.First(); f != nil {
		t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
	if result.Verdict() != trace.Pass || result.Checked[0].N < runs*100 || result.Checked[1].N != runs {
		t.Errorf("%v, checked %v", result.Verdict(), result.Checked)
	}
}

// A node that remembers few events rejects some as too old, and misses them.
func TestSmallBuffer(t *testing.T) {
	wants(t, "agreement", plan(4, false, 20))
}

// A node that restarts without a snapshot receives events again.
func TestRestart(t *testing.T) {
	wants(t, "once", plan(buffer, true, 20))
}

func wants(t *testing.T, property string, p lockstep.Plan) {
	t.Helper()
	f := campaign(t, p).First()
	if f == nil || f.Finding.Property != property {
		t.Fatalf("found %+v, wanted is a violation of %s", f, property)
	}
	t.Logf("run %d: %s", f.Run, f.Finding)
}

// Runs are the same in every process.
func TestDigests(t *testing.T) {
	processes.AllSame(t, runs, func() []processes.Row {
		digests, err := bubble.Digests(t.Context(), plan(buffer, false, 0), runs)
		if err != nil {
			t.Fatal(err)
		}
		return []processes.Row{{Name: "serf", Outcomes: digests}}
	})
}
