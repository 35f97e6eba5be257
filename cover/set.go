package cover

import (
	"fmt"
	"iter"
	"math/bits"
	"strings"
)

// MaxNodes is the largest number of nodes that a Set can hold.
const MaxNodes = 64

// A Set is a set of nodes as bits: node i, counted from 1, is bit i-1. Conversion
// from and to uint64 is plain Go conversion.
type Set uint64

// SetOf returns the set of the nodes given, each of them 1 to MaxNodes.
func SetOf(nodes ...int) (Set, error) {
	var s Set
	for _, node := range nodes {
		if err := inRange("node", node, 1, MaxNodes, ""); err != nil {
			return 0, err
		}
		s |= single(node)
	}
	return s, nil
}

// single is the set of one node known to be in range.
func single(node int) Set { return 1 << (node - 1) }

// firstNodes is the set {1..n}.
func firstNodes(n int) Set { return ^Set(0) >> (MaxNodes - n) }

// Has reports whether the node belongs to the set.
func (s Set) Has(node int) bool {
	return 1 <= node && node <= MaxNodes && s&single(node) != 0
}

// Len is the number of nodes in the set.
func (s Set) Len() int { return bits.OnesCount64(uint64(s)) }

// Nodes lists the nodes in ascending order.
func (s Set) Nodes() []int {
	nodes := make([]int, 0, s.Len())
	for ; s != 0; s &= s - 1 {
		nodes = append(nodes, s.min())
	}
	return nodes
}

// min is the smallest node; the set must not be empty.
func (s Set) min() int { return bits.TrailingZeros64(uint64(s)) + 1 }

// String writes the set as {1,4}.
func (s Set) String() string { return "{" + s.list() + "}" }

func (s Set) list() string {
	var b strings.Builder
	for i, node := range s.Nodes() {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, node)
	}
	return b.String()
}

// choose yields all subsets with k nodes, smaller nodes first.
func (s Set) choose(k int) iter.Seq[Set] {
	return func(yield func(Set) bool) { s.chooseInto(0, k, yield) }
}

func (s Set) chooseInto(chosen Set, k int, yield func(Set) bool) bool {
	if k == 0 {
		return yield(chosen)
	}
	for s.Len() >= k {
		lowest := s & -s
		s &^= lowest
		if !s.chooseInto(chosen|lowest, k-1, yield) {
			return false
		}
	}
	return true
}
