package cover

import (
	"fmt"
	"math/big"
	"slices"
)

// Dense builds a splitting or separating family in the manner of the density
// algorithms for covering arrays: node after node is put on the side that keeps the
// expected number of newly covered goals highest, if the nodes after it were put on
// sides at random. So each member covers at least the share of the remaining goals
// that a random one is expected to cover, k!/k^k or 2^(1-k-l) of them, and the
// family is within the size that Theorem 3.1 says exists. It needs no enumeration of
// partitions and serves for large n.
//
// It applies to Split and Separate over the space of all partitions into K, or two,
// blocks without a bridge.
func Dense(criterion Criterion, space Space) (Family, error) {
	if _, err := ProbabilityOf(criterion, space); err != nil {
		return Family{}, err
	}
	blocks := 2
	switch n := criterion.(type) {
	case Split:
		blocks = n.K
	case Isolate:
		return Family{}, &RangeError{"criterion", criterion, "Split or Separate"}
	}
	if _, bridge := criterion.named(); bridge != 0 || space.Bridge != 0 || space.Sizes != nil || space.Blocks != blocks {
		return Family{}, &RangeError{"space", space, "all partitions into as many blocks as the goals name, with no bridge"}
	}
	goals, lower, err := task(criterion, space)
	if err != nil {
		return Family{}, err
	}
	named, _ := criterion.named()
	if work := float64(lower) * float64(len(goals)*named*named*blocks); work > denseWork {
		return Family{}, &RangeError{"work for " + criterion.String(), work, fmt.Sprintf("at most %d", denseWork)}
	}
	family := Family{Method: "dense", Lower: lower}
	for left := goals; len(left) > 0; {
		member := densest(left, space.Nodes, blocks)
		family.Partitions = append(family.Partitions, member)
		left = slices.DeleteFunc(slices.Clone(left), func(g PartitionGoal) bool { return g.CoveredBy(member) })
	}
	if len(goals) <= buildGoals {
		family.Partitions = prune(goals, family.Partitions)
	}
	return family, nil
}

// denseWork limits the work of Dense to seconds: for each member, each goal is
// looked at once for each of its nodes and each side, node by node.
const denseWork = 1 << 27

// densest chooses the sides of one member by conditional expectation. Expectations
// are whole numbers of assignments of the nodes that a goal has yet to place, scaled
// by blocks^(nodes of a goal), so that no rounding decides a choice.
func densest(goals []PartitionGoal, nodes, blocks int) Partition {
	of := make([][]int, nodes) // the goals that name a node
	for i, g := range goals {
		for _, node := range (g.A | g.B).Nodes() {
			of[node-1] = append(of[node-1], i)
		}
	}
	ways := newAssignments(blocks)
	labels := slices.Repeat([]byte{noSide}, nodes)
	used := 0 // sides not yet used are all alike
	for i := range labels {
		var best *big.Int
		choice := byte(0)
		for l := range min(used+1, blocks) {
			labels[i] = byte(l)
			expected := new(big.Int)
			for _, g := range of[i] {
				expected.Add(expected, ways.covering(goals[g], labels))
			}
			if best == nil || expected.Cmp(best) > 0 {
				best, choice = expected, byte(l)
			}
		}
		labels[i] = choice
		used = max(used, int(choice)+1)
	}
	return canonical(labels)
}

// assignments counts ways to place the unplaced nodes of a goal so that it is
// covered, times blocks for every node already placed.
type assignments struct {
	blocks int
	powers []*big.Int
	orders []*big.Int // orders[j] = j!
}

func newAssignments(blocks int) *assignments {
	a := &assignments{blocks: blocks}
	for i := range MaxNodes + 1 {
		a.powers = append(a.powers, power(blocks, i))
		a.orders = append(a.orders, factorial(i))
	}
	return a
}

var never = new(big.Int)

func (a *assignments) covering(g PartitionGoal, labels []byte) *big.Int {
	if g.Kind == Splits {
		var seen Set
		placed := 0
		for s := g.A; s != 0; s &= s - 1 {
			label := labels[s.min()-1]
			if label == noSide {
				continue
			}
			if seen.Has(int(label) + 1) {
				return never
			}
			seen |= single(int(label) + 1)
			placed++
		}
		return new(big.Int).Mul(a.orders[a.blocks-placed], a.powers[placed])
	}
	sideA, placedA := common(g.A, labels)
	sideB, placedB := common(g.B, labels)
	placed := placedA + placedB
	switch {
	case sideA == onBridge || sideB == onBridge, sideA == sideB && sideA != noSide:
		return never
	case placed == 0:
		return big.NewInt(2)
	}
	return a.powers[placed]
}

// common is the side of the placed nodes of a set, noSide if there are none, and
// onBridge if they are not all on one side; placed is their number.
func common(nodes Set, labels []byte) (side byte, placed int) {
	side = noSide
	for s := nodes; s != 0; s &= s - 1 {
		switch label := labels[s.min()-1]; {
		case label == noSide:
		case side == noSide || side == label:
			side = label
			placed++
		default:
			return onBridge, placed
		}
	}
	return side, placed
}
