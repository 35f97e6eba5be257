package compare

import (
	"math"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// distribution returns the distribution of the total of campaigns by convolution.
func distribution(campaigns, limit int, p float64) []float64 {
	one := make([]float64, limit+2)
	left := 1.0
	for n := 1; n <= limit; n++ {
		one[n] = left * p
		left *= 1 - p
	}
	one[limit+1] = left
	total := []float64{1}
	for range campaigns {
		next := make([]float64, len(total)+limit+1)
		for a, x := range total {
			for b, y := range one {
				next[a+b] += x * y
			}
		}
		total = next
	}
	return total
}

func TestTotalUpTo(t *testing.T) {
	tier.NotShort(t)
	for _, c := range []struct{ campaigns, limit int }{{1, 1}, {1, 7}, {3, 4}, {8, 10}, {20, 30}} {
		for _, p := range []float64{1e-6, 0.001, 0.05, 0.3, 0.9} {
			sum := 0.0
			for total, x := range distribution(c.campaigns, c.limit, p) {
				sum += x
				if c.campaigns > 10 && total%23 > 0 {
					continue
				}
				if got := totalUpTo(total, c.campaigns, c.limit, p); math.Abs(got-sum) > 1e-9 {
					t.Fatalf("%d campaigns of %d runs, p=%g: up to %d is %g, want %g", c.campaigns, c.limit, p, total,
						got, sum)
				}
			}
		}
	}
}

// TestCoverage computes exactly how often the intervals contain the true probability: at least as often as they claim.
func TestCoverage(t *testing.T) {
	tier.NotShort(t)
	const confidence = 0.9
	for _, p := range []float64{0.003, 0.02, 0.11, 0.27, 0.5, 0.83, 0.99} {
		inside := 0.0
		const trials = 15
		for hits := 0; hits <= trials; hits++ {
			if i := Share(hits, trials, confidence); i.Low <= p && p <= i.High {
				below := 0.0
				if hits > 0 {
					below = binomialUpTo(hits-1, trials, p)
				}
				upTo := 1.0
				if hits < trials {
					upTo = binomialUpTo(hits, trials, p)
				}
				inside += upTo - below
			}
		}
		if inside < confidence-1e-9 {
			t.Errorf("p=%g: the interval of Clopper and Pearson holds it with probability %g", p, inside)
		}
		inside = 0
		const campaigns, limit = 3, 12
		for total, x := range distribution(campaigns, limit, p) {
			if total < campaigns {
				continue
			}
			if i := HitRate(split(total, campaigns, limit), limit, confidence); i.Low <= p && p <= i.High {
				inside += x
			}
		}
		if inside < confidence-1e-9 {
			t.Errorf("p=%g: the interval from totals holds it with probability %g", p, inside)
		}
	}
}

// split returns campaigns with a given total.
func split(total, campaigns, limit int) []int {
	first := make([]int, campaigns)
	for i := range first {
		n := min(limit+1, total-(campaigns-1-i))
		total -= n
		if n <= limit {
			first[i] = n
		}
	}
	return first
}
