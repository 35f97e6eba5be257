package cover

import (
	"fmt"
	"iter"
	"math/big"
	"slices"
	"strings"
)

// AnyBridge as Space.Bridge means a bridge of one node or more.
const AnyBridge = -1

// A Space is a set of partitions from which tests are drawn, each with the same
// probability.
type Space struct {
	// Nodes is the number of nodes, 1 to MaxNodes.
	Nodes int
	// Blocks is the number of sides into which a partition divides them.
	Blocks int
	// Sizes, if not nil, fixes how many nodes the sides have, in any order.
	Sizes []int
	// Bridge is the number of nodes on the bridge: 0 for none, AnyBridge for any
	// number from 1, in which case the bridge is one more block of a uniformly drawn
	// partition into Blocks+1 blocks. AnyBridge goes with Sizes nil only.
	Bridge int
}

// Uniform is the space of all k-partitions.
func Uniform(nodes, k int) Space { return Space{Nodes: nodes, Blocks: k} }

// Sized is the space of partitions whose sides have the given sizes.
func Sized(sizes ...int) Space {
	nodes := 0
	for _, size := range sizes {
		nodes += size
	}
	return Space{Nodes: nodes, Blocks: len(sizes), Sizes: slices.Clone(sizes)}
}

// Balanced is the space of k-partitions whose sides differ by at most one node.
func Balanced(nodes, k int) Space {
	if k < 1 || nodes < k || nodes > MaxNodes {
		return Uniform(nodes, k) // every use of it is refused with the range
	}
	sizes := make([]int, k)
	for i := range sizes {
		sizes[i] = nodes / k
		if i < nodes%k {
			sizes[i]++
		}
	}
	return Sized(sizes...)
}

// Semibalanced is the space of 2-partitions of an even number of nodes with sides
// of n/2-1 and n/2+1 nodes; with an odd number it is the balanced one, so that it
// always has a smaller side.
func Semibalanced(nodes int) Space {
	if nodes < 4 || nodes%2 == 1 {
		return Balanced(nodes, 2)
	}
	return Sized(nodes/2-1, nodes/2+1)
}

func (s Space) check() error {
	if err := inRange("nodes", s.Nodes, 1, MaxNodes, ""); err != nil {
		return err
	}
	if err := inRange("bridge", s.Bridge, AnyBridge, s.Nodes, "-1 for any"); err != nil {
		return err
	}
	least, _ := s.bridges()
	if err := inRange("blocks", s.Blocks, 1, s.Nodes-least, "the nodes that are not on the bridge"); err != nil {
		return err
	}
	if s.Bridge != 0 && s.Blocks < 2 {
		return &RangeError{"blocks", s.Blocks, "at least 2 with a bridge"}
	}
	if s.Sizes == nil {
		return nil
	}
	sum := 0
	for _, size := range s.Sizes {
		if err := inRange("size of a side", size, 1, s.Nodes, "the nodes"); err != nil {
			return err
		}
		sum += size
	}
	if len(s.Sizes) != s.Blocks || s.Bridge < 0 || sum != s.Nodes-s.Bridge {
		return &RangeError{"sizes", s.Sizes, fmt.Sprintf("%d sizes that with a fixed bridge of %d sum to %d", s.Blocks,
			s.Bridge, s.Nodes)}
	}
	return nil
}

// bridges is the range of the number of nodes on the bridge.
func (s Space) bridges() (least, most int) {
	if s.Bridge == AnyBridge {
		return 1, s.Nodes - s.Blocks
	}
	return s.Bridge, s.Bridge
}

// Count is the number of partitions in the space.
func (s Space) Count() (*big.Int, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return s.count(), nil
}

func (s Space) count() *big.Int {
	count := new(big.Int)
	least, most := s.bridges()
	for b := least; b <= most; b++ {
		count.Add(count, new(big.Int).Mul(binomial(s.Nodes, b), s.countSides(s.Nodes-b)))
	}
	return count
}

// countSides is the number of ways to divide the given number of nodes into sides.
func (s Space) countSides(nodes int) *big.Int {
	if s.Sizes == nil {
		return stirling(nodes, s.Blocks, 0)
	}
	count := factorial(nodes)
	same := map[int]int{}
	for _, size := range s.Sizes {
		count.Div(count, factorial(size))
		same[size]++ // sides of the same size have no order
		count.Div(count, big.NewInt(int64(same[size])))
	}
	return count
}

// Contains returns nil if the partition belongs to the space, and otherwise says
// what is different about it.
func (s Space) Contains(p Partition) error {
	if err := s.check(); err != nil {
		return err
	}
	if p.Nodes() != s.Nodes {
		return &RangeError{"nodes of the partition " + p.String(), p.Nodes(), fmt.Sprint(s.Nodes)}
	}
	if err := inRange("sides of the partition "+p.String(), p.Len(), s.Blocks, s.Blocks, ""); err != nil {
		return err
	}
	least, most := s.bridges()
	if err := inRange("bridge of the partition "+p.String(), p.Bridge().Len(), least, most, ""); err != nil {
		return err
	}
	if s.Sizes == nil {
		return nil
	}
	want := slices.Sorted(slices.Values(s.Sizes))
	if have := p.shape(); !slices.Equal(have, want) {
		return &RangeError{"sizes of the partition " + p.String(), have, fmt.Sprint(want)}
	}
	return nil
}

// shape lists the sizes of the sides in ascending order.
func (p Partition) shape() []int {
	var sizes []int
	for _, side := range p.Sides() {
		sizes = append(sizes, side.Len())
	}
	slices.Sort(sizes)
	return sizes
}

// All yields every partition of the space once, in a fixed order. There are
// exponentially many; see Count.
func (s Space) All() (iter.Seq[Partition], error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return func(yield func(Partition) bool) {
		labels := make([]byte, 0, s.Nodes)
		s.extend(labels, 0, 0, func(p Partition) bool {
			return s.Sizes != nil && s.Contains(p) != nil || yield(p)
		})
	}, nil
}

// extend completes a prefix of labels that opens the given number of sides and has
// the given number of nodes on the bridge.
func (s Space) extend(labels []byte, sides, bridge int, yield func(Partition) bool) bool {
	least, most := s.bridges()
	left := s.Nodes - len(labels)
	if left < (s.Blocks-sides)+max(0, least-bridge) {
		return true
	}
	if left == 0 {
		return yield(Partition{string(labels)})
	}
	for l := range min(sides+1, s.Blocks) {
		if !s.extend(append(labels, byte(l)), max(sides, l+1), bridge, yield) {
			return false
		}
	}
	return bridge == most || s.extend(append(labels, onBridge), sides, bridge+1, yield)
}

// String says what is drawn, as in "2-partitions of 5 nodes with sides of 3 and 2".
func (s Space) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d-partitions of %d nodes", s.Blocks, s.Nodes)
	for i, size := range s.Sizes {
		joint := ", "
		switch i {
		case 0:
			joint = " with sides of "
		case len(s.Sizes) - 1:
			joint = " and "
		}
		fmt.Fprintf(&b, "%s%d", joint, size)
	}
	switch {
	case s.Bridge == AnyBridge:
		b.WriteString(", with a bridge of any size")
	case s.Bridge > 0:
		fmt.Fprintf(&b, ", with a bridge of %d", s.Bridge)
	}
	return b.String()
}
