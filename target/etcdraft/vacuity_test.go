package etcdraft_test

import (
	"context"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
)

// TestUnchecked checks that every campaign reports the properties that it could not have seen violated, whatever the
// library did.
func TestUnchecked(t *testing.T) {
	const (
		election, appendOnly, matching, complete, machine = "election-safety", "leader-append-only", "log-matching",
			"leader-completeness", "state-machine-safety"
		durable, agree, linear, live = "durability", "log-agreement", "linearizability", "liveness"
		campaign, commit, vote       = "voters-campaign", "voters-commit", "one-vote"
	)
	for _, c := range []struct {
		name    string
		cluster etcdraft.Cluster
		walk    strategy.Walk
		settle  int
		want    []string
	}{
		{"everything", etcdraft.Cluster{}, rough, etcdraft.Settle, nil},
		{"no settling stage", etcdraft.Cluster{}, rough, 0, []string{agree, live}},
		{"no clients", etcdraft.Cluster{Clients: etcdraft.None}, rough, 0, []string{durable, agree, live, linear}},
		{"no requests", etcdraft.Cluster{}, strategy.Walk{Deliver: 10, Timer: 1}, 0,
			[]string{durable, agree, live, linear}},
		{"one node, one log", etcdraft.Cluster{Nodes: 1}, strategy.Walk{Timer: 1, Request: 1}, 0,
			[]string{matching, complete, agree, live, vote}},
		{"no answers", etcdraft.Cluster{}, strategy.Walk{Request: 1}, 0,
			[]string{election, appendOnly, matching, complete, machine, durable, agree, live, campaign, commit,
				linear, vote}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := lockstep.Explore(
				context.Background(),
				lockstep.Plan{System: c.cluster, Strategy: c.walk, Spec: etcdraft.Everything,
					Seed: 1, Runs: 30, Steps: 300, Settle: c.settle, Workers: 1},
			)
			if err != nil || r.First() != nil {
				t.Fatal(r.First(), err)
			}
			if got := r.Unchecked(); !slices.Equal(got, c.want) {
				t.Errorf("never checked: %q, want %q (%v)", got, c.want, r.Checked)
			}
		})
	}
}
