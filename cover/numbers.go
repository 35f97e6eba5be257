package cover

import (
	"math"
	"math/big"
	"strconv"
)

// binomial is n over k, zero where k or n-k is negative.
func binomial(n, k int) *big.Int {
	if k < 0 || k > n {
		return new(big.Int)
	}
	return new(big.Int).Binomial(int64(n), int64(k))
}

func factorial(n int) *big.Int { return new(big.Int).MulRange(1, int64(n)) }

func power(base, exponent int) *big.Int {
	return new(big.Int).Exp(big.NewInt(int64(base)), big.NewInt(int64(exponent)), nil)
}

func ratio(a, b *big.Int) *big.Rat { return new(big.Rat).SetFrac(a, b) }

// stirling is the number of partitions of n nodes into k blocks in which the nodes
// 1..apart are in different blocks: an r-Stirling number of the second kind with
// r = apart, and the ordinary Stirling number for apart = 0. It follows the
// recurrence (1) of the paper, started at n = apart.
func stirling(n, k, apart int) *big.Int {
	if n < apart || k < apart || k > n {
		return new(big.Int)
	}
	row := stirlingRow(k, apart)
	for range n - apart {
		nextStirlingRow(row)
	}
	return row[k]
}

// stirlingRow holds stirling(n, j, apart) at [j], j <= k, for n = apart, and
// nextStirlingRow turns it into the row for n+1, in place.
func stirlingRow(k, apart int) []*big.Int {
	row := make([]*big.Int, k+1)
	for j := range row {
		row[j] = new(big.Int)
	}
	row[apart].SetInt64(1)
	return row
}

func nextStirlingRow(row []*big.Int) {
	factor := new(big.Int)
	for j := len(row) - 1; j >= 0; j-- {
		row[j].Mul(row[j], factor.SetInt64(int64(j)))
		if j > 0 {
			row[j].Add(row[j], row[j-1])
		}
	}
}

// fallingFactorial returns the coefficients of x(x-1)...(x-n+1): the signed
// Stirling numbers of the first kind.
func fallingFactorial(n int) []*big.Int {
	row := []*big.Int{big.NewInt(1)}
	for i := range n {
		next := make([]*big.Int, len(row)+1)
		for j := range next {
			next[j] = new(big.Int)
			if j > 0 {
				next[j].Set(row[j-1])
			}
			if j < len(row) {
				next[j].Sub(next[j], new(big.Int).Mul(big.NewInt(int64(i)), row[j]))
			}
		}
		row = next
	}
	return row
}

// precision is the number of bits of the big floats in which powers of a
// probability are taken. Sums of such powers in this package have coefficients
// below 2^400, so that hundreds of correct bits are left after cancellation.
const precision = 2048

func toFloat(r *big.Rat) *big.Float { return new(big.Float).SetPrec(precision).SetRat(r) }

// atMost compares a with b and takes values for equal that differ only by the
// rounding of powers, so that an exact tie is not lost.
func atMost(a, b *big.Float) bool {
	if a.Cmp(b) <= 0 {
		return true
	}
	slack := new(big.Float).SetMantExp(b, -precision/2)
	return a.Cmp(new(big.Float).SetPrec(precision).Add(b, slack)) <= 0
}

// missAllowed turns a confidence within (0,1) into 1 - confidence, read as the
// decimal number that was written: 0.8 leaves exactly 1/5.
func missAllowed(confidence float64) (*big.Rat, error) {
	if math.IsNaN(confidence) || confidence <= 0 || confidence >= 1 {
		return nil, &RangeError{"confidence", confidence, "a number within (0,1)"}
	}
	written, _ := new(big.Rat).SetString(strconv.FormatFloat(confidence, 'g', -1, 64))
	return written.Sub(big.NewRat(1, 1), written), nil
}

func ratFloat(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}
