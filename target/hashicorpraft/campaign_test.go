package hashicorpraft

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// The strategies of the campaigns, with crashes if they support them.
func strategies() []lockstep.Strategy {
	return []lockstep.Strategy{
		strategy.Walk{Deliver: 20, Drop: 1, Wait: 10, Request: 3, Crash: 1, Restart: 2, Cut: 1, Heal: 2, Steps: 300},
		strategy.Uniform{Period: 4, Isolations: 4, Rounds: 40},
		strategy.DefaultPartition, strategy.DefaultDelay, strategy.DefaultPOS,
	}
}

// configurations are the settings of the campaigns.
var configurations = map[string]Cluster{
	"default":  {},
	"slow":     {Slow: 0.3, Requests: 6},
	"operator": {Nodes: 5, Changes: 4, Transfers: 2, Snapshots: 2, Requests: 6},
	"members":  {Nodes: 5, Changes: 4, Removals: 6, Transfers: 2, Requests: 6, Compact: 5},
	"compact":  {Compact: 3, Requests: 10, Slow: 0.1},
	"old":      {NoPreVote: true, InFlight: 1, Reads: Barrier, Batch: true},
}

// Campaigns on the library find nothing in this version.
func TestCampaigns(t *testing.T) {
	for name, c := range configurations {
		for _, s := range strategies() {
			t.Run(name+"/"+s.String(), func(t *testing.T) {
				// The settling stage is too short to check liveness.
				result := enginetest.Explore(t,
					lockstep.Plan{System: c, Strategy: s, Spec: Everything, Runs: 50, Settle: 300, Seed: 7})
				if f := result.First(); f != nil {
					t.Errorf("run %d, failed in %d of %d: %s\n%s", f.Run, f.Failed, f.Repeated, f.Finding,
						f.Finding.Stack)
				}
				t.Log(result.Verdicts, result.Reasons, result.Steps, result.Messages, result.Checked)
			})
		}
	}
}

// A node gives one vote in a term, through crashes and slow writes of the vote.
func TestOneVote(t *testing.T) {
	for _, c := range []Cluster{{}, {Slow: 0.5, NoPreVote: true}} {
		plan := lockstep.Plan{System: c, Strategy: strategies()[0], Spec: OneVote, Runs: 100, Seed: 7}
		r := enginetest.Explore(t, plan)
		if f := r.First(); f != nil || r.Checked[0].N < 300 {
			t.Errorf("%d votes, %+v", r.Checked[0].N, f)
		}
	}
}

// Without the overlay the runtime decides the order of goroutines and the choice among ready cases of a select. The
// test logs the share of reproducible runs.
func TestRepetition(t *testing.T) {
	for _, s := range strategies() {
		r, err := bubble.Repetition(t.Context(),
			lockstep.Plan{System: Cluster{}, Strategy: s, Spec: Everything, Seed: 7}, 100)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d of %d, the first that differs is %d", s, r.Same, r.Of, r.First)
		if r.Same == 0 || bubble.Overlay && r.Same < r.Of {
			t.Errorf("%s: %d of %d runs repeated", s, r.Same, r.Of)
		}
	}
}

// Every request of the operator and the clients occurs in some run: all kinds of membership changes, transfers,
// snapshots created and installed, batches, reads of both kinds.
func TestUsed(t *testing.T) {
	used := map[string]int{}
	count := spec.OnEvent(
		"members",
		raftspec.EventMembers,
		func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			if a := e.Value.(*Asked); a.Err == "" {
				word, _, _ := strings.Cut(a.Text, " ")
				used[word]++
			}
			return nil
		},
	)
	walk := strategy.Walk{Deliver: 20, Wait: 10, Request: 4, Crash: 1, Restart: 2, Cut: 1, Heal: 2, Steps: 800}
	for name, c := range map[string]Cluster{"verify": {Nodes: 5, Changes: 6, Removals: 6, Transfers: 4, Snapshots: 4,
		Compact: 3, Requests: 6},
		"barrier": {Reads: Barrier, Batch: true, Requests: 6}, "calm": {Nodes: 5, Transfers: 4, Changes: 8, Removals: 8,
			Snapshots: 4}} {
		walk := walk
		if name == "calm" {
			walk = strategy.Walk{Deliver: 20, Wait: 3, Request: 1, Steps: 800}
		}
		result := enginetest.Explore(t,
			lockstep.Plan{System: c, Strategy: walk, Spec: spec.All(Everything, count), Runs: 60, Seed: 2})
		if f := result.First(); f != nil {
			t.Errorf("%s: %s", name, f.Finding)
		}
		for _, e := range result.Events {
			if e.Name == raftspec.EventInstall || e.Name == spec.EventReturn {
				used[name+" "+e.Name] += e.N
			}
		}
	}
	t.Log(used)
	for _, want := range []string{"demote", "promote", "remove", "return", "transfer", "snapshot", "verify " +
		raftspec.EventInstall, "verify " + spec.EventReturn, "barrier " + spec.EventReturn} {
		if used[want] == 0 {
			t.Errorf("%s never took place: %v", want, used)
		}
	}
}
