package etcdraft_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/trace"
)

// TestRemovedNodes repeats two runs in which an operator once stopped a removed node too
// early, so that no leader was elected any more: in the first its storage had not
// finished and its vote was needed to leave a joint configuration; in the second it had
// been the leader of two voters, and its log was longer than that of the other.
func TestRemovedNodes(t *testing.T) {
	for name, run := range map[string]int{"pctcp:depth=5,events=309,steps=300": 937, "shadow:steps=300": 987} {
		s, err := strategy.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := lockstep.Record(lockstep.Plan{System: etcdraft.Cluster{Nodes: 5, Voters: 3, Changes: 8, Async: true}, Strategy: s,
			Spec: etcdraft.Everything, Seed: 1, Steps: 400, Settle: etcdraft.Settle}, run)
		if err != nil || tr.Outcome.Verdict != trace.Pass {
			t.Errorf("%s, run %d: %+v %v, %v", name, run, tr.Outcome, tr.Outcome.Finding, err)
		}
	}
}
