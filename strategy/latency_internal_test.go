package strategy

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/odds"
)

// TestDistributions checks how often draws are above multiples of the mean, within the margin of package odds.
func TestDistributions(t *testing.T) {
	const draws, mean = 200_000, 1000 * fractions
	for _, c := range []struct {
		law   Distribution
		above map[float64]float64
	}{
		{Constant, map[float64]float64{0.999: 1, 1: 0}},
		{Even, map[float64]float64{0.5: 0.75, 1: 0.5, 1.9: 0.05, 2: 0}},
		{Exponential, map[float64]float64{0.1: math.Exp(-0.1), 1: math.Exp(-1), 2: math.Exp(-2), 5: math.Exp(-5)}},
		{Heavy, map[float64]float64{0.499: 1, 1: 0.25, 5: 0.01, 1000: 0}},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		count := map[float64]int{}
		for range draws {
			x := c.law.draw(r, mean)
			for factor := range c.above {
				if float64(x) > factor*mean {
					count[factor]++
				}
			}
		}
		for factor, p := range c.above {
			if got := float64(count[factor]) / draws; !odds.Fits(count[factor], draws, p) {
				t.Errorf("%s: %.4f of the draws are above %g times the mean, want %.4f", c.law, got, factor, p)
			}
		}
		if c.law.draw(r, 0) != 0 {
			t.Errorf("%s: a mean of 0 gives a latency", c.law)
		}
	}
}
