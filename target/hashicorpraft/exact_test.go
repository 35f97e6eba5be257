//go:build lockstep_overlay

package hashicorpraft

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/spec"
)

// With the library's own TCP transport nodes elect a leader, requests are answered despite faults, nothing is left
// behind, and runs are deterministic byte for byte.
func TestTCP(t *testing.T) {
	answered := 0
	count := spec.OnEvent(
		"answered",
		spec.EventReturn,
		func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding {
			answered++
			return nil
		},
	)
	for _, s := range strategies() {
		answered = 0
		plan := lockstep.Plan{
			System:   Cluster{TCP: true},
			Strategy: s,
			Spec:     spec.All(Everything, count),
			Runs:     30,
			Settle:   300,
			Seed:     2,
		}
		result := enginetest.Explore(t, plan)
		if f := result.First(); f != nil {
			t.Errorf("%s: %s\n%s", s, f.Finding, f.Finding.Stack)
		}
		r, err := bubble.Repetition(t.Context(), plan, 30)
		if err != nil || r.Same != r.Of {
			t.Errorf("%s: %d of %d runs repeated, %v", s, r.Same, r.Of, err)
		}
		t.Logf("%s: %d answers, %v, %d messages; %d of %d repeated", s, answered, result.Verdicts, result.Messages,
			r.Same, r.Of)
	}
}
