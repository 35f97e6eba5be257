package lockstep_test

import (
	"math"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// Under a scenario the guarantee names it and what it excludes.
func TestGuaranteeNamesScenario(t *testing.T) {
	sc := scenario.New("no acks")
	sc.If(scenario.Round("Ack")).Named("lose acks").Then(scenario.Drop())
	for _, s := range []lockstep.Strategy{strategy.DefaultUniform, strategy.DefaultPCTCP, strategy.DefaultWalk} {
		result, err := lockstep.Explore(t.Context(),
			lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: s, Scenario: sc, Runs: 10})
		if err != nil {
			t.Fatal(err)
		}
		g := result.Guarantee
		if text := strings.Join(g.Assumes, "; "); !strings.Contains(text, "the scenario no acks comes before the strategy") ||
			!strings.Contains(text, "lose acks") {
			t.Errorf("%s: %s", s, text)
		}
		if g.Space != nil ||
			g.PerRun > 0 && !strings.Contains(g.String(), "that the scenario no acks leaves possible") {
			t.Errorf("%s: %s", s, g)
		}
	}
}

func TestGuaranteeInReverse(t *testing.T) {
	for _, p := range []float64{1e-12, 1e-6, 0.01, 0.5, 1} {
		g := lockstep.Guarantee{PerRun: p}
		for _, want := range []float64{0.01, 0.5, 0.95, 0.999} {
			n := g.Runs(want)
			if got := g.After(n); got < want && p < 1 {
				t.Errorf("p=%v: %d runs reach %v, not %v", p, n, got, want)
			}
			if n > 1 && g.After(n-1) >= want {
				t.Errorf("p=%v: %d runs are one too many for %v", p, n, want)
			}
		}
	}
	for _, bad := range []float64{0, 1, -1, 2, math.NaN()} {
		if n := (lockstep.Guarantee{PerRun: 0.1}).Runs(bad); n != 0 {
			t.Errorf("%v is no probability to reach, but %d runs reach it", bad, n)
		}
	}
	if n := (lockstep.Guarantee{PerRun: 1e-300}).Runs(0.5); n != 0 {
		t.Errorf("a hopeless bound asks for %d runs", n)
	}
}
