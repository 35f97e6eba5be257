package strategy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// kernels is an observer that passes on the kernels of the rounds of each run.
type kernels func([]lockstep.Nodes)

func (k kernels) New(lockstep.Info) lockstep.Watcher { return &kernelWatcher{} }
func (k kernels) Collect(_ int, noted any)           { k(noted.([]lockstep.Nodes)) }

type kernelWatcher struct{ run *lockstep.Run }

func (k *kernelWatcher) Reset()                    {}
func (k *kernelWatcher) Observe(run *lockstep.Run) { k.run = run }
func (k *kernelWatcher) Noted() any {
	var list []lockstep.Nodes
	for _, r := range k.run.Rounds() {
		list = append(list, r.Kernel)
	}
	return list
}

// TestEveryUniform checks that sampler=every executes every uniform execution exactly once and that the campaign then
// ends. The test enumerates kernels by brute force: every sequence of sets of nodes that only shrink within a phase,
// with the bounded number of isolations.
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
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Runs: 1_000_000, Strategy: u,
		Observers: []lockstep.Observer{kernels(func(list []lockstep.Nodes) { got[fmt.Sprint(list)]++ })}}
	result := enginetest.Explore(t, plan)
	compare(t, "uniform executions", got, toCounts(want))
	if text := fmt.Sprintf("complete to this bound: all %d executions", len(want)); !strings.HasPrefix(result.Reached,
		text+", for the given workload") ||
		result.Runs != len(want) {
		t.Errorf("%d runs, %s, want %s", result.Runs, result.Reached, text)
	}
	plan.Runs = 10
	if text := fmt.Sprintf("made 10 of %d executions", len(want)); enginetest.Explore(t, plan).Reached != text {
		t.Errorf("%s, want %s", enginetest.Explore(t, plan).Reached, text)
	}
}

func toCounts(set map[string]bool) map[string]int {
	counts := map[string]int{}
	for s := range set {
		counts[s] = 1
	}
	return counts
}
