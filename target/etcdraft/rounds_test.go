package etcdraft_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/page"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// TestTagsOrLayers compares the two ways in which lock-step strategies see rounds: the runs of
// 500 that find a fault, and the elections in a run without one, are what the page says.
func TestTagsOrLayers(t *testing.T) {
	page.Section(t, "../../docs/etcdraft.md", "tags or layers", func(w io.Writer) error {
		fmt.Fprint(w, "\n| | uniform, tags | uniform, layers | lossy, tags | lossy, layers |\n|---|---|---|---|---|\n")
		for _, f := range []struct {
			name string
			wrap func(*faulty) raftlib.Node
		}{
			{"read without asking", func(f *faulty) raftlib.Node { return &staleRead{faulty: f} }},
			{"deliver to the wrong node", func(f *faulty) raftlib.Node { return wrongNode{f} }},
			{"apply before commit", func(f *faulty) raftlib.Node { return &earlyApply{faulty: f} }},
			{"apply twice", func(f *faulty) raftlib.Node { return applyTwice{f} }},
		} {
			fmt.Fprintf(w, "| %s |", f.name)
			inRounds(t, f.wrap, func(r *lockstep.Result) { fmt.Fprintf(w, " %d |", r.Runs-r.Verdicts[trace.Pass]) })
			fmt.Fprintln(w)
		}
		fmt.Fprint(w, "| elections in a run without a fault |")
		inRounds(t, func(f *faulty) raftlib.Node { return f }, func(r *lockstep.Result) {
			if f := r.First(); f != nil {
				t.Errorf("a finding without a fault: %s", f.Finding)
			}
			fmt.Fprintf(w, " %.1f |", float64(r.Judged[0].N)/float64(r.Runs))
		})
		_, err := fmt.Fprint(w, "\n\n")
		return err
	})
}

// inRounds explores a cluster with a fault in both ways, with two strategies.
func inRounds(t *testing.T, fault func(*faulty) raftlib.Node, tell func(*lockstep.Result)) {
	t.Helper()
	for _, s := range []lockstep.Strategy{strategy.Uniform{Isolations: 8, Rounds: 48}, strategy.Lossy{Rounds: 48, Loss: 0.2}} {
		for _, layers := range []bool{false, true} {
			r, err := lockstep.Explore(t.Context(), lockstep.Plan{System: with(etcdraft.Cluster{Requests: 3, Keys: 1, Layers: layers}, fault),
				Strategy: s, Spec: etcdraft.Everything, Seed: 1, Runs: 500, Steps: 200, KeepGoing: true, Keep: 1})
			if err != nil {
				t.Fatal(err)
			}
			tell(r)
		}
	}
}
