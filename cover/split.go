package cover

import (
	"fmt"
	"iter"
	"math"
	"math/big"
)

// Split is k-splitting (Definition 4.2): for every K nodes, a test in which they
// are all on different sides. K = 2 for "the two leaders cannot talk".
type Split struct {
	K      int // how many nodes a goal splits, 1 to n
	Bridge int // how many nodes it puts on the bridge; 0 for disjoint blocks
}

func (s Split) named() (nodes, bridge int) { return s.K, s.Bridge }

func (s Split) check(nodes int) error { return inRange("k", s.K, 1, nodes, "the nodes") }

func (s Split) pick(nodes int) iter.Seq[PartitionGoal] {
	return func(yield func(PartitionGoal) bool) {
		for set := range firstNodes(nodes).choose(s.K) {
			if !yield(PartitionGoal{Kind: Splits, A: set}) {
				return
			}
		}
	}
}

func (s Split) count(nodes int) *big.Int { return binomial(nodes, s.K) }

// covered is the K-th elementary symmetric polynomial of the sizes: one node from
// each of K sides.
func (s Split) covered(sizes []int) *big.Int {
	ways := make([]*big.Int, s.K+1)
	for i := range ways {
		ways[i] = new(big.Int)
	}
	ways[0].SetInt64(1)
	for _, size := range sizes {
		for i := s.K; i > 0; i-- {
			ways[i].Add(ways[i], new(big.Int).Mul(ways[i-1], big.NewInt(int64(size))))
		}
	}
	return ways[s.K]
}

func (s Split) covering(nodes, k int) *big.Int { return stirling(nodes, k, s.K) }

// paper has Theorem 4.3 for uniform k-partitions and Theorem 4.7 for balanced ones.
// With a bridge of any size that the goal names in part, the proof of Theorem 4.3
// carries over to k+1 blocks, one of which is marked as the bridge.
func (s Split) paper(space Space) (bound *big.Rat, source string, corollary Rule, ok bool) {
	k := s.K
	switch {
	case space.Blocks != k:
		return nil, "", Rule{}, false
	case space.Bridge == AnyBridge && space.Sizes == nil && s.Bridge > 0:
		return ratio(factorial(k), power(k+1, k+s.Bridge)), "Theorem 4.3 with a bridge", Rule{}, true
	case space.Bridge != 0 || s.Bridge != 0:
		return nil, "", Rule{}, false
	case space.Sizes == nil:
		return ratio(factorial(k), power(k, k)), "Theorem 4.3", s.corollary(space.Nodes), true
	case space.balanced():
		return ratio(power(k, space.Nodes-k), stirling(space.Nodes, k, 0)), "Theorem 4.7", s.corollary(space.Nodes), true
	}
	return nil, "", Rule{}, false
}

// corollary is 4.5 for k = 2 and 4.4 otherwise.
func (s Split) corollary(nodes int) Rule {
	if s.K == 2 {
		return Rule{Name: "Corollary 4.5", A: 2*math.Log2(float64(nodes)) - 1, B: 1 / math.Ln2}
	}
	inverse := ratFloat(ratio(power(s.K, s.K), factorial(s.K)))
	return Rule{Name: "Corollary 4.4", A: inverse * float64(s.K) * math.Log(float64(nodes)), B: inverse}
}

// String is "3-splitting", with the bridge if there is one.
func (s Split) String() string { return fmt.Sprintf("%d-splitting", s.K) + overBridge(s.Bridge) }

func overBridge(nodes int) string {
	if nodes == 0 {
		return ""
	}
	return fmt.Sprintf(" over a bridge of %d", nodes)
}
