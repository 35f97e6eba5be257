package exact_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/lockstep-go/lockstep/internal/exact"
)

// atLeast returns the probability of this number of hits or more.
func atLeast(hits, trials int, p float64) float64 {
	sum := 0.0
	for k := hits; k <= trials; k++ {
		choose := 1.0
		for i := range k {
			choose *= float64(trials-i) / float64(i+1)
		}
		sum += choose * math.Pow(p, float64(k)) * math.Pow(1-p, float64(trials-k))
	}
	return sum
}

// At each limit the tail has exactly the requested probability.
func TestLimits(t *testing.T) {
	for trials := 1; trials <= 30; trials++ {
		for hits := 0; hits <= trials; hits++ {
			for _, tail := range []float64{0.1, 0.025, 0.001} {
				low, high := exact.Limits(hits, trials, tail)
				if hits > 0 {
					if got := atLeast(hits, trials, low); math.Abs(got-tail) > 1e-9 {
						t.Errorf("%d of %d: at %v as many hits have the probability %v, want %v", hits, trials, low,
							got, tail)
					}
				} else if low != 0 {
					t.Errorf("without a hit the lower limit is %v", low)
				}
				if hits < trials {
					if got := 1 - atLeast(hits+1, trials, high); math.Abs(got-tail) > 1e-9 {
						t.Errorf("%d of %d: at %v so few hits have the probability %v, want %v", hits, trials, high,
							got, tail)
					}
				} else if high != 1 {
					t.Errorf("with hits only the upper limit is %v", high)
				}
			}
		}
	}
}

// Without a hit the upper limit has a closed form, also for many trials.
func TestNoHit(t *testing.T) {
	for _, trials := range []int{1, 100, 1_000_000} {
		_, high := exact.Limits(0, trials, 0.05)
		if want := -math.Expm1(math.Log(0.05) / float64(trials)); math.Abs(high/want-1) > 1e-9 {
			t.Errorf("%d trials: %v, want %v", trials, high, want)
		}
	}
}

func TestPower(t *testing.T) {
	for _, x := range []int64{0, 1, 3, 10} {
		for n := range 40 {
			got := exact.Power(new(big.Float).SetPrec(256).SetInt64(x), n)
			want := new(big.Int).Exp(big.NewInt(x), big.NewInt(int64(n)), nil)
			if i, accuracy := got.Int(nil); accuracy != big.Exact || i.Cmp(want) != 0 {
				t.Errorf("%d to the %d is %v", x, n, got)
			}
		}
	}
}
