// Package exact computes probabilities without numerical error of its own: confidence limits of a share observed in
// trials, and large powers.
package exact

import (
	"math/big"
)

// Limits returns the limits of Clopper and Pearson for a probability, given the number of hits in the trials. Each of
// the two limits is wrong with at most the probability tail. If the probability were below low, this number of hits or
// more would be rarer than that. If it were above high, this number or fewer would be.
func Limits(hits, trials int, tail float64) (low, high float64) {
	return RealLimits(float64(hits), float64(trials), tail)
}

// RealLimits continues Limits to numbers between the integers, e.g. to trials that count for less than one.
func RealLimits(hits, trials, tail float64) (low, high float64) {
	high = 1
	if hits > 0 {
		low = betaQuantile(hits, trials-hits+1, tail)
	}
	if hits < trials {
		high = betaQuantile(hits+1, trials-hits, 1-tail)
	}
	return low, high
}

// Power returns x to the n-th, with as many bits as x has.
func Power(x *big.Float, n int) *big.Float {
	result := new(big.Float).SetPrec(x.Prec()).SetInt64(1)
	square := new(big.Float).Copy(x)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result.Mul(result, square)
		}
		square.Mul(square, square)
	}
	return result
}
