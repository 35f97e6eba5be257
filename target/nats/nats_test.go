//go:build lockstep_overlay

package nats

import (
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

var runs = flag.Int("runs", 2, "runs of a campaign")

func campaign(t *testing.T, c Cluster, s lockstep.Strategy, runs int) *lockstep.Result {
	t.Helper()
	return settled(t, Settle, c, s, runs)
}

// settled is a campaign with a settling stage of so many steps: more servers and more activity need more.
func settled(t *testing.T, settle int, c Cluster, s lockstep.Strategy, runs int) *lockstep.Result {
	t.Helper()
	result, err := lockstep.Explore(t.Context(),
		lockstep.Plan{System: c, Strategy: s, Spec: Everything, Runs: runs, Settle: settle, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs, %v %v, %d steps, %d messages, checked %v, divergences %v, nondeterminism %q, events %v",
		result.Runs, result.Verdicts, result.Reasons, result.Steps, result.Messages, result.Checked, result.Divergences,
		result.Nondeterminism, result.Events)
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

// faults cut links, and crash and pause servers.
var faults = strategy.Walk{Deliver: 1500, Wait: 300, Request: 12, Cut: 1, Heal: 4, Crash: 1, Restart: 4, Pause: 1,
	Steps: 6000}

// Servers that sync acknowledged writes satisfy all properties through crashes, partitions, pauses and power
// failures.
func TestFaults(t *testing.T) {
	r := campaign(t, Cluster{SyncAlways: true, Power: 0.5}, faults, *runs)
	if f := r.First(); f != nil {
		t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
	if r.Verdict() != trace.Pass {
		t.Error(r.Verdict())
	}
}

// manyProcesses is the environment variable with the number of processes that repeat runs.
const manyProcesses = "LOCKSTEP_PROCESSES"

// promised is the plan that the processes repeat: power fails, writes are split.
func promised() lockstep.Plan {
	return lockstep.Plan{
		System:   Cluster{Power: 0.5, Split: 0.1, StepDowns: 2, MetaStepDowns: 1},
		Strategy: faults,
		Spec:     Everything,
		Seed:     3,
	}
}

// Runs are the same, byte for byte, in several concurrent processes. That holds for the first run in a process and
// for later ones, and for the LOCKSTEP_TIMES repetitions in each. The test is too long for every day.
func TestExactly(t *testing.T) {
	const seeds = 50
	if os.Getenv(manyProcesses) == "" {
		t.Skip("no LOCKSTEP_PROCESSES: the number of processes to compare")
	}
	same(t, promised(), seeds)
}

// same executes the first runs of a plan in several processes; every second process executes another run before.
func same(t *testing.T, plan lockstep.Plan, seeds int) {
	t.Helper()
	processes.Same(t, func(process int) []string {
		if process%2 == 0 {
			other := plan
			other.Seed++
			if _, err := bubble.Digests(t.Context(), other, 1); err != nil {
				t.Fatal(err)
			}
		}
		digests, err := bubble.Digests(t.Context(), plan, seeds)
		if err != nil {
			t.Fatal(err)
		}
		for i := range processes.Times() - 1 {
			if again, err := bubble.Digests(t.Context(), plan, seeds); err != nil || !slices.Equal(again, digests) {
				t.Errorf("time %d differs from the first, %v:\n%q\n%q", i+2, err, again, digests)
			}
		}
		return digests
	})
}
