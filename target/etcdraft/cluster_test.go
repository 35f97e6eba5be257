package etcdraft_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/option"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/v35"
	"github.com/lockstep-go/lockstep/trace"
)

func TestRefusedOptions(t *testing.T) {
	for _, c := range []struct{ options, want string }{
		{"nodes=10", "nodes is 10, allowed are 1..9"},
		{"nodes=-1", "nodes is -1, allowed are 1..9"},
		{"nodes=3,voters=4", "voters is 4, allowed are 1..3"},
		{"election=1", "election is 1, allowed are 2..1000"},
		{"election=3,heartbeat=3", "heartbeat is 3, allowed are 1..2"},
		{"max-inflight=-1", "max-inflight is -1"},
		{"max-size-per-msg=-1", "max-size-per-msg is -1"},
		{"compact=-1", "compact is -1"},
		{"clients=17", "clients is 17, allowed are 0..16"},
		{"requests=-1", "requests is -1"},
		{"keys=9", "keys is 9, allowed are 1..8"},
		{"changes=-1", "changes is -1"},
		{"transfers=-1", "transfers is -1"},
		{"delay=2", "messages take up to 2 ticks, so no election may succeed with election=3; it must be at least 8"},
		{"reads=lease", "reads=lease needs check-quorum=true"},
		{"reads=quorum", "the value must be one of index, lease, local, leader"},
		{"mix=even", "the mix must be mixed, binary, or weights"},
	} {
		var cluster etcdraft.Cluster
		err := option.SetAll(&cluster, strings.Split(c.options, ","))
		if err == nil {
			_, err = cluster.Describe()
			if _, deployErr := cluster.Deploy(context.Background(),
				&lockstep.Env{}); (deployErr == nil) != (err == nil) {
				t.Errorf("%s: Describe says %v, Deploy says %v", c.options, err, deployErr)
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want one with %q", c.options, err, c.want)
		}
	}
	if _, err := (v35.Cluster{Async: true}).Describe(); err == nil ||
		!strings.Contains(err.Error(), "etcdraft35 has no asynchronous storage writes") {
		t.Errorf("asynchronous writes on v3.5: %v", err)
	}
}

// TestOptionsRoundTrip recreates a cluster from the options in its traces.
func TestOptionsRoundTrip(t *testing.T) {
	for _, c := range []etcdraft.Cluster{{}, {Reads: etcdraft.Leader, Mix: kv.Binary},
		{Nodes: 5, Voters: 3, PreVote: true, CheckQuorum: true, Reads: etcdraft.Lease, Changes: 3, Async: true},
		{Clients: etcdraft.None, MaxInflight: 2, MaxSizePerMsg: 100, Compact: 3, Layers: true, NoForward: true,
			Transfers: 1, Delay: 1, Election: 9, Heartbeat: 2}} {
		info, err := c.Describe()
		if err != nil {
			t.Fatal(err)
		}
		var again etcdraft.Cluster
		for k, v := range info.Options {
			if err := option.Set(&again, k, v); err != nil {
				t.Fatal(err)
			}
		}
		info2, err := again.Describe()
		if err != nil || fmt.Sprint(info) != fmt.Sprint(info2) {
			t.Errorf("%+v became %+v (%v)", info, info2, err)
		}
	}
}

// TestLease demonstrates the library's warning: lease reads are stale when clocks drift.
func TestLease(t *testing.T) {
	plan := lockstep.Plan{System: etcdraft.Cluster{CheckQuorum: true, Reads: etcdraft.Lease, Keys: 1, Clients: 3},
		Strategy: strategy.Walk{Deliver: 10, Drop: 1, Timer: 6, Request: 3, Cut: 1, Heal: 1}, Spec: etcdraft.Everything,
		Seed: 1, Runs: 5000, Steps: 300, Workers: 1}
	r, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	f := r.First()
	if f == nil || f.Finding.Property != "linearizability" {
		t.Fatalf("lease reads: %+v", f)
	}
	if len(f.Trace.Pictures) != 1 {
		t.Error("the finding has no picture")
	}
	t.Logf("run %d: %s", f.Run, f.Finding)
	plan.System, plan.Runs = etcdraft.Cluster{CheckQuorum: true, Keys: 1, Clients: 3}, f.Run+200
	if r, err = lockstep.Explore(context.Background(), plan); err != nil || r.Verdict() != trace.Pass {
		t.Errorf("the same with ReadIndex: %v %v", r.First(), err)
	}
}

// TestReach shows that runs cover the risky states: every kind of event and every kind of crash occurs, for both
// versions.
func TestReach(t *testing.T) {
	c := etcdraft.Cluster{Nodes: 5, Voters: 3, Changes: 6, Transfers: 3, Compact: 3, PreVote: true}
	for _, sys := range []lockstep.System{c, v35.Cluster(c)} {
		seen := map[string]int{}
		r, err := lockstep.Explore(context.Background(),
			lockstep.Plan{System: sys, Strategy: rough, Spec: tally(seen), Seed: 1, Runs: 500, Steps: 300, Workers: 1})
		if err != nil || r.First() != nil {
			t.Fatal(r.First(), err)
		}
		for _, want := range []string{"leader", "candidate", "pre-candidate", "follower", "append", "commit", "apply",
			"install", "restart", "call", "return",
			"transfer leadership", "add learner", "remove", "(joint)", "leave joint", " 0 of 2 writes kept",
			" 1 of 2 writes kept", " 2 of 2 writes kept",
			"snapshot kept", "snapshot lost", "0 of 1 writes kept", "while handling a tick", "while handling message",
			"truncate", "crash"} {
			if seen[want] == 0 {
				t.Errorf("%T: never seen: %s", sys, want)
			}
		}
		t.Logf("%T %v", sys, seen)
	}
}

// Clients retry until they are answered. Under every strategy of order and time, most of the eight operations of a
// run therefore complete.
func TestClientsAreAnswered(t *testing.T) {
	const runs = 100
	for text, want := range map[string]float64{"pctcp:steps=1000": 7.9, "pctcp:fair=true,steps=1000": 7.9,
		"pos:steps=1000": 7.5, "delay:steps=1000": 7.9, "walk:steps=1000": 7.9} {
		s, err := strategy.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		if _, err := lockstep.Explore(t.Context(), lockstep.Plan{System: etcdraft.Cluster{}, Strategy: s,
			Spec: tally(seen), Seed: 1, Runs: runs, Workers: 1}); err != nil {
			t.Fatal(err)
		}
		if got := float64(seen["return"]) / runs; got < want {
			t.Errorf("%s: %.2f of 8 operations a run are answered, want %.1f", text, got, want)
		} else {
			t.Logf("%s: %.2f of 8", text, got)
		}
	}
}

// tally counts events by their text.
type tally map[string]int

func (t tally) Properties() []string                     { return nil }
func (t tally) New(lockstep.Info) lockstep.Monitor       { return t }
func (t tally) Reset()                                   {}
func (t tally) End(*lockstep.Run) (f *lockstep.Finding)  { return nil }
func (tally) EventsOnly() bool                           { return false }
func (t tally) Conclude(bool) (none lockstep.Conclusion) { return none }

func (t tally) Step(run *lockstep.Run) *lockstep.Finding {
	for _, e := range run.Events() {
		t[e.Type]++
		switch v := e.Value.(type) {
		case *etcdraft.Asked:
			t.text(v.String(), "transfer leadership", "add learner", "remove", "(joint)", "leave joint")
		case *etcdraft.Crashed:
			text := v.String()
			t.text(text, " 0 of 2 writes kept", " 1 of 2 writes kept", " 2 of 2 writes kept", "0 of 1 writes kept",
				"while handling a tick")
			if strings.Contains(text, "->") {
				t["while handling message"]++
			}
			for _, end := range []string{"kept", "lost"} {
				if strings.Contains(text, "snapshot") && strings.HasSuffix(text, end) {
					t["snapshot "+end]++
				}
			}
		case *raftspec.Appended:
			if v.Entries[0].Index <= v.Last {
				t["truncate"]++
			}
		}
	}
	return nil
}

func (t tally) text(text string, words ...string) {
	for _, w := range words {
		if strings.Contains(text, w) {
			t[w]++
		}
	}
}

func ExampleCluster() {
	r, err := lockstep.Explore(context.Background(), lockstep.Plan{
		System:   etcdraft.Cluster{Nodes: 3, Requests: 4},
		Strategy: strategy.Walk{Deliver: 10, Drop: 1, Timer: 1, Request: 1, Steps: 200},
		Spec:     etcdraft.Everything,
		Runs:     100,
	})
	fmt.Println(r.Target, r.Runs, r.Verdict(), err)
	// Output: etcdraft 100 pass <nil>
}

func ExampleCluster_Describe() {
	info, err := etcdraft.Cluster{PreVote: true}.Describe()
	fmt.Println(info.Name, info.Nodes, info.Rounds, err)
	_, err = etcdraft.Cluster{Nodes: 12}.Describe()
	fmt.Println(err)
	// Output:
	// etcdraft 3 [PreVote PreVoteResp Vote VoteResp App AppResp Commit CommitResp] <nil>
	// etcdraft: nodes is 12, allowed are 1..9
}
