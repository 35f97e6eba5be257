// Package odds compares measured frequencies with probabilities, for tests that draw. It bounds how often such a test
// fails although nothing is wrong: by 1e-13 for each comparison, and so by 1e-9 for a test with up to 10,000 of them.
package odds

import "math"

// limit is the exponent of the bound: exp(-limit) is 5e-14, for each of two sides.
const limit = 30.6

// Sigmas is a number of standard deviations, for means that are about normal. Such a mean is further away from its
// expectation with probability 6.4e-14.
const Sigmas = 7.5

// Fits reports whether something with probability p may have happened hits times in n independent draws.
func Fits(hits, n int, p float64) bool { return exponent(hits, n, p) <= limit }

// AtLeast reports whether something that happened hits times in n independent draws may have a probability of at least
// p.
func AtLeast(hits, n int, p float64) bool {
	return float64(hits) >= p*float64(n) || Fits(hits, n, p)
}

// exponent is that of the bound of Chernoff and Hoeffding: a frequency is at least that far from p, on its side, with
// probability at most exp(-exponent).
func exponent(hits, n int, p float64) float64 {
	q := float64(hits) / float64(n)
	return float64(n) * (relative(q, p) + relative(1-q, 1-p))
}

// relative is a summand of the relative entropy.
func relative(q, p float64) float64 {
	switch {
	case q == 0:
		return 0
	case p == 0:
		return math.Inf(1)
	}
	return q * math.Log(q/p)
}
