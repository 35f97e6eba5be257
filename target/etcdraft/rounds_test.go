package etcdraft_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/page"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// compared are the faults in the tables that compare strategies, including the case without a fault.
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

// TestDefaults compares strategies with their defaults, and two with an option. The page shows the runs of 500 that
// find a fault, and the findings by step.
func TestDefaults(t *testing.T) {
	page.Section(t, "../../docs/evidence/default-strategies.md", "findings", func(w io.Writer) error {
		var byRun, byStep strings.Builder
		for _, text := range []string{"uniform", "uniform:rounds=48", "lossy", "walk", "baseline", "pctcp",
			"pctcp:fair=true", "pos", "queues", "delay", "partition"} {
			defaults(t, text, &byRun, &byStep)
		}
		faults, rule := "", ""
		for _, f := range compared[1:] {
			faults, rule = faults+" "+f.name+" |", rule+"--:|"
		}
		fmt.Fprintf(w, "\n| strategy | steps | elections | no fault |%s\n|---|--:|--:|--:|%s\n%s", faults, rule,
			byRun.String())
		_, err := fmt.Fprintf(w, "\nThe same as findings in 10,000 steps:\n\n| strategy |%s\n|---|%s\n%s\n", faults,
			rule, byStep.String())
		return err
	})
}

// defaults writes a strategy's lines of both tables.
func defaults(t *testing.T, text string, byRun, byStep *strings.Builder) {
	t.Helper()
	s, err := strategy.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(byRun, "| `%s` |", text)
	fmt.Fprintf(byStep, "| `%s` |", text)
	for _, f := range compared {
		r, err := lockstep.Explore(
			t.Context(),
			lockstep.Plan{System: with(etcdraft.Cluster{Requests: 3, Keys: 1}, f.wrap), Strategy: s,
				Spec: etcdraft.Everything, Seed: 1, Runs: 500, KeepGoing: true, Keep: 1},
		)
		if err != nil {
			t.Fatal(err)
		}
		failed := r.Verdicts[trace.Fail]
		if f.name == "none" {
			if failed > 0 {
				t.Errorf("%s: a finding without a fault: %s", text, r.First().Finding)
			}
			fmt.Fprintf(byRun, " %.0f | %.1f |", float64(r.Steps)/float64(r.Runs),
				float64(r.Checked[0].N)/float64(r.Runs))
		} else {
			fmt.Fprintf(byStep, " %.1f |", 10_000*float64(failed)/float64(r.Steps))
		}
		fmt.Fprintf(byRun, " %d |", failed)
	}
	fmt.Fprintln(byRun)
	fmt.Fprintln(byStep)
}

// TestTagsOrLayers compares the two ways in which lock-step strategies see rounds. The page shows the runs of 500
// that find a fault, and the elections in a run without one.
func TestTagsOrLayers(t *testing.T) {
	page.Section(t, "../../docs/evidence/etcdraft.md", "tags or layers", func(w io.Writer) error {
		fmt.Fprint(w, "\n| | uniform, tags | uniform, layers | lossy, tags | lossy, layers |\n|---|---|---|---|---|\n")
		for _, f := range compared[1:] {
			fmt.Fprintf(w, "| %s |", f.name)
			inRounds(t, f.wrap, func(r *lockstep.Result) { fmt.Fprintf(w, " %d |", r.Runs-r.Verdicts[trace.Pass]) })
			fmt.Fprintln(w)
		}
		fmt.Fprint(w, "| elections in a run without a fault |")
		inRounds(t, compared[0].wrap, func(r *lockstep.Result) {
			if f := r.First(); f != nil {
				t.Errorf("a finding without a fault: %s", f.Finding)
			}
			fmt.Fprintf(w, " %.1f |", float64(r.Checked[0].N)/float64(r.Runs))
		})
		_, err := fmt.Fprint(w, "\n\n")
		return err
	})
}

// inRounds explores a cluster with a fault in both ways, with two strategies.
func inRounds(t *testing.T, fault func(*faulty) raftlib.Node, report func(*lockstep.Result)) {
	t.Helper()
	for _, s := range []lockstep.Strategy{strategy.Uniform{Isolations: 8, Rounds: 48},
		strategy.Lossy{Rounds: 48, Loss: 0.2}} {
		for _, layers := range []bool{false, true} {
			r, err := lockstep.Explore(
				t.Context(),
				lockstep.Plan{System: with(etcdraft.Cluster{Requests: 3, Keys: 1, Layers: layers}, fault),
					Strategy: s, Spec: etcdraft.Everything, Seed: 1, Runs: 500, Steps: 200, KeepGoing: true, Keep: 1},
			)
			if err != nil {
				t.Fatal(err)
			}
			report(r)
		}
	}
}
