package strategy_test

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// rounds is a strategy that hands the rounds of each run of another one on.
type rounds struct {
	lockstep.Strategy
	run func([]trace.Round)
}

type roundsScheduler struct {
	lockstep.RoundScheduler
	run func([]trace.Round)
}

func (r rounds) New(info lockstep.Info) lockstep.Scheduler {
	return roundsScheduler{r.Strategy.New(info).(lockstep.RoundScheduler), r.run}
}

func (r rounds) Runs(info lockstep.Info) (int, bool) { return r.Strategy.(lockstep.Finite).Runs(info) }

func (r roundsScheduler) Next(run *lockstep.Run, next *lockstep.Step) bool {
	ok := r.RoundScheduler.Next(run, next)
	if !ok {
		r.run(r.Rounds())
	}
	return ok
}

// TestEveryUniform checks that sampler=every makes every uniform execution exactly once
// and that the campaign then ends. Kernels are enumerated here by brute force: every
// sequence of sets of nodes that only shrink within a phase, with so many isolations.
func TestEveryUniform(t *testing.T) {
	u := strategy.Uniform{Period: 2, Isolations: 3, Rounds: 5, Sampler: strategy.Every}
	want := map[string]bool{}
	var grow func(kernels []lockstep.Nodes, isolations int)
	grow = func(kernels []lockstep.Nodes, isolations int) {
		if len(kernels) == u.Rounds {
			want[fmt.Sprint(kernels)] = true
			return
		}
		before := trace.AllNodes(3)
		if len(kernels)%u.Period != 0 {
			before = kernels[len(kernels)-1]
		}
		for kernel := lockstep.Nodes(0); kernel < 8; kernel++ {
			if kernel&^before == 0 && isolations+(before&^kernel).Len() <= u.Isolations {
				grow(append(kernels[:len(kernels):len(kernels)], kernel), isolations+(before&^kernel).Len())
			}
		}
	}
	grow(nil, 0)
	got := map[string]int{}
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Runs: 1_000_000, Workers: 1, Strategy: rounds{u, func(list []trace.Round) {
		kernels := make([]lockstep.Nodes, len(list))
		for i, r := range list {
			kernels[i] = r.Kernel
		}
		got[fmt.Sprint(kernels)]++
	}}}
	result := explore(t, plan)
	compare(t, "uniform executions", got, toCounts(want))
	if text := fmt.Sprintf("complete to this bound: all %d executions", len(want)); result.Reached != text || result.Runs != len(want) {
		t.Errorf("%d runs, %s, want %s", result.Runs, result.Reached, text)
	}
	plan.Runs = 10
	if text := fmt.Sprintf("made 10 of %d executions", len(want)); explore(t, plan).Reached != text {
		t.Errorf("%s, want %s", explore(t, plan).Reached, text)
	}
}

func toCounts(set map[string]bool) map[string]int {
	counts := map[string]int{}
	for s := range set {
		counts[s] = 1
	}
	return counts
}
