package compare

import (
	"math"
	"math/big"
	"slices"

	"github.com/lockstep-go/lockstep/internal/exact"
)

// Interval is a confidence interval.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Share returns the exact confidence interval of Clopper and Pearson for a probability, given the number of hits in a
// number of independent trials.
func Share(hits, trials int, confidence float64) Interval {
	low, high := exact.Limits(hits, trials, (1-confidence)/2)
	return Interval{low, high}
}

// solve finds the smallest p in (0,1) at which a monotone condition holds.
func solve(holds func(p float64) bool) float64 {
	low, high := -60.0, 0.0 // log2 p: bisecting the exponent finds small probabilities quickly
	for range 48 {
		if mid := (low + high) / 2; holds(math.Exp2(mid)) {
			high = mid
		} else {
			low = mid
		}
	}
	return math.Exp2(high)
}

// binomialUpTo returns the probability of at most k hits in n trials.
func binomialUpTo(k, n int, p float64) float64 {
	if p >= 1 {
		return 0 // k < n
	}
	lgamma := func(x int) float64 { v, _ := math.Lgamma(float64(x)); return v }
	sum := 0.0
	for i := 0; i <= k; i++ {
		sum += math.Exp(
			lgamma(n+1) - lgamma(i+1) - lgamma(n-i+1) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(sum, 1)
}

// HitRate returns an exact confidence interval for the probability that one run has a finding. The input is the number
// of runs to the first finding of several campaigns of at most limit runs. A 0 stands for a campaign that found
// nothing. Runs must be independent.
//
// It inverts the total number of runs, in which a campaign without a finding counts as limit+1. The larger the
// probability, the smaller the total tends to be. The interval consists of the probabilities that make neither a total
// as small as the observed one, nor one as large, rarer than half the error. For one campaign this is the interval of
// the geometric distribution; without any finding it is that of Clopper and Pearson.
func HitRate(first []int, limit int, confidence float64) Interval {
	total := 0
	for _, n := range first {
		if n == 0 {
			n = limit + 1
		}
		total += n
	}
	tail := (1 - confidence) / 2
	i := Interval{0, 1}
	if total < len(first)*(limit+1) {
		i.Low = solve(func(p float64) bool { return totalUpTo(total, len(first), limit, p) >= tail })
	}
	if total > len(first) {
		i.High = solve(func(p float64) bool { return totalUpTo(total-1, len(first), limit, p) >= 1-tail })
	}
	return i
}

// totalUpTo returns the probability that this number of campaigns takes at most total runs. Each campaign ends with its
// first hit, or after limit runs and then counts as limit+1.
//
// If j campaigns end without a hit, the runs of the others form a sum of geometric variables below the limit. Inclusion
// and exclusion give its distribution from sums without the limit. The terms cancel, so the sum uses high precision.
func totalUpTo(total, campaigns, limit int, p float64) float64 {
	if p >= 1 {
		return 1
	}
	precision := uint(128 + 4*campaigns)
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }
	hit := number(p)
	miss := number(1)
	miss.Sub(miss, hit)
	beyond := exact.Power(miss, limit) // a campaign finds nothing
	sum := number(0)
	for j := 0; j <= campaigns; j++ {
		for i := 0; i+j <= campaigns; i++ {
			term := exact.Power(beyond, i+j)
			term.Mul(term, choose(campaigns, j, precision))
			term.Mul(term, choose(campaigns-j, i, precision))
			term.Mul(term, sumUpTo(total-j*(limit+1)-i*limit, campaigns-j, hit, miss, precision))
			if i%2 == 1 {
				term.Neg(term)
			}
			sum.Add(sum, term)
		}
	}
	f, _ := sum.Float64()
	return f
}

// sumUpTo returns the probability that m hits take at most x trials, that is, that x trials have at least m hits.
func sumUpTo(x, m int, hit, miss *big.Float, precision uint) *big.Float {
	sum := new(big.Float).SetPrec(precision)
	if x < m {
		return sum
	}
	sum.SetInt64(1)
	if m == 0 {
		return sum
	}
	// Subtract the probabilities of 0, 1, ..., m-1 hits.
	term := exact.Power(miss, x)
	odds := new(big.Float).Quo(hit, miss)
	for k := range m {
		sum.Sub(sum, term)
		term.Mul(term, odds)
		term.Mul(term, new(big.Float).SetInt64(int64(x-k)))
		term.Quo(term, new(big.Float).SetInt64(int64(k+1)))
	}
	return sum
}

func choose(n, k int, precision uint) *big.Float {
	return new(big.Float).SetPrec(precision).SetInt(new(big.Int).Binomial(int64(n), int64(k)))
}

// Median returns the median of the runs to the first finding, and an exact distribution-free confidence interval for
// it. The interval is two of the numbers in ascending order. A 0 stands for a campaign that found nothing, or for a
// number beyond the limit.
func Median(first []int, confidence float64) (median, low, high int) {
	sorted := slices.Clone(first)
	slices.SortFunc(sorted, func(a, b int) int { return beyond(a) - beyond(b) })
	n := len(sorted)
	if n == 0 {
		return 0, 0, 0
	}
	median = sorted[(n-1)/2]
	// The k-th smallest is above the median if at most k-1 of n are below it.
	k := 0
	for k < n/2 && binomialUpTo(k, n, 0.5) <= (1-confidence)/2 {
		k++
	}
	if k == 0 {
		return median, 1, 0 // too few campaigns for an interval
	}
	return median, sorted[k-1], sorted[n-k]
}

// beyond sorts campaigns that found nothing last.
func beyond(n int) int {
	if n == 0 {
		return math.MaxInt32
	}
	return n
}
