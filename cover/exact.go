package cover

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/lockstep-go/lockstep/internal/exact"
)

// Exact is the true probability that N random tests cover every goal, by inclusion
// and exclusion over the sets of goals that are all missed: a sum of powers
// c (f/total)^N, where f is the number of tests that miss such a set.
type Exact struct {
	total *big.Int
	terms []exactTerm
}

type exactTerm struct{ coefficient, missing *big.Int }

// Limits of the inclusion and exclusion over explicit goals and tests.
const (
	exactGoals = 20
	exactTests = 1 << 16
)

// ExactOf prepares the exact probability. There is a closed form for minority
// isolation and for 2-splitting by all 2-partitions, at any number of nodes. In all
// other cases goals and tests are enumerated, at most 20 goals and 65536 tests;
// what is beyond is refused.
func ExactOf(criterion Criterion, space Space) (*Exact, error) {
	if _, err := ProbabilityOf(criterion, space); err != nil {
		return nil, err
	}
	if space.Blocks == 2 && space.Bridge == 0 {
		switch criterion {
		case Isolate{}:
			return exactIsolation(space), nil
		case Split{K: 2}:
			if space.Sizes == nil {
				return exactSplitting(space.Nodes), nil
			}
		}
	}
	goals, err := listGoals(criterion, space.Nodes, exactGoals)
	if err != nil {
		return nil, err
	}
	count := space.count()
	if count.Cmp(big.NewInt(exactTests)) > 0 {
		return nil, &RangeError{"number of " + space.String(), count, fmt.Sprintf("at most %d to list them", exactTests)}
	}
	tests, err := space.All()
	if err != nil {
		return nil, err
	}
	// within[set] becomes the number of tests that cover no goal outside the set.
	within := make([]int64, 1<<len(goals))
	for p := range tests {
		covers := 0
		for i, goal := range goals {
			if goal.CoveredBy(p) {
				covers |= 1 << i
			}
		}
		within[covers]++
	}
	for i := range goals {
		for set := range within {
			if set&(1<<i) != 0 {
				within[set] += within[set^1<<i]
			}
		}
	}
	return &Exact{count, collect(within, len(goals))}, nil
}

// collect sums the signs of the sets with equal numbers of tests.
func collect(within []int64, goals int) []exactTerm {
	signs := map[int64]int64{}
	for set, tests := range within {
		if (goals-Set(set).Len())%2 == 0 {
			signs[tests]++
		} else {
			signs[tests]--
		}
	}
	var terms []exactTerm
	//lockstep:unordered the terms are sorted below
	for tests, sign := range signs {
		if sign != 0 {
			terms = append(terms, exactTerm{big.NewInt(sign), big.NewInt(tests)})
		}
	}
	slices.SortFunc(terms, func(a, b exactTerm) int { return a.missing.Cmp(b.missing) })
	return terms
}

// exactIsolation sums over the number of nodes that are never in the minority. A
// test leaves j given nodes out of its minority if that consists of other nodes, or
// if there is none because both sides are equal.
func exactIsolation(space Space) *Exact {
	n := space.Nodes
	e := &Exact{total: space.count()}
	for j := range n + 1 {
		missing := new(big.Int)
		for size := 1; size <= n/2; size++ {
			switch {
			case space.Sizes != nil && size != slices.Min(space.Sizes):
			case 2*size == n:
				missing.Add(missing, new(big.Int).Rsh(binomial(n, size), 1))
			default:
				missing.Add(missing, binomial(n-j, size))
			}
		}
		sign := binomial(n, j)
		if j%2 == 1 {
			sign.Neg(sign)
		}
		e.terms = append(e.terms, exactTerm{sign, missing})
	}
	return e
}

// exactSplitting counts the matrices of N rows and n columns of bits in which no
// two columns are equal and no row is constant. For N rows there are
// sum_j s(n,j) (2^j-2)^N of them, s being the coefficients of the falling
// factorial: 2^N (2^N-1)... counts unequal columns, and taking away the constant
// rows replaces 2^j by 2^j-2. Every 2-partition is two rows.
func exactSplitting(n int) *Exact {
	rows := func(columns int) *big.Int {
		return new(big.Int).Sub(power(2, columns), big.NewInt(2))
	}
	e := &Exact{total: rows(n)}
	for j, s := range fallingFactorial(n) {
		if j > 1 {
			e.terms = append(e.terms, exactTerm{s, rows(j)})
		}
	}
	return e
}

// Probability is the probability that the given number of tests cover all goals as
// an exact fraction, whose length grows with the number of tests.
func (e *Exact) Probability(tests int) (*big.Rat, error) {
	if err := e.check(tests); err != nil {
		return nil, err
	}
	exponent := big.NewInt(int64(tests))
	sum := new(big.Int)
	for _, t := range e.terms {
		product := new(big.Int).Exp(t.missing, exponent, nil)
		sum.Add(sum, product.Mul(product, t.coefficient))
	}
	return ratio(sum, new(big.Int).Exp(e.total, exponent, nil)), nil
}

func (e *Exact) check(tests int) error {
	if e.total == nil {
		return &RangeError{"exact guarantee", "empty", "one made by ExactOf"}
	}
	return inRange("tests", tests, 1, testsLimit, "")
}

// missed is one minus the probability, rounded to many more digits than a float64.
func (e *Exact) missed(tests int) *big.Float {
	sum := new(big.Float).SetPrec(precision).SetInt64(1)
	for _, t := range e.terms {
		product := exact.Power(toFloat(ratio(t.missing, e.total)), tests)
		sum.Sub(sum, product.Mul(product, new(big.Float).SetInt(t.coefficient)))
	}
	return sum
}

// Exists is the size of the smallest covering family.
func (e *Exact) Exists() (int, error) {
	for tests := 1; ; tests++ {
		p, err := e.Probability(tests)
		if err != nil || p.Sign() > 0 {
			return tests, err
		}
	}
}

// Enough is the least number of tests that reach the confidence.
func (e *Exact) Enough(confidence float64) (int, error) {
	allowed, err := missAllowed(confidence)
	if err == nil {
		err = e.check(1)
	}
	if err != nil {
		return 0, err
	}
	limit := toFloat(allowed)
	low, high := 0, 1 // low is too few
	for !atMost(e.missed(high), limit) {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if middle := (low + high) / 2; atMost(e.missed(middle), limit) {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}

// Reached is Probability rounded to a float64.
func (e *Exact) Reached(tests int) (float64, error) {
	if err := e.check(tests); err != nil {
		return 0, err
	}
	missed := e.missed(tests)
	p, _ := missed.Sub(new(big.Float).SetInt64(1), missed).Float64()
	return p, nil
}
