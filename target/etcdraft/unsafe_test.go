package etcdraft_test

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/v35"
	"github.com/lockstep-go/lockstep/trace"
)

// jepsen is a test as in Examples 3.3 and 4.21 of "Why Is Random Testing Effective for Partition Tolerance Bugs?": a
// balanced partition and two operations under it.
var jepsen = strategy.Partition{Criterion: strategy.MinorityIsolation, Balanced: true, Stages: 1, During: 2, Steps: 80}

// TestUnsafeReads finds that reads from a node's own replica are not linearizable. With ReadIndex and otherwise the
// same options they are.
func TestUnsafeReads(t *testing.T) {
	base := etcdraft.Cluster{Nodes: 5, Clients: 3, Keys: 1, Mix: kv.Binary}
	for _, version := range []func(etcdraft.Cluster) lockstep.System{
		func(c etcdraft.Cluster) lockstep.System { return c },
		func(c etcdraft.Cluster) lockstep.System { return v35.Cluster(c) },
	} {
		for reads, want := range map[etcdraft.ReadMode]trace.Verdict{etcdraft.Local: trace.Fail,
			etcdraft.Leader: trace.Fail, etcdraft.ReadIndex: trace.Pass} {
			c := base
			c.Reads = reads
			r, err := lockstep.Explore(
				context.Background(),
				lockstep.Plan{
					System:   version(c),
					Strategy: jepsen,
					Spec:     etcdraft.Everything,
					Seed:     1,
					Runs:     600,
					Workers:  1,
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			if f := r.First(); r.Verdict() != want || f != nil && (f.Finding.Property != "linearizability" ||
				f.Flaky != "") {
				t.Errorf("reads=%v: %v, %v", reads, r.Verdicts, f)
			}
		}
	}
}

// TestRoles isolates the current leader. No other node has a role of that name.
func TestRoles(t *testing.T) {
	s := strategy.Partition{Criterion: strategy.MinorityIsolation, Role: raftspec.BecameLeader, Stages: 2, Steps: 80}
	leads := map[lockstep.Node]int{}
	r, err := lockstep.Explore(
		context.Background(),
		lockstep.Plan{
			System:   etcdraft.Cluster{Nodes: 5},
			Strategy: s,
			Spec:     cutOff(leads),
			Seed:     1,
			Runs:     60,
			Workers:  1,
		},
	)
	if err != nil || r.First() != nil {
		t.Fatal(r.First(), err)
	}
	if len(leads) < 4 {
		t.Errorf("only some nodes were cut off as leaders: %v", leads)
	}
}

// cutOff is a spec that a leader with a majority on its side of a cut violates.
type cutOff map[lockstep.Node]int

func (c cutOff) Properties() []string               { return []string{"cut off"} }
func (c cutOff) New(lockstep.Info) lockstep.Monitor { return c }
func (c cutOff) Reset()                             {}
func (c cutOff) Step(run *lockstep.Run) *lockstep.Finding {
	if run.Last().Kind != trace.Cut {
		return nil
	}
	for n := range run.Playing(raftspec.BecameLeader).All() {
		c[n]++
		if run.Cut(n).Len() < 3 {
			return &lockstep.Finding{Property: "cut off", Text: run.Last().String()}
		}
	}
	return nil
}
func (c cutOff) End(*lockstep.Run) *lockstep.Finding      { return nil }
func (cutOff) EventsOnly() bool                           { return false }
func (c cutOff) Conclude(bool) (none lockstep.Conclusion) { return none }
