package etcdraft_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/locksteptest"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/v35"
	"github.com/lockstep-go/lockstep/trace"
)

// strategies are the core's strategies, long enough for 200 steps.
var strategies = []lockstep.Strategy{
	strategy.Walk{Deliver: 10, Drop: 1, Timer: 1, Request: 1},
	strategy.Baseline{Drop: 0.25},
	strategy.Lossy{Rounds: 100, Loss: 0.2},
	strategy.Uniform{Period: 4, Isolations: 12, Rounds: 100},
	rough,
}

// TestClean finds nothing in the library. With -lockstep.runs=100000 it is the campaign of the documentation.
func TestClean(t *testing.T) {
	for i, s := range strategies {
		t.Run(fmt.Sprintf("%d-%.5s", i, s), func(t *testing.T) {
			locksteptest.Run(t, lockstep.Plan{System: etcdraft.Cluster{}, Strategy: s, Spec: etcdraft.Everything,
				Seed: 1, Runs: 1000, Steps: 200, Workers: 1, AllowVacuous: true}) // liveness needs a settling stage
		})
	}
}

// TestCleanLayers does the same for the lock-step strategies by causal layers.
func TestCleanLayers(t *testing.T) {
	for _, s := range strategies[2:4] {
		t.Run(fmt.Sprintf("%.5s", s), func(t *testing.T) {
			locksteptest.Run(
				t,
				lockstep.Plan{System: etcdraft.Cluster{Layers: true}, Strategy: s, Spec: etcdraft.Everything,
					Seed: 1, Runs: 500, Steps: 200, Workers: 1, AllowVacuous: true},
			)
		})
	}
}

// TestSettled checks liveness too, with every option, under every kind of fault, for both versions. Asynchronous
// writes hold votes back because of [TestVotesBeforeWrites].
func TestSettled(t *testing.T) {
	for i, c := range []etcdraft.Cluster{
		{},
		{PreVote: true},
		{CheckQuorum: true},
		{PreVote: true, CheckQuorum: true},
		{Compact: 3},
		{MaxSizePerMsg: 1},
		{MaxInflight: 1},
		{NoForward: true},
		{Transfers: 5},
		{Delay: 2, Election: 8},
		{Nodes: 1},
		{Nodes: 2},
		{Nodes: 5, Election: 10, Heartbeat: 3},
		{Clients: 4, Keys: 3, Requests: 6},
		{Clients: etcdraft.None},
		{Nodes: 5, Voters: 3, Changes: 5, Compact: 4, Requests: 2},
		{Nodes: 5, Voters: 3, Asks: "add 4; add 5; remove 1", Atomic: true},
		{Nodes: 6, Voters: 4, Changes: 5, Transfers: 2, PreVote: true, CheckQuorum: true},
		{Async: true, HoldVotes: true},
		{Async: true, HoldVotes: true, Compact: 3, MaxSizePerMsg: 1},
		{Async: true, HoldVotes: true, PreVote: true, CheckQuorum: true},
		{Async: true, HoldVotes: true, Nodes: 5, Voters: 3, Changes: 5, Compact: 4},
	} {
		if i%3 != 0 && !tier.Full() {
			continue
		}
		settle := 2000 * max(3, c.Nodes) / 3
		for _, sys := range []lockstep.System{c, v35.Cluster(c)} {
			if _, err := sys.Describe(); c.Async && err != nil {
				continue // v3.5 has no asynchronous writes
			}
			info, _ := sys.Describe()
			t.Run(fmt.Sprintf("%d-%s", i, info.Name), func(t *testing.T) {
				// A single node has no other log to compare with, and without clients there are no answers.
				locksteptest.Run(t, lockstep.Plan{System: sys, Strategy: rough, Spec: etcdraft.Everything,
					Seed: 1, Runs: 60, Steps: 300, Settle: settle, Workers: 1, AllowVacuous: c.Nodes == 1 ||
						c.Clients == etcdraft.None})
			})
		}
	}
}

// TestChanges runs membership changes, which exercise the adapter most, with every kind of strategy. The tests in
// contract_test.go show the runs that hold-votes and atomic avoid.
func TestChanges(t *testing.T) {
	changes := etcdraft.Cluster{Nodes: 5, Voters: 3, Changes: 8, Atomic: true}
	async := changes
	async.Async, async.HoldVotes = true, true
	compact, checked := async, async
	compact.Compact = 3
	checked.PreVote, checked.CheckQuorum = true, true
	for i, c := range []etcdraft.Cluster{changes, async, compact, checked} {
		for _, name := range []string{"queues", "pos", "pctcp", "delay", "walk:drop=1,duplicate=1,crash=1,restart=2",
			"baseline",
			"lossy:rounds=100,loss=0.2", "uniform", "partition"} {
			s, err := strategy.Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(fmt.Sprintf("%d-%.5s", i, name), func(t *testing.T) {
				locksteptest.Run(
					t,
					lockstep.Plan{System: c, Strategy: s, Spec: etcdraft.Everything, Seed: 1, Runs: 30, Steps: 400,
						Settle: etcdraft.Settle, Workers: 1},
				)
			})
		}
	}
}

// TestTargets creates both targets as the command line does and checks liveness and votes in every run. It also
// recreates a target from the options in its traces.
func TestTargets(t *testing.T) {
	for _, c := range slices.Concat(etcdraft.Targets, v35.Targets) {
		for _, options := range [][]string{nil, {"nodes=5"}, {"pre-vote=true", "check-quorum=true"}} {
			sys, err := c.Build(options)
			if err != nil {
				t.Fatal(err)
			}
			r, err := lockstep.Explore(
				context.Background(),
				lockstep.Plan{
					System:   sys,
					Strategy: rough,
					Spec:     c.Spec,
					Seed:     1,
					Runs:     20,
					Steps:    200,
					Settle:   c.Settle,
				},
			)
			if err != nil || r.Verdict() != trace.Pass || r.Target != c.Name {
				t.Fatalf("%s %v: %v %v", c.Name, options, r.First(), err)
			}
			for _, p := range r.Checked {
				if slices.Contains([]string{"liveness", "one-vote", "voters-commit"}, p.Name) && p.Runs != r.Runs {
					t.Errorf("%s %v: %s was checked in %d of %d runs", c.Name, options, p.Name, p.Runs, r.Runs)
				}
			}
			if len(r.Unchecked()) != 0 {
				t.Errorf("%s %v: never checked: %q", c.Name, options, r.Unchecked())
			}
			info, _ := sys.Describe()
			if _, err := c.Rebuild(info.Options); err != nil {
				t.Error(err)
			}
		}
	}
}
