package redis_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/examples/redis"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/page"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// plan returns a plan for runs of the target with a strategy.
func plan(t *testing.T, s lockstep.Strategy, runs int) lockstep.Plan {
	t.Helper()
	outside.Programs(t, "redis-server")
	return lockstep.Plan{System: redis.Cluster{}, Spec: redis.Target.Spec, Strategy: s, Settle: redis.Target.Settle,
		Runs: runs, Workers: 1, Scratch: t.TempDir(), Repetitions: 2}
}

// Without faults operations are linearizable.
func TestWithoutFaults(t *testing.T) {
	tier.NotShort(t)
	result, err := lockstep.Explore(t.Context(), plan(t, strategy.Walk{Request: 4, Wait: 1, Steps: 20}, 1))
	if err != nil || result.Verdict() != trace.Pass || len(result.Unchecked()) > 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

// Crashed nodes return with their data.
func TestCrashes(t *testing.T) {
	tier.NotShort(t)
	walk := strategy.Walk{Request: 4, Wait: 2, Crash: 1, Restart: 2, Steps: 20}
	result, err := lockstep.Explore(t.Context(), plan(t, walk, tier.Pick(1, 2)))
	if err != nil || result.Inconclusive > 0 || result.Requests == 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

// An isolated master acknowledges writes that are lost, or answers with stale values.
func TestLostWrites(t *testing.T) {
	tier.OnlyFull(t, "30 runs of servers in real time")
	s, err := strategy.Parse(redis.Target.Strategy)
	if err != nil {
		t.Fatal(err)
	}
	result, err := lockstep.Explore(t.Context(), plan(t, s, 30))
	if err != nil {
		t.Fatal(err)
	}
	f := result.First()
	if f == nil || f.Finding.Property != "linearizability" {
		t.Fatalf("%v, %v", result.Verdicts, result.Reasons)
	}
	t.Logf("run %d, %s: %s", f.Run, f.Confirmed(), f.Finding)
}

// A target takes fewer than 250 lines.
func TestLines(t *testing.T) {
	text, err := os.ReadFile("redis.go")
	if lines := bytes.Count(text, []byte("\n")); err != nil || lines >= 250 {
		t.Errorf("%d lines, %v", lines, err)
	}
}

// TestHowTo follows docs/how-to/unmodified-servers.md from an empty directory.
func TestHowTo(t *testing.T) {
	tier.OnlyFull(t, "it builds a program and starts servers in real time")
	outside.Program(t, "redis-server")
	(&page.Reader{Root: "../.."}).Follow(t, "../../docs/how-to/unmodified-servers.md")
}
