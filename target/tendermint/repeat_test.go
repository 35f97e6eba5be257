package tendermint

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
)

// With the overlay every run repeats. Without it the order of goroutines is the runtime's, and so is the order of
// events that nodes emit at one instant: the share of runs that repeat is logged, and may be none.
func TestRepetition(t *testing.T) {
	for _, s := range []lockstep.Strategy{strategy.Walk{Deliver: 20, Wait: 2, Steps: 300}, strategy.Walk{Deliver: 40, Wait: 4, Drop: 1, Crash: 1, Restart: 2, Steps: 300}} {
		r, err := bubble.Repetition(t.Context(), lockstep.Plan{System: Cluster{}, Strategy: s, Spec: Safety, Seed: 7}, 8)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d of %d, the first that differs is %d", s, r.Same, r.Of, r.First)
		if bubble.Exact && r.Same < r.Of {
			t.Errorf("%s: %d of %d runs repeated", s, r.Same, r.Of)
		}
	}
}
