//go:build lockstep_overlay

package nats

import (
	"os"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// passes fails where a campaign found something, or where one of its properties was never judged.
func passes(t *testing.T, r *lockstep.Result) {
	t.Helper()
	if f := r.First(); f != nil {
		t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
	if r.Verdict() != trace.Pass {
		t.Error(r.Verdict(), r.Reasons)
	}
	for _, j := range r.Judged {
		if j.N == 0 {
			t.Errorf("%s was never judged", j.Name)
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

// Keys are deleted and purged, the stream is purged, and messages are deleted, through crashes, partitions, pauses and power failures.
func TestDeletions(t *testing.T) {
	walk := faults
	walk.Request = 150
	deletes := Cluster{SyncAlways: true, Power: 0.5, Clients: 4, Requests: 20, Mix: kv.Mix{Put: 4, Cas: 2, Delete: 2}, Purges: 20, Erasures: 40}
	for _, purge := range []bool{false, true} {
		deletes.Purge = purge
		r := campaign(t, deletes, walk, *runs)
		passes(t, r)
		happened(t, r, EventDropping, EventDropped)
	}
}

// A mirror, and a stream with sources, follow the stream through crashes, partitions, pauses and power failures, and when their leaders step down.
func TestFollowers(t *testing.T) {
	walk := faults
	walk.Request = 150
	r := settled(t, 12000, Cluster{SyncAlways: true, Power: 0.5, Clients: 4, Requests: 20, StepDowns: 4, Mirror: true, Sources: true}, walk, *runs)
	passes(t, r)
	happened(t, r, EventMirror, EventSources, EventFollower, EventFell)
}

// everything is what a cluster can be asked for and suffer.
func everything() (Cluster, strategy.Walk) {
	walk := faults
	walk.Request, walk.Steps = 60, 8000
	return Cluster{Nodes: 5, Power: 0.5, Split: 0.1, StepDowns: 2, MetaStepDowns: 20, Moves: 2, Removals: 2, Consume: true, Sockets: true}, walk
}

// The same through crashes, partitions, pauses and power failures, where servers sync what they acknowledge.
func TestOperationsInFaults(t *testing.T) {
	cluster, walk := everything()
	cluster.SyncAlways = true
	r := settled(t, 20000, cluster, walk, *runs)
	passes(t, r)
	happened(t, r, EventRemoved, EventDelivered, EventTaken, EventProgress)
}

// Runs in which everything is on are the same in two processes, byte for byte.
func TestExactlyEverything(t *testing.T) {
	if os.Getenv(manyProcesses) == "" {
		t.Setenv(manyProcesses, "2")
	}
	cluster, walk := everything()
	cluster.Mirror, cluster.Sources = true, true
	same(t, lockstep.Plan{System: cluster, Strategy: walk, Spec: Everything, Seed: 5}, 4)
}
