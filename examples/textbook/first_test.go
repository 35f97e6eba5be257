package textbook_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/strategy"
)

// In short runs by rounds, a program with its own timeouts makes little progress. With other strategies it makes much.
// docs/evidence/default-strategies.md contains the output of this test.
func TestWhichStrategyFirst(t *testing.T) {
	tier.NotShort(t)
	for _, c := range []struct {
		strategy    string
		least, most float64 // entries applied in a run
	}{
		{"uniform", 0, 2}, {"lossy", 0, 2}, {"uniform:rounds=48", 3, 20}, {"uniform:rounds=200", 20, 100},
		{"walk", 10, 100}, {"pos", 10, 100}, {"pctcp", 10, 100}, {"delay", 3, 50}, {"partition", 3, 50},
	} {
		s, err := strategy.Parse(c.strategy)
		if err != nil {
			t.Fatal(err)
		}
		result, err := lockstep.Explore(t.Context(),
			lockstep.Plan{System: byMessages(true), Strategy: s, Spec: onMajority, Runs: 100, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		runs, count := float64(result.Runs), map[string]float64{}
		for _, e := range result.Events {
			count[e.Name] = float64(e.N) / runs
		}
		t.Logf("%-20s %4.0f steps, %5.2f leaders, %5.2f entries applied", c.strategy, float64(result.Steps)/runs,
			count["leader"], count["applied"])
		if count["applied"] < c.least || count["applied"] > c.most {
			t.Errorf("%s: %.2f entries were applied in a run, want %v to %v", c.strategy, count["applied"], c.least,
				c.most)
		}
	}
}
