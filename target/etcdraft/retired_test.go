package etcdraft_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/trace"
)

// A removed node whose vote the others need, because they have not left a joint
// configuration yet, answers in time though its clock has stopped: its storage goes on.
// In this run it once fell ninety terms behind, and no leader was elected any more.
func TestStorageOfRemovedNode(t *testing.T) {
	s, err := strategy.Parse("pctcp:depth=5,events=309,steps=300")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := lockstep.Record(lockstep.Plan{System: etcdraft.Cluster{Nodes: 5, Voters: 3, Changes: 8, Async: true}, Strategy: s,
		Spec: etcdraft.Everything, Seed: 1, Steps: 400, Settle: etcdraft.Settle}, 937)
	if err != nil || tr.Outcome.Verdict != trace.Pass {
		t.Errorf("%+v %v, %v", tr.Outcome, tr.Outcome.Finding, err)
	}
}
