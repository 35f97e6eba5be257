package etcdraft_test

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/v37"
	"github.com/lockstep-go/lockstep/trace"
)

// Each of the causes is found where a node forgets its vote or does not keep what it acknowledges, and never in the
// library as it is, with changes of members, crashes and losses.
func TestCauses(t *testing.T) {
	changing := etcdraft.Cluster{Nodes: 5, Voters: 3, Changes: 6, PreVote: true}
	small := etcdraft.Cluster{Requests: 3, Keys: 1, Election: 3}
	for name, c := range map[string]struct {
		system etcdraft.Cluster
		want   string
	}{
		"forgets its vote":   {with(small, func(f *faulty) raftlib.Node { return forgetVote{f} }), "one-vote"},
		"forgets its term":   {with(small, func(f *faulty) raftlib.Node { return forgetTerm{f} }), "one-vote"},
		"loses entries":      {with(small, func(f *faulty) raftlib.Node { return loseTail{f} }), "voters-commit"},
		"changes of members": {changing.With(v37.Library{}), ""},
		"small":              {small.With(v37.Library{}), ""},
	} {
		plan := lockstep.Plan{System: c.system, Strategy: rough, Spec: etcdraft.Causes, Seed: 1, Steps: 300,
			Runs: 20_000, Workers: 1}
		if c.want == "" {
			plan.Runs = tier.Pick(200, 5000)
		}
		r, err := lockstep.Explore(context.Background(), plan)
		if err != nil {
			t.Fatal(err)
		}
		switch found := r.First(); {
		case c.want == "" && r.Verdict() != trace.Pass:
			t.Errorf("%s: %v %+v", name, r.Verdict(), found)
		case c.want == "":
			t.Logf("%s: %d runs, %v", name, r.Runs, r.Checked)
		case found == nil || found.Finding.Property != c.want:
			t.Errorf("%s: in %d runs %+v, want %s", name, r.Runs, found, c.want)
		}
	}
}
