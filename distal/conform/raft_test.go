package conform_test

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal/conform"
	"github.com/lockstep-go/lockstep/examples/distal"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/trace"
)

// everything combines all faults.
var everything = strategy.Walk{Deliver: 40, Drop: 2, Duplicate: 1, Timer: 10, Request: 1, Crash: 1, Restart: 2, Cut: 1,
	Heal: 2, Steps: 1500}

func model(t *testing.T, o conform.Options) *conform.Spec {
	t.Helper()
	text, err := examples.Source("raftlog_fixed")
	if err != nil {
		t.Fatal(err)
	}
	s, err := conform.New(text, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRaft(t *testing.T) {
	s := model(t, conform.Options{})
	start := time.Now()
	result := enginetest.Explore(t, lockstep.Plan{System: raft.Cluster{Nodes: 3, Requests: 6}, Strategy: everything,
		Spec: s, Runs: 100, Seed: 5})
	t.Log(time.Since(start))
	for _, p := range result.Problems() {
		t.Log(p)
	}
	if f := result.First(); f != nil {
		t.Fatalf("run %d: %s\n%s", f.Run, f.Finding, f.Trace.Pictures)
	}
	t.Log(result.Verdicts, s.Notes(), result.Reasons)
	if result.Verdict() != trace.Pass {
		t.Error(result.Verdict())
	}
}
