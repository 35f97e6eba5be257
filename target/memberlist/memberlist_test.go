//go:build lockstep_overlay

package memberlist

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// faults lose datagrams, break connections, cut links and crash nodes.
var faults = strategy.Walk{Deliver: 40, Drop: 4, Wait: 10, Cut: 1, Heal: 1, Crash: 1, Restart: 2, Steps: 600}

func campaign(t *testing.T, c Cluster, s lockstep.Strategy, runs int) *lockstep.Result {
	t.Helper()
	result, err := lockstep.Explore(t.Context(),
		lockstep.Plan{System: c, Strategy: s, Spec: Converges, Runs: runs, Settle: Settle, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs, %v %v, %d steps, %d messages, checked %v, divergences %v, nondeterminism %q", result.Runs,
		result.Verdicts, result.Reasons, result.Steps, result.Messages, result.Checked, result.Divergences,
		result.Nondeterminism)
	return result
}

// Nodes agree on the members after losses, partitions and crashes.
func TestConvergence(t *testing.T) {
	result := campaign(t, Cluster{}, faults, 20)
	if f := result.First(); f != nil {
		t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
	if result.Checked[0].N != 20 || result.Verdict() != trace.Pass {
		t.Errorf("%v, checked %v", result.Verdict(), result.Checked)
	}
}

// A long partition splits the members permanently if nodes do not contact missing members: the spec can fail. If they
// do, it does not.
func TestRejoin(t *testing.T) {
	long := strategy.Walk{Deliver: 40, Wait: 20, Cut: 1, Steps: 8000}
	if f := campaign(t, Cluster{NoRejoin: true}, long, 3).First(); f == nil || f.Failed != 1 ||
		f.Finding.Property != "convergence" {
		t.Errorf("found %+v", f)
	}
	if f := campaign(t, Cluster{}, long, 3).First(); f != nil {
		t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
}

// Runs are deterministic byte for byte, also with writes in two parts.
func TestRepetition(t *testing.T) {
	plan := lockstep.Plan{System: Cluster{Split: 0.3}, Strategy: faults, Spec: Converges, Seed: 3}
	if r, err := bubble.Repetition(t.Context(), plan, 10); err != nil || r.Same != 10 {
		t.Errorf("%d of %d runs repeated, the first that did not is %d, %v", r.Same, r.Of, r.First, err)
	}
}

// Runs are the same in every process: 100 seeds.
func TestExactly(t *testing.T) {
	processes.AllSame(t, 100, func() []processes.Row {
		d, err := bubble.Digests(t.Context(), lockstep.Plan{System: Cluster{Split: 0.1}, Strategy: faults, Seed: 3},
			100)
		if err != nil {
			t.Fatal(err)
		}
		return []processes.Row{{Name: "memberlist " + faults.String(), Outcomes: d}}
	})
}
