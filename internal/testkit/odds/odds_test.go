package odds_test

import (
	"math"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/odds"
)

// TestFits computes the exact probability of a false finding, and the power against other probabilities.
func TestFits(t *testing.T) {
	for _, n := range []int{1, 10, 100, 4000} {
		for _, p := range []float64{0, 0.001, 0.04, 0.5, 0.9, 1} {
			if wrong := refused(n, p, p); wrong > 1e-13 {
				t.Errorf("%d draws with probability %v are refused with probability %g", n, p, wrong)
			}
		}
	}
	for _, c := range []struct{ p, truth float64 }{{0.5, 0.7}, {0.1, 0.2}, {0.01, 0.04}} {
		if power := refused(4000, c.p, c.truth); power < 1-1e-3 {
			t.Errorf("probability %v is taken for %v: refused with probability %g only", c.truth, c.p, power)
		}
	}
}

// refused is the probability that n draws with probability truth do not fit p.
func refused(n int, p, truth float64) (sum float64) {
	all, _ := math.Lgamma(float64(n + 1))
	for hits := range n + 1 {
		if odds.Fits(hits, n, p) {
			continue
		}
		a, _ := math.Lgamma(float64(hits + 1))
		b, _ := math.Lgamma(float64(n - hits + 1))
		sum += math.Exp(all-a-b) * math.Pow(truth, float64(hits)) * math.Pow(1-truth, float64(n-hits))
	}
	return sum
}

func TestAtLeast(t *testing.T) {
	if !odds.AtLeast(900, 1000, 0.5) || !odds.AtLeast(480, 1000, 0.5) || odds.AtLeast(300, 1000, 0.5) {
		t.Error("480 and 900 of 1000 may have probability 0.5 or more, 300 may not")
	}
}
