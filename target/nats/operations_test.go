//go:build lockstep_overlay

package nats

import (
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// passes fails where a campaign found something, or where one of its properties was not judged in every run.
func passes(t *testing.T, r *lockstep.Result) {
	t.Helper()
	if f := r.First(); f != nil {
		t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
	if r.Verdict() != trace.Pass {
		t.Error(r.Verdict(), r.Reasons)
	}
	for _, j := range r.Judged {
		if j.N >= 0 && j.N < r.Runs {
			t.Errorf("%s was judged %d times in %d runs", j.Name, j.N, r.Runs)
		}
	}
}

// happened fails where one of these types of event was not seen.
func happened(t *testing.T, r *lockstep.Result, types ...string) {
	t.Helper()
	for _, name := range types {
		if !slices.ContainsFunc(r.Events, func(c lockstep.Count) bool { return c.Name == name && c.N > 0 }) {
			t.Errorf("there was no %s", name)
		}
	}
}

// Five servers, with five copies of the stream, keep their promises through crashes, partitions, pauses and power failures, two at a time.
func TestFive(t *testing.T) {
	walk := faults
	walk.Down, walk.Request = 2, 40
	passes(t, settled(t, 12000, Cluster{Nodes: 5, Replicas: 5, SyncAlways: true, Power: 0.5}, walk, *runs))
}

// calmly gives an operator's requests a chance between those of clients, and lets time pass.
var calmly = strategy.Walk{Deliver: 1500, Wait: 300, Request: 60, Steps: 8000}

// All that operators ask for happens, and the servers keep their promises.
func TestOperations(t *testing.T) {
	r := settled(t, 20000, Cluster{Nodes: 5, StepDowns: 3, MetaStepDowns: 20, Moves: 2, Removals: 2, Consume: true, Sockets: true}, calmly, *runs)
	passes(t, r)
	happened(t, r, EventStepDown, EventMetaStepDown, EventMove, EventRemoved, EventDelivered, EventTaken, EventProgress)
}
