package tendermint

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
)

// With the overlay every run is deterministic. Without it the runtime decides the order of goroutines, and of events
// that nodes emit at the same instant. The test logs the share of reproducible runs, which may be zero.
func TestRepetition(t *testing.T) {
	for _, s := range []lockstep.Strategy{strategy.Walk{Deliver: 20, Wait: 2, Steps: 300},
		strategy.Walk{Deliver: 40, Wait: 4, Drop: 1, Crash: 1, Restart: 2, Steps: 300}} {
		r, err := bubble.Repetition(t.Context(), lockstep.Plan{System: Cluster{}, Strategy: s, Spec: Safety, Seed: 7},
			8)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d of %d, the first that differs is %d", s, r.Same, r.Of, r.First)
		if bubble.Overlay && r.Same < r.Of {
			t.Errorf("%s: %d of %d runs repeated", s, r.Same, r.Of)
		}
	}
}
