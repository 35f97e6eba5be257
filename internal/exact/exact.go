// Package exact has what several rooms need to give probabilities without an error of
// their own: limits of a share that was seen in trials, and long powers.
package exact

import (
	"math/big"
)

// Limits are the limits of Clopper and Pearson for a probability, of which hits of the
// trials were hits. Each of the two is wrong with at most the probability tail: below low,
// as many hits or more are rarer than that, and above high, as many or fewer.
func Limits(hits, trials int, tail float64) (low, high float64) {
	k, n := float64(hits), float64(trials)
	high = 1
	if hits > 0 {
		low = betaQuantile(k, n-k+1, tail)
	}
	if hits < trials {
		high = betaQuantile(k+1, n-k, 1-tail)
	}
	return low, high
}

// Power is x to the n-th, with as many bits as x has.
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
