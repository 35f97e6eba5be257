package campaign_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/report/campaign"
)

// atMost returns the exact probability of at most k failures in n runs.
func atMost(n, k int, p float64) float64 {
	good, bad := new(big.Rat).SetFloat64(1-p), new(big.Rat).SetFloat64(p)
	sum := new(big.Rat)
	power := func(x *big.Rat, e int) *big.Rat {
		y := big.NewRat(1, 1)
		for range e {
			y.Mul(y, x)
		}
		return y
	}
	for i := 0; i <= k; i++ {
		term := new(big.Rat).SetInt(new(big.Int).Binomial(int64(n), int64(i)))
		term.Mul(term, power(bad, i)).Mul(term, power(good, n-i))
		sum.Add(sum, term)
	}
	f, _ := sum.Float64()
	return f
}

// At the bounds, this number of failures, or fewer (or more), has exactly the remaining probability.
func TestFailureRateIsExact(t *testing.T) {
	tier.NotShort(t)
	for _, n := range []int{1, 2, 5, 17, 40} {
		for k := 0; k <= n; k++ {
			for _, confidence := range []float64{0.5, 0.95, 0.999} {
				r := campaign.FailureRate(n, k, confidence)
				if k < n {
					if got := atMost(n, k, r.Upper); math.Abs(got-(1-confidence)) > 1e-9 {
						t.Errorf("%d of %d at %v: %d or fewer have probability %v at the upper bound %v", k, n,
							confidence, k, got, r.Upper)
					}
				} else if r.Upper != 1 {
					t.Errorf("all of %d: upper bound %v", n, r.Upper)
				}
				if k > 0 {
					if got := 1 - atMost(n, k-1, r.Lower); math.Abs(got-(1-confidence)) > 1e-9 {
						t.Errorf("%d of %d at %v: %d or more have probability %v at the lower bound %v", k, n,
							confidence, k, got, r.Lower)
					}
				} else if r.Lower != 0 {
					t.Errorf("none of %d: lower bound %v", n, r.Lower)
				}
			}
		}
	}
}

func TestFailureRateOfManyRuns(t *testing.T) {
	for _, n := range []int{1000, 1_000_000, 100_000_000} {
		want := -math.Expm1(math.Log(0.05) / float64(n)) // 1 - 0.05^(1/n)
		if got := campaign.FailureRate(n, 0, 0.95).Upper; math.Abs(got/want-1) > 1e-6 {
			t.Errorf("none of %d: %v, want %v", n, got, want)
		}
	}
	for _, c := range []struct{ runs, failures int }{{0, 0}, {-1, 3}} {
		if got := campaign.FailureRate(c.runs, c.failures, 0.95); got.Lower != 0 || got.Upper != 1 {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// Nothing found in 3000 runs: the probability of failure is small, but not zero.
func ExampleFailureRate() {
	r := campaign.FailureRate(3000, 0, 0.95)
	fmt.Printf("at most %.4f\n", r.Upper)
	// Output: at most 0.0010
}
