//go:build lockstep_overlay

package redsynctest

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

const runs = 30

// faults break connections, cut links and crash servers and clients.
var faults = strategy.Walk{Deliver: 1000, Drop: 1, Wait: 40, Cut: 1, Heal: 8, Crash: 1, Restart: 20, Steps: 5000}

func plan(o options, runs int) lockstep.Plan {
	return lockstep.Plan{System: cluster(o), Strategy: faults, Spec: exclusion(), Runs: runs, Seed: 1}
}

// campaign explores a plan and counts how often a client acquired the lock.
func campaign(t *testing.T, o options, runs int) (result *lockstep.Result, held int) {
	t.Helper()
	p := plan(o, runs)
	p.Spec = spec.All(p.Spec, spec.OnEvent("held", eventHeld,
		func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding { held++; return nil }))
	result, err := lockstep.Explore(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs, %v %v, %d steps, %d messages, held %d times, divergences %v, %q", result.Runs, result.Verdicts,
		result.Reasons, result.Steps, result.Messages, held, result.Divergences, result.Nondeterminism)
	return result, held
}

// At most one client holds the lock at a time, despite network faults and crashes, and clients do acquire it.
func TestRedsync(t *testing.T) {
	result, held := campaign(t, options{drift: 4000}, runs)
	if f := result.First(); f != nil {
		t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
	if result.Verdict() != trace.Pass || held < 5*runs {
		t.Errorf("%v, held %d times", result.Verdict(), held)
	}
}

// Servers that lose their locks in a crash and answer immediately grant them to two clients.
func TestEarlyServers(t *testing.T) { wants(t, options{early: true}) }

// Servers whose clocks differ by more than redsync allows grant a lock to two clients, too.
func TestWrongClocks(t *testing.T) { wants(t, options{drift: 100_000}) }

func wants(t *testing.T, o options) {
	t.Helper()
	result, _ := campaign(t, o, 100)
	f := result.First()
	if f == nil || f.Finding.Property != "exclusion" {
		t.Fatalf("found %+v", f)
	}
	t.Logf("run %d: %s", f.Run, f.Finding)
}

// Runs are the same in every process.
func TestDigests(t *testing.T) {
	processes.AllSame(t, runs, func() []processes.Row {
		digests, err := bubble.Digests(t.Context(), plan(options{drift: 4000}, 0), runs)
		if err != nil {
			t.Fatal(err)
		}
		return []processes.Row{{Name: "redsync", Outcomes: digests}}
	})
}
