package strategy_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// holding is a scenario that holds every message to node 1 until the strategy has no choice left, a few times in a run.
type holding struct{}

func (holding) Name() string                                { return "holding" }
func (holding) Fit(lockstep.Info) (*lockstep.Budget, error) { return nil, nil }
func (holding) New(lockstep.Info) lockstep.Director         { return &waiting{} }

type waiting struct {
	held     []trace.ID
	released int
}

func (w *waiting) Reset(*rand.Rand) { w.held, w.released = w.held[:0], 0 }
func (w *waiting) Report() (string, []lockstep.Count) {
	return "", []lockstep.Count{{Name: "released", N: w.released}}
}
func (w *waiting) End(*lockstep.Run, *lockstep.Control) {}

func (w *waiting) Observe(run *lockstep.Run, hand *lockstep.Control) {
	for _, m := range run.Sent() {
		if m.To == 1 && run.IsFree(m.ID) {
			hand.Hold(m.ID)
			w.held = append(w.held, m.ID)
		}
	}
}

func (w *waiting) Idle(_ *lockstep.Run, hand *lockstep.Control) bool {
	if len(w.held) == 0 || w.released == 3 {
		return false
	}
	w.released++
	for _, id := range w.held {
		hand.Release(id)
	}
	w.held = w.held[:0]
	return true
}

// TestIdle checks that strategies continue after a scenario has made new choices possible, and that such runs can be
// repeated. Runs of strategies that learn from run to run are repeated by their steps.
func TestIdle(t *testing.T) {
	tier.NotShort(t)
	for _, k := range strategy.All() {
		plan := lockstep.Plan{
			System:    smr.Cluster{Nodes: 3, Requests: 2},
			Strategy:  k.Default,
			Scenario:  holding{},
			Spec:      alwaysFails{},
			Runs:      100,
			KeepGoing: true,
			Keep:      100,
		}
		result := enginetest.Explore(t, plan)
		for _, f := range result.Failures {
			again, err := replay.Run(t.Context(), plan, f.Trace)
			if f.Flaky != "" || err != nil || again.Difference != "" || again.Trace.Outcome.Verdict != trace.Fail {
				t.Fatalf("%s: run %d: %s %+v %v", k.Name, f.Run, f.Flaky, again, err)
			}
		}
		if len(result.Failures) != result.Runs {
			t.Errorf("%s: %d of %d runs were recorded", k.Name, len(result.Failures), result.Runs)
		}
		if result.Effects[0].N == 0 {
			t.Errorf("%s: nothing was ever released", k.Name)
		}
	}
}

// TestSystematicAfterIdle counts orders with a scenario that releases a message only when no other choice is left.
// There are two messages to one node and a held one to node 1: the two come first, in either order.
func TestSystematicAfterIdle(t *testing.T) {
	p := chain(1, 1, 1)
	p.at = []lockstep.Node{2, 2, 1}
	result := enginetest.Explore(
		t,
		lockstep.Plan{
			System:   p,
			Scenario: holding{},
			Strategy: strategy.Systematic{Steps: 10, Delays: strategy.Unbounded},
		},
	)
	if result.Reached != "complete to this bound: 2 executions, for the scenario holding, with one seed" ||
		result.Effects[0].N != 2 {
		t.Errorf("%s, %v", result.Reached, result.Effects)
	}
	// Twice: a message caused by the held one is held again.
	p = poset{before: [][]int{nil, nil, {1}}, at: []lockstep.Node{2, 1, 1}}
	result = enginetest.Explore(
		t,
		lockstep.Plan{
			System:   p,
			Scenario: holding{},
			Strategy: strategy.Systematic{Steps: 10, Delays: strategy.Unbounded, Losses: 1},
		},
	)
	if !strings.HasPrefix(result.Reached, "complete to this bound: ") {
		t.Error(result.Reached)
	}
}
