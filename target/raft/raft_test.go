package raft_test

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/trace"
)

func explore(t *testing.T, plan lockstep.Plan) *lockstep.Result {
	t.Helper()
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// everything is a network and an operator that do whatever they can.
var everything = strategy.Walk{Deliver: 40, Drop: 2, Duplicate: 1, Alarm: 10, Request: 1, Crash: 1, Restart: 2, Cut: 1, Heal: 2, Steps: 1500}

const manyChanges = "remove 4; remove 3; add 4; add 3; remove 2; add 2; remove 1; add 1; remove 4; remove 3"

// TestCorrect: with the remedy, members change again and again and nodes agree.
func TestCorrect(t *testing.T) {
	for _, c := range []raft.Cluster{{}, {Nodes: 4, Requests: 4, Changes: manyChanges}, {Nodes: 5, Requests: 4, Changes: manyChanges}} {
		result := explore(t, lockstep.Plan{System: c, Strategy: everything, Spec: raft.Agreement, Runs: 300, Seed: 5})
		if f := result.First(); f != nil {
			t.Fatalf("%+v: run %d: %s", c, f.Run, f.Finding)
		}
		if parts := result.VacuousParts(); len(parts) > 0 || result.Verdict() != trace.Pass {
			t.Errorf("%+v: verdict %s, never %q", c, result.Verdict(), parts)
		}
	}
}

// TestProgress: without faults everything that clients and operators ask for is
// committed by all members.
func TestProgress(t *testing.T) {
	c := raft.Cluster{Nodes: 4, Requests: 3}
	result := explore(t, lockstep.Plan{System: c, Strategy: strategy.Walk{Deliver: 100, Alarm: 1, Steps: 400}, Settle: 20000,
		Spec: all{nodes: 4}, Runs: 20, Seed: 1})
	if f := result.First(); f != nil {
		t.Fatalf("run %d: %s", f.Run, f.Finding)
	}
}

// all demands that in the end every node has committed something.
type all struct{ nodes int }

func (all) Properties() []string                 { return []string{"progress"} }
func (a all) New(lockstep.Info) lockstep.Monitor { return &allMonitor{nodes: a.nodes} }

type allMonitor struct {
	nodes int
	seen  lockstep.Nodes
}

func (a *allMonitor) Reset() { a.seen = 0 }

func (a *allMonitor) Step(run *lockstep.Run) *lockstep.Finding {
	for _, e := range run.Events() {
		if e.Type == raft.Committed {
			a.seen = a.seen.With(e.Node)
		}
	}
	return nil
}

func (a *allMonitor) End(*lockstep.Run) *lockstep.Finding {
	if a.seen.Len() == a.nodes {
		return nil
	}
	return &lockstep.Finding{Property: "progress", Text: "only these committed anything: " + a.seen.String()}
}

func TestDescribe(t *testing.T) {
	for _, c := range []raft.Cluster{{Nodes: 65}, {Requests: 27}, {Election: 1}, {Changes: "remove 9"}, {Changes: "shuffle 1"}} {
		if _, err := c.Describe(); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// asynchronous loses nothing, and ticks are slow.
var asynchronous = strategy.Walk{Deliver: 20, Alarm: 4, Steps: 3000}
