package raft_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/trace"
)

// TestConfChange checks that the scenario finds the bug of single-server changes as first published, and nothing with
// the remedy.
func TestConfChange(t *testing.T) {
	tier.NotShort(t)
	plan := lockstep.Plan{
		Strategy:  asynchronous,
		Scenario:  raft.ConfChange(true),
		Spec:      raftspec.StateMachineSafety,
		Runs:      200,
		Seed:      1,
		KeepGoing: true,
		Keep:      1,
	}
	plan.System = raft.Cluster{Nodes: 4, Requests: 4, Changes: "remove 4; remove 3", EarlyChanges: true}
	result := enginetest.Explore(t, plan)
	if found := result.Verdicts[trace.Fail]; found < result.Runs*55/100 {
		t.Errorf("agreement was violated in %d of %d runs", found, result.Runs)
	}
	if parts := result.VacuousParts(); len(parts) > 0 {
		t.Errorf("never: %q", parts)
	}
	t.Logf("%d of %d: %s", result.Verdicts[trace.Fail], result.Runs, result.First().Finding)
	plan.System = raft.Cluster{Nodes: 4, Requests: 4, Changes: "remove 4; remove 3"}
	result = enginetest.Explore(t, plan)
	if f := result.First(); f != nil {
		t.Errorf("with the remedy: %s", f.Finding)
	}
}
