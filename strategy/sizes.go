package strategy

import (
	"fmt"
	"math/big"
)

// SpaceSize is the number of executions in one of the sets that strategies draw from, such as all lock-step executions
// with a bound on isolations. The numbers show why tests in lock-step rounds need far fewer runs than all
// interleavings. They are the rows of Table 1 of "Testing Consensus Implementations using Communication Closure".
type SpaceSize struct {
	// Set describes the executions.
	Set string
	// Paper is the size by the formula of the paper.
	Paper *big.Int
	// Exact is the exact number. It is nil if it depends on the protocol.
	Exact *big.Int
}

// SpaceSizes computes Table 1 of "Testing Consensus Implementations using Communication Closure" for a run with this
// number of nodes and rounds. Isolations or losses last until the end of their period, and there are at most bound of
// them. The last row is about a run whose events are partially ordered with the given width: so many are pairwise
// concurrent.
//
// Where the paper counts k^(nr/k) periodic executions, the exact number is (k+1)^(nr/k). In each phase, a node is
// isolated from one of the k rounds, or not at all. The bounded rows count the executions with exactly bound
// isolations; the paper's formula is an upper bound.
func SpaceSizes(nodes, rounds, period, bound, width int) ([]SpaceSize, error) {
	for _, sites := range []int{nodes, nodes * nodes} {
		if err := checkSpace("sizes", "bound", sites, rounds, period, bound); err != nil {
			return nil, err
		}
	}
	if bound < 1 || width < 1 {
		return nil, fmt.Errorf("sizes: bound is %d and width %d, both must be at least 1", bound, width)
	}
	uniform, links := nodes*rounds, nodes*nodes*rounds
	pct := big.NewInt(int64(width))
	pct.Mul(pct, binomial(uniform, bound-1)).Mul(pct, factorial(bound-1))
	return []SpaceSize{
		{"arbitrary message losses", power(2, links), power(2, links)},
		{"k-periodic losses", power(period, links/period), newSpace(nodes*nodes, rounds, period, Unbounded).size()},
		{"d-bounded k-periodic losses", binomial(links, bound), newSpace(nodes*nodes, rounds, period, bound).exactly()},
		{"arbitrary uniform executions", power(2, uniform), power(2, uniform)},
		{
			"k-periodic uniform executions",
			power(period, uniform/period),
			newSpace(nodes, rounds, period, Unbounded).size(),
		},
		{
			"d-bounded k-periodic uniform executions",
			binomial(uniform, bound),
			newSpace(nodes, rounds, period, bound).exactly(),
		},
		{"arbitrary reorderings", factorial(links), nil},
		{"d-bounded reorderings (PCT)", pct, nil},
	}, nil
}

func binomial(n, k int) *big.Int { return new(big.Int).Binomial(int64(n), int64(k)) }

func factorial(n int) *big.Int { return new(big.Int).MulRange(1, int64(max(n, 1))) }
