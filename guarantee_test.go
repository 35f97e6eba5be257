package lockstep_test

import (
	"math"
	"testing"

	"github.com/lockstep-go/lockstep"
)

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
