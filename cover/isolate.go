package cover

import (
	"iter"
	"math"
	"math/big"
	"slices"
)

// Isolate is minority isolation (Definition 4.14): for every node, a test in which
// it is on the smaller of two sides. With more sides it is on a side with less than
// half of the nodes (Section 2.4); nodes on the bridge do not count.
type Isolate struct {
	Bridge int // how many nodes a goal puts on the bridge; 0 for disjoint blocks
}

func (i Isolate) named() (nodes, bridge int) { return 1, i.Bridge }

func (i Isolate) check(nodes int) error { return inRange("nodes", nodes, 1, MaxNodes, "") }

func (i Isolate) pick(nodes int) iter.Seq[PartitionGoal] {
	return func(yield func(PartitionGoal) bool) {
		for set := range firstNodes(nodes).choose(1) {
			if !yield(PartitionGoal{Kind: Isolates, A: set}) {
				return
			}
		}
	}
}

func (i Isolate) count(nodes int) *big.Int { return big.NewInt(int64(nodes)) }

func (i Isolate) covered(sizes []int) *big.Int {
	nodes, isolated := 0, 0
	for _, size := range sizes {
		nodes += size
	}
	for _, size := range sizes {
		if 2*size < nodes {
			isolated += size
		}
	}
	return big.NewInt(int64(isolated))
}

// covering sums over the size of the side with the node.
func (i Isolate) covering(nodes, k int) *big.Int {
	sum := new(big.Int)
	for size := 1; 2*size < nodes; size++ {
		sum.Add(sum, new(big.Int).Mul(binomial(nodes-1, size-1), stirling(nodes-size, k-1, 0)))
	}
	return sum
}

// paper has Lemmas 4.15 and 4.18 for uniform 2-partitions of an odd and an even
// number of nodes, and the exact probability for balanced and semibalanced ones, from the
// proofs of Corollaries 4.17 and 4.20.
func (i Isolate) paper(space Space) (bound *big.Rat, source string, corollary Rule, ok bool) {
	n := space.Nodes
	switch {
	case space.Blocks != 2 || space.Bridge != 0 || i.Bridge != 0 || n < 3:
		return nil, "", Rule{}, false
	case space.Sizes == nil && n%2 == 1:
		bound, source, corollary.Name = big.NewRat(1, 3), "Lemma 4.15", "Corollary 4.16"
	case space.Sizes == nil:
		bound, source, corollary.Name = big.NewRat(1, 7), "Lemma 4.18", "Corollary 4.19"
	case n%2 == 1 && space.balanced():
		bound, source, corollary.Name = big.NewRat(int64(n-1), int64(2*n)), "proof of Corollary 4.17", "Corollary 4.17"
	case n%2 == 0 && space.sameSizes(Semibalanced(n)):
		bound, source, corollary.Name = big.NewRat(int64(n-2), int64(2*n)), "proof of Corollary 4.20", "Corollary 4.20"
	default:
		return nil, "", Rule{}, false
	}
	corollary.B = 1 / ratFloat(bound)
	corollary.A = corollary.B * math.Log(float64(n))
	return bound, source, corollary, true
}

// String is "minority isolation", with the bridge if there is one.
func (i Isolate) String() string { return "minority isolation" + overBridge(i.Bridge) }

// balanced reports whether the sides differ by at most one node.
func (s Space) balanced() bool { return s.sameSizes(Balanced(s.Nodes, s.Blocks)) }

func (s Space) sameSizes(other Space) bool {
	return slices.Equal(slices.Sorted(slices.Values(s.Sizes)), slices.Sorted(slices.Values(other.Sizes)))
}
