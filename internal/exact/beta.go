package exact

import "math"

// betaQuantile returns the x at which the regularized incomplete beta function of a and b has the value p, for p
// between 0 and 1.
func betaQuantile(a, b, p float64) float64 {
	low, high := 0.0, 1.0
	for {
		x := (low + high) / 2
		if x <= low || x >= high { // no number is between them
			return x
		}
		if betaShare(a, b, x) < p {
			low = x
		} else {
			high = x
		}
	}
}

// betaShare returns the regularized incomplete beta function of a and b at x. Its continued fraction converges fast
// below the mean; above it, the symmetric one does.
func betaShare(a, b, x float64) float64 {
	if x > (a+1)/(a+b+2) {
		return 1 - betaShare(b, a, 1-x)
	}
	all, _ := math.Lgamma(a + b)
	left, _ := math.Lgamma(a)
	right, _ := math.Lgamma(b)
	front := math.Exp(all - left - right + a*math.Log(x) + b*math.Log1p(-x))
	return front / a / betaFraction(a, b, x)
}

// betaFraction returns the continued fraction of the incomplete beta function, by the method of Lentz. It keeps the
// quotients of successive numerators (c) and of successive denominators (d) instead of the values, which overflow.
func betaFraction(a, b, x float64) float64 {
	const tiny = 1e-300 // replaces 0, by which d would divide
	f, c, d := 1.0, 1.0, 0.0
	for m := range maxTerms {
		n := float64((m + 1) / 2)
		term := n * (b - n) * x / ((a + 2*n - 1) * (a + 2*n))
		if m%2 == 0 {
			term = -(a + n) * (a + b + n) * x / ((a + 2*n) * (a + 2*n + 1))
		}
		if d = 1 + term*d; math.Abs(d) < tiny {
			d = tiny
		}
		if c = 1 + term/c; math.Abs(c) < tiny {
			c = tiny
		}
		d = 1 / d
		f *= c * d
		if math.Abs(c*d-1) < 1e-15 {
			break
		}
	}
	return f
}

// maxTerms bounds the terms of the fraction, which needs about the square root of the larger parameter.
const maxTerms = 1_000_000
