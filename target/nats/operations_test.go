//go:build lockstep_overlay

package nats

import (
	"os"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// passes fails if a campaign found something, or never checked one of its properties.
func passes(t *testing.T, r *lockstep.Result) {
	t.Helper()
	if f := r.First(); f != nil {
		t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
	if r.Verdict() != trace.Pass {
		t.Error(r.Verdict(), r.Reasons)
	}
	for _, j := range r.Checked {
		if j.N == 0 {
			t.Errorf("%s was never checked", j.Name)
		}
	}
}

// happened fails if one of these types of event did not occur.
func happened(t *testing.T, r *lockstep.Result, types ...string) {
	t.Helper()
	for _, name := range types {
		if !slices.ContainsFunc(r.Events, func(c lockstep.Count) bool { return c.Name == name && c.N > 0 }) {
			t.Errorf("there was no %s", name)
		}
	}
}

// Five servers, with five replicas of the stream, satisfy all properties through crashes, partitions, pauses and
// power failures, two at a time.
func TestFive(t *testing.T) {
	walk := faults
	walk.Down, walk.Request = 2, 40
	passes(t, settled(t, 12000, Cluster{Nodes: 5, Replicas: 5, SyncAlways: true, Power: 0.5}, walk, *runs))
}

// calmly interleaves an operator's requests with those of clients, and lets time pass.
var calmly = strategy.Walk{Deliver: 1500, Wait: 300, Request: 60, Steps: 8000}

// All requests of operators take effect, and the servers satisfy all properties.
func TestOperations(t *testing.T) {
	r := settled(t, 20000,
		Cluster{Nodes: 5, StepDowns: 3, MetaStepDowns: 20, Moves: 2, Removals: 2, Consume: true, Sockets: true}, calmly,
		*runs)
	passes(t, r)
	happened(t, r, EventStepDown, EventMetaStepDown, EventMove, EventRemoved, EventDelivered, EventTaken, EventProgress)
}

// Clients delete and purge keys, and operators purge the stream and delete messages, through crashes, partitions,
// pauses and power failures.
func TestDeletions(t *testing.T) {
	walk := faults
	walk.Request = 150
	deletes := Cluster{
		SyncAlways: true,
		Power:      0.5,
		Clients:    4,
		Requests:   20,
		Mix:        kv.Mix{Put: 4, Cas: 2, Delete: 2},
		Purges:     20,
		Erasures:   40,
	}
	for _, purge := range []bool{false, true} {
		deletes.Purge = purge
		r := campaign(t, deletes, walk, *runs)
		passes(t, r)
		happened(t, r, EventDropping, EventDropped)
	}
}

// A mirror, and a stream with sources, follow the stream through crashes, partitions, pauses and power failures, and
// when their leaders step down.
func TestFollowers(t *testing.T) {
	walk := faults
	walk.Request = 150
	r := settled(t, 12000,
		Cluster{SyncAlways: true, Power: 0.5, Clients: 4, Requests: 20, StepDowns: 4, Mirror: true, Sources: true},
		walk, *runs)
	passes(t, r)
	happened(t, r, EventMirror, EventSources, EventFollower, EventFell)
}

// everything is a cluster with all requests and faults.
func everything() (Cluster, strategy.Walk) {
	walk := faults
	walk.Request, walk.Steps = 60, 8000
	return Cluster{Nodes: 5, Power: 0.5, Split: 0.1, StepDowns: 2, MetaStepDowns: 20, Moves: 2, Removals: 2,
		Consume: true, Sockets: true}, walk
}

// The same through crashes, partitions, pauses and power failures, with servers that sync acknowledged writes.
func TestOperationsInFaults(t *testing.T) {
	cluster, walk := everything()
	cluster.SyncAlways = true
	r := settled(t, 20000, cluster, walk, *runs)
	passes(t, r)
	happened(t, r, EventRemoved, EventDelivered, EventTaken, EventProgress)
}

// Runs with all options are the same in two processes, byte for byte.
func TestExactlyEverything(t *testing.T) {
	if os.Getenv(manyProcesses) == "" {
		t.Setenv(manyProcesses, "2")
	}
	cluster, walk := everything()
	cluster.Mirror, cluster.Sources = true, true
	same(t, lockstep.Plan{System: cluster, Strategy: walk, Spec: Everything, Seed: 5}, tier.Pick(2, 4))
}
