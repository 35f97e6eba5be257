package etcdraft_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/trace"
)

// TestFixedAdapter replays runs that failed because of a defect of the adapter. Each run was found with the fix
// removed.
func TestFixedAdapter(t *testing.T) {
	async := etcdraft.Cluster{Nodes: 5, Voters: 3, Changes: 8, Async: true, HoldVotes: true, Atomic: true}
	compact := async
	compact.Compact = 3
	for _, c := range []struct {
		what     string
		cluster  etcdraft.Cluster
		strategy string
		run      int
	}{
		{"a snapshot asked for within a change has neither its index nor its members", compact,
			"lossy:rounds=100,loss=0.2", 985},
		{"a change is not applied on top of a later snapshot", compact, "delay", 2027},
		{"two voters are not held to liveness, nor is a cluster without a leader to durability", async, "partition",
			737},
		{"a member that ignores the leader's earlier term for good is not held to the leader's log",
			etcdraft.Cluster{Nodes: 5, Voters: 3, Changes: 8, Atomic: true}, "queues", 7554},
	} {
		s, err := strategy.Parse(c.strategy)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := lockstep.Record(
			t.Context(),
			lockstep.Plan{System: c.cluster, Strategy: s, Spec: etcdraft.Everything, Seed: 1, Steps: 400,
				Settle: etcdraft.Settle},
			c.run,
		)
		if err != nil || tr.Outcome.Verdict != trace.Pass {
			t.Errorf("%s: %+v %v, %v", c.what, tr.Outcome, tr.Outcome.Finding, err)
		}
	}
}
