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

// TestTagsOrLayers compares the two ways in which lock-step strategies see rounds: it
// counts the runs of 500 that find a fault, and the elections of a run without one. The
// table is that of the documentation.
func TestTagsOrLayers(t *testing.T) {
	faults := []struct {
		name string
		wrap func(*faulty) raftlib.Node
	}{
		{"none", func(f *faulty) raftlib.Node { return f }},
		{"read without asking", func(f *faulty) raftlib.Node { return &staleRead{faulty: f} }},
		{"deliver to the wrong node", func(f *faulty) raftlib.Node { return wrongNode{f} }},
		{"apply before commit", func(f *faulty) raftlib.Node { return &earlyApply{faulty: f} }},
		{"apply twice", func(f *faulty) raftlib.Node { return applyTwice{f} }},
	}
	for _, s := range []lockstep.Strategy{strategy.Uniform{Isolations: 8, Rounds: 48}, strategy.Lossy{Rounds: 48, Loss: 0.2}} {
		for _, layers := range []bool{false, true} {
			for _, f := range faults {
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
