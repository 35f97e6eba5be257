package etcdraft_test

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// compared are the faults of tables that compare strategies, with none among them.
var compared = []struct {
	name string
	wrap func(*faulty) raftlib.Node
}{
	{"none", func(f *faulty) raftlib.Node { return f }},
	{"read without asking", func(f *faulty) raftlib.Node { return &staleRead{faulty: f} }},
	{"deliver to the wrong node", func(f *faulty) raftlib.Node { return wrongNode{f} }},
	{"apply before commit", func(f *faulty) raftlib.Node { return &earlyApply{faulty: f} }},
	{"apply twice", func(f *faulty) raftlib.Node { return applyTwice{f} }},
}

// TestUnlessTold compares strategies as they are unless told otherwise, and pctcp with fair time:
// the runs of 500 that find a fault, and the elections and steps of a run without one. The
// table is that of docs/which-strategy-first.md.
func TestUnlessTold(t *testing.T) {
	for _, text := range []string{"uniform", "uniform:rounds=48", "lossy", "walk", "baseline", "pctcp", "pctcp:fair=true", "pos", "shadow", "delay", "partition"} {
		s, err := strategy.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range compared {
			r, err := lockstep.Explore(t.Context(), lockstep.Plan{System: with(etcdraft.Cluster{Requests: 3, Keys: 1}, f.wrap), Strategy: s,
				Spec: etcdraft.Everything, Seed: 1, Runs: 500, Workers: 1, KeepGoing: true, Keep: 1})
			if err != nil {
				t.Fatal(err)
			}
			failed := r.Verdicts[trace.Fail]
			if f.name == "none" && failed > 0 {
				t.Errorf("%s: a finding without a fault: %s", text, r.First().Finding)
			}
			if f.name != "none" && failed == 0 && text == "walk" {
				t.Errorf("%s misses the fault %s", text, f.name)
			}
			t.Logf("%-18s %-26s found in %3d of 500 runs, %.1f elections and %.0f steps a run", text, f.name, failed,
				float64(r.Judged[0].N)/500, float64(r.Steps)/500)
		}
	}
}

// TestTagsOrLayers compares the two ways in which lock-step strategies see rounds: it
// counts the runs of 500 that find a fault, and the elections of a run without one. The
// table is that of the documentation.
func TestTagsOrLayers(t *testing.T) {
	for _, s := range []lockstep.Strategy{strategy.Uniform{Isolations: 8, Rounds: 48}, strategy.Lossy{Rounds: 48, Loss: 0.2}} {
		for _, layers := range []bool{false, true} {
			for _, f := range compared {
				r, err := lockstep.Explore(context.Background(), lockstep.Plan{System: with(etcdraft.Cluster{Requests: 3, Keys: 1, Layers: layers}, f.wrap),
					Strategy: s, Spec: etcdraft.Everything, Seed: 1, Runs: 500, Steps: 200, Workers: 1, KeepGoing: true, Keep: 1})
				if err != nil {
					t.Fatal(err)
				}
				failed := r.Runs - r.Verdicts[trace.Pass]
				if f.name == "none" && failed > 0 {
					t.Errorf("a finding without a fault: %s", r.First().Finding)
				}
				t.Logf("%-45s layers=%-5v %-26s found in %3d of 500 runs, %.1f elections a run", s, layers, f.name, failed, float64(r.Judged[0].N)/500)
			}
		}
	}
}
