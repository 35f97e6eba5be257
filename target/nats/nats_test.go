//go:build lockstep_overlay

package nats

import (
	"flag"
	"os"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/processes"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

var runs = flag.Int("runs", 3, "runs of a campaign")

func campaign(t *testing.T, c Cluster, s lockstep.Strategy, runs int) *lockstep.Result {
	t.Helper()
	result, err := lockstep.Explore(t.Context(), lockstep.Plan{System: c, Strategy: s, Spec: Everything, Runs: runs, Settle: Settle, Seed: 1, Scratch: "/dev/shm"})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs, %v %v, %d steps, %d messages, judged %v, strays %v, suspects %q, events %v", result.Runs, result.Verdicts, result.Reasons, result.Steps, result.Messages,
		result.Judged, result.Strays, result.Suspects, result.Events)
	return result
}

// A cluster without faults elects a leader and answers.
func TestCalm(t *testing.T) {
	r := campaign(t, Cluster{}, strategy.Walk{Deliver: 40, Wait: 10, Request: 1, Steps: 2000}, 2)
	if f := r.First(); f != nil {
		t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
	if r.Verdict() != trace.Pass {
		t.Error(r.Verdict())
	}
}

// faults cut links, crash servers and let them stand still.
var faults = strategy.Walk{Deliver: 1500, Wait: 300, Request: 12, Cut: 1, Heal: 4, Crash: 1, Restart: 4, Pause: 1, Steps: 6000}

// Servers that sync what they acknowledge keep their promises through crashes, partitions, pauses and power failures.
func TestFaults(t *testing.T) {
	r := campaign(t, Cluster{SyncAlways: true, Power: 0.5}, faults, *runs)
	if f := r.First(); f != nil {
		t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
	if r.Verdict() != trace.Pass {
		t.Error(r.Verdict())
	}
}

// promised is what is repeated: power fails, writes are split.
func promised() lockstep.Plan {
	return lockstep.Plan{System: Cluster{Power: 0.5, Split: 0.1, StepDowns: 2}, Strategy: faults, Spec: Everything, Seed: 3, Scratch: inMemory()}
}

// Runs repeat byte for byte, the first in a process as well.
func TestRepetition(t *testing.T) {
	const fresh = "LOCKSTEP_FRESH_PROCESS"
	if os.Getenv(fresh) == "" {
		t.Setenv(fresh, "1")
		if !processes.Passes(t) {
			t.Error("runs of a fresh process do not repeat")
		}
		return
	}
	if r, err := bubble.Repetition(t.Context(), promised(), *repeated); err != nil || r.Same != *repeated {
		t.Errorf("%d of %d runs repeated, the first that did not is %d, %v", r.Same, r.Of, r.First, err)
	}
}

var repeated = flag.Int("repeated", 5, "runs that are made twice")

// Runs are the same in several processes at once.
func TestExactly(t *testing.T) {
	const seeds = 5
	processes.AllSame(t, seeds, func() []processes.Row {
		d, err := bubble.Digests(t.Context(), promised(), seeds)
		if err != nil {
			t.Fatal(err)
		}
		return []processes.Row{{Name: "nats " + faults.String(), Outcomes: d}}
	})
}
