package cover

import (
	"fmt"
	"iter"
	"math"
	"math/big"
)

// Separate is (k,l)-separation (Definition 4.10): for every K nodes and every L
// other nodes, a test with the K on one side and the L on another.
type Separate struct {
	K, L   int // how many nodes a goal keeps together on either side, K+L at most n
	Bridge int // how many nodes it puts on the bridge; 0 for disjoint blocks
}

func (s Separate) named() (nodes, bridge int) { return s.K + s.L, s.Bridge }

func (s Separate) check(nodes int) error {
	if err := inRange("k", s.K, 1, nodes-1, "the nodes but one"); err != nil {
		return err
	}
	return inRange("l", s.L, 1, nodes-s.K, "the nodes besides k")
}

func (s Separate) pick(nodes int) iter.Seq[PartitionGoal] {
	return func(yield func(PartitionGoal) bool) {
		for a := range firstNodes(nodes).choose(s.K) {
			for b := range (firstNodes(nodes) &^ a).choose(s.L) {
				if s.K == s.L && b.min() < a.min() {
					continue // the same goal as (b, a)
				}
				if !yield(PartitionGoal{Kind: Separates, A: a, B: b}) {
					return
				}
			}
		}
	}
}

// Pairs is the number of ordered pairs (S,T), the m of Corollary 4.12. For K = L
// it is twice the number of different goals, because a partition that separates S
// from T separates T from S.
func (s Separate) Pairs(nodes int) (*big.Int, error) {
	if err := checkCriterion(s, nodes); err != nil {
		return nil, err
	}
	m := s.pairs(nodes)
	return m.Mul(m, binomial(nodes-s.K-s.L, s.Bridge)), nil
}

func (s Separate) pairs(nodes int) *big.Int {
	return new(big.Int).Mul(binomial(nodes, s.K), binomial(nodes-s.K, s.L))
}

func (s Separate) count(nodes int) *big.Int { return s.unordered(s.pairs(nodes)) }

func (s Separate) unordered(pairs *big.Int) *big.Int {
	if s.K == s.L {
		pairs.Rsh(pairs, 1)
	}
	return pairs
}

func (s Separate) covered(sizes []int) *big.Int {
	pairs := new(big.Int)
	for i, a := range sizes {
		for j, b := range sizes {
			if i != j {
				pairs.Add(pairs, new(big.Int).Mul(binomial(a, s.K), binomial(b, s.L)))
			}
		}
	}
	return s.unordered(pairs)
}

// covering takes the K nodes for one node and the L nodes for another, which must
// then be split.
func (s Separate) covering(nodes, k int) *big.Int { return stirling(nodes-s.K-s.L+2, k, 2) }

// paper has Theorem 4.11 for uniform 2-partitions. Its proof carries over to a
// third block as the bridge, which is the case that the paper leaves out.
func (s Separate) paper(space Space) (bound *big.Rat, source string, corollary Rule, ok bool) {
	named := s.K + s.L
	switch {
	case space.Blocks != 2 || space.Sizes != nil:
		return nil, "", Rule{}, false
	case space.Bridge == AnyBridge && s.Bridge > 0:
		return ratio(big.NewInt(2), power(3, named+s.Bridge)), "Theorem 4.11 with a bridge", Rule{}, true
	case space.Bridge != 0 || s.Bridge != 0:
		return nil, "", Rule{}, false
	}
	inverse := math.Ldexp(1, named-1)
	corollary = Rule{Name: "Corollary 4.12", A: inverse * float64(named) * math.Log(float64(space.Nodes)), B: inverse}
	return ratio(big.NewInt(1), power(2, named-1)), "Theorem 4.11", corollary, true
}

// String is "(1,2)-separation", with the bridge if there is one.
func (s Separate) String() string {
	return fmt.Sprintf("(%d,%d)-separation", s.K, s.L) + overBridge(s.Bridge)
}
