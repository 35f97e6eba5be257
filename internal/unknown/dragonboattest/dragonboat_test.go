//go:build lockstep_overlay

package dragonboattest

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

const runs = 20

// faults break connections, cut links, kill nodes, and let their power fail.
var faults = strategy.Walk{Deliver: 1000, Drop: 1, Wait: 100, Request: 30, Cut: 1, Heal: 8, Crash: 2, Restart: 10,
	Steps: 4000}

func plan(o options, runs int) lockstep.Plan {
	return lockstep.Plan{System: cluster(o), Strategy: faults, Spec: kv.Linearizable, Runs: runs, Seed: 1}
}

// campaign explores a plan and counts answers and power failures.
func campaign(t *testing.T, o options, runs int) (result *lockstep.Result, counts map[string]int) {
	t.Helper()
	p := plan(o, runs)
	counts = map[string]int{}
	count := func(event string) lockstep.Spec {
		return spec.OnEvent(event, event, func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding {
			counts[event]++
			return nil
		})
	}
	p.Spec = spec.All(p.Spec, count(spec.EventReturn), count(bubble.PowerFailure), count(bubble.RefusedCall))
	result, err := lockstep.Explore(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs, %v %v, %d steps, %d messages, %v, divergences %v, %q", result.Runs, result.Verdicts,
		result.Reasons, result.Steps, result.Messages, counts, result.Divergences, result.Nondeterminism)
	return result, counts
}

// Operations are linearizable, despite network faults, kills and power failures, and most are answered.
func TestDragonboat(t *testing.T) {
	result, counts := campaign(t, options{snapshots: true}, runs)
	if f := result.First(); f != nil {
		t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
	if result.Verdict() != trace.Pass || counts[spec.EventReturn] < 15*runs || counts[bubble.PowerFailure] < runs ||
		counts[bubble.RefusedCall] > 0 {
		t.Errorf("%v, %v", result.Verdict(), counts)
	}
}

// Reads of the state of a node are not linearizable.
func TestStaleReads(t *testing.T) { wants(t, options{stale: true}) }

// Nodes that lose their files lose acknowledged writes.
func TestAmnesia(t *testing.T) { wants(t, options{amnesia: true}) }

func wants(t *testing.T, o options) {
	t.Helper()
	result, _ := campaign(t, o, 100)
	f := result.First()
	if f == nil || f.Finding.Property != "linearizability" {
		t.Fatalf("found %+v", f)
	}
	t.Logf("run %d: %s", f.Run, f.Finding)
}

// Runs are the same in every process, though nodes store and send the paths of their snapshots.
func TestDigests(t *testing.T) {
	processes.AllSame(t, runs, func() []processes.Row {
		digests, err := bubble.Digests(t.Context(), plan(options{snapshots: true}, 0), runs)
		if err != nil {
			t.Fatal(err)
		}
		return []processes.Row{{Name: "dragonboat", Outcomes: digests}}
	})
}
