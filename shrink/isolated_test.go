package shrink_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// A finding shrinks with every behavior of isolated nodes.
func TestShrinkIsolated(t *testing.T) {
	for _, how := range []strategy.Isolation{strategy.Frozen, strategy.CutOff, strategy.Held} {
		s := strategy.DefaultUniform
		s.Isolated = how
		plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix, Strategy: s, Runs: 3000}
		result, err := lockstep.Explore(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		found := result.First()
		if found == nil {
			t.Errorf("isolated=%s: nothing found", how)
			continue
		}
		if _, err := shrink.Run(t.Context(), plan, found.Trace, shrink.Options{}); err != nil {
			t.Errorf("isolated=%s: %v", how, err)
		}
	}
}
