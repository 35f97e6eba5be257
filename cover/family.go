package cover

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// A Family is a set of partitions, meant to cover every goal of a criterion.
type Family struct {
	Partitions []Partition
	Method     string // how it was built
	Lower      int    // no covering family has fewer partitions
}

// Uncovered is the error of Check for a family that misses a goal.
type Uncovered struct {
	PartitionGoal PartitionGoal // the first goal, in the order of Goals, that is not covered
	Rest          int           // how many more are not
}

// Error names the goal.
func (u *Uncovered) Error() string {
	return fmt.Sprintf("the family does not %v (and misses %d more goals)", u.PartitionGoal, u.Rest)
}

// Check proves that the partitions belong to the space and cover every goal of the
// criterion, by going through all goals. It returns an *Uncovered error for a family
// that misses one, and a *RangeError for a partition over another universe.
func Check(criterion Criterion, space Space, family []Partition) error {
	goals, err := listGoals(criterion, space.Nodes, goalLimit)
	if err != nil {
		return err
	}
	for _, p := range family {
		if err := space.Contains(p); err != nil {
			return err
		}
	}
	if missed := uncovered(goals, family); len(missed) > 0 {
		return &Uncovered{missed[0], len(missed) - 1}
	}
	return nil
}

// uncovered lists the goals that no member covers.
func uncovered(goals []PartitionGoal, family []Partition) []PartitionGoal {
	return slices.DeleteFunc(slices.Clone(goals), func(g PartitionGoal) bool {
		return slices.ContainsFunc(family, g.CoveredBy)
	})
}

// Lower is a lower bound on the size of a covering family: the goals divided by the
// most goals that one test covers, and for 2-splitting by two sides the number of
// bits that distinguish the nodes. For separation and isolation by more than two
// sides of any size it is just 1.
func Lower(criterion Criterion, space Space) (int, error) {
	if _, err := ProbabilityOf(criterion, space); err != nil {
		return 0, err
	}
	named, onto := criterion.named()
	best := new(big.Int)
	least, most := space.bridges()
	for b := least; b <= most && named <= space.Nodes-b; b++ {
		for _, sizes := range richestSizes(criterion, space, space.Nodes-b) {
			covers := new(big.Int).Mul(criterion.covered(sizes), binomial(b, onto))
			if covers.Cmp(best) > 0 {
				best = covers
			}
		}
	}
	if best.Sign() == 0 {
		return 1, nil
	}
	lower := countGoals(criterion, space.Nodes)
	lower.Add(lower, best).Sub(lower, big.NewInt(1)).Div(lower, best)
	if !lower.IsInt64() {
		return math.MaxInt, nil
	}
	if space.Blocks == 2 && criterion == (Split{K: 2}) {
		return max(int(lower.Int64()), bits.Len(uint(space.Nodes-1))), nil
	}
	return int(lower.Int64()), nil
}

// richestSizes lists sizes of sides among which are those that cover the most goals.
// For splitting these are the balanced ones, by the argument of Lemma 4.8.
func richestSizes(criterion Criterion, space Space, nodes int) [][]int {
	if space.Sizes != nil {
		return [][]int{space.Sizes}
	}
	if _, splitting := criterion.(Split); splitting {
		return [][]int{Balanced(nodes, space.Blocks).Sizes}
	}
	var all [][]int
	for size := 1; space.Blocks == 2 && 2*size <= nodes; size++ {
		all = append(all, []int{size, nodes - size})
	}
	return all
}

// Remark46 is the deterministic 2-splitting family of Remark 4.6: one partition for
// each binary digit of the numbers 1..n, floor(log2 n)+1 in all.
func Remark46(nodes int) (Family, error) {
	return digits(nodes, 1, "Remark 4.6")
}

// Binary is the same with the numbers 0..n-1, which saves one partition where n is
// a power of two: ceil(log2 n), and no 2-splitting family is smaller.
func Binary(nodes int) (Family, error) {
	return digits(nodes, 0, "binary digits")
}

func digits(nodes, first int, method string) (Family, error) {
	if err := inRange("nodes", nodes, 2, MaxNodes, ""); err != nil {
		return Family{}, err
	}
	lower := bits.Len(uint(nodes - 1))
	family := Family{Method: method, Lower: lower}
	for digit := range bits.Len(uint(nodes - 1 + first)) {
		labels := make([]byte, nodes)
		for i := range labels {
			labels[i] = byte((i + first) >> digit & 1)
		}
		family.Partitions = append(family.Partitions, canonical(labels))
	}
	return family, nil
}

// InTurn is a minority isolating family: each minority is the largest there is and
// takes the next nodes in turn. No such family is smaller.
func InTurn(nodes int) (Family, error) {
	if err := inRange("nodes", nodes, 3, MaxNodes, "with two nodes neither is in a minority"); err != nil {
		return Family{}, err
	}
	size := (nodes - 1) / 2
	family := Family{Method: "in turn", Lower: (nodes + size - 1) / size}
	for i := range family.Lower {
		labels := make([]byte, nodes)
		for j := range size {
			labels[(i*size+j)%nodes] = 1
		}
		family.Partitions = append(family.Partitions, canonical(labels))
	}
	return family, nil
}

// Greedy takes, again and again, the partition that covers the most goals not yet
// covered, and drops at the end what has become superfluous. The candidates are all
// partitions of the space where they are few, and otherwise a fresh draw from it for
// each member. The result is always the same for the same arguments.
func Greedy(criterion Criterion, space Space) (Family, error) {
	goals, lower, err := task(criterion, space)
	if err != nil {
		return Family{}, err
	}
	candidates, err := pool(space, len(goals))
	if err != nil {
		return Family{}, err
	}
	family := Family{Method: "greedy", Lower: lower}
	for left := goals; len(left) > 0; {
		best, most := Partition{}, 0
		for draws := 0; most == 0; draws++ {
			if draws == greedyDraws {
				return Family{}, &RangeError{"probability of a goal of " + criterion.String(), "too small",
					"a goal covered within 65536 draws"}
			}
			best, most = richest(candidates(), left)
		}
		family.Partitions = append(family.Partitions, best)
		left = slices.DeleteFunc(slices.Clone(left), func(g PartitionGoal) bool { return g.CoveredBy(best) })
	}
	family.Partitions = prune(goals, family.Partitions)
	return family, nil
}

// task is what a family has to cover, and with how many members at least.
func task(criterion Criterion, space Space) (goals []PartitionGoal, lower int, err error) {
	if lower, err = Lower(criterion, space); err != nil {
		return nil, 0, err
	}
	goals, err = listGoals(criterion, space.Nodes, goalLimit)
	return goals, lower, err
}

// Limits of what Greedy looks through for one member.
const (
	greedyWork  = 1 << 22 // candidates times goals
	greedyDrawn = 256     // candidates drawn where all would be too many
	greedyDraws = 256     // how often they are drawn before giving up
)

// pool returns a source of candidates: always all, or always new ones.
func pool(space Space, goals int) (func() []Partition, error) {
	if count := space.count(); count.Cmp(big.NewInt(int64(greedyWork/goals))) <= 0 {
		seq, err := space.All()
		if err != nil {
			return nil, err
		}
		all := slices.Collect(seq)
		return func() []Partition { return all }, nil
	}
	sampler, err := NewSampler(space)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(uint64(space.Nodes), uint64(space.Blocks)))
	return func() []Partition {
		drawn := make([]Partition, greedyDrawn)
		for i := range drawn {
			drawn[i] = sampler.Draw(rng)
		}
		return drawn
	}, nil
}

// richest is the first candidate that covers the most goals.
func richest(candidates []Partition, goals []PartitionGoal) (best Partition, most int) {
	for _, p := range candidates {
		covers := 0
		for _, g := range goals {
			if g.CoveredBy(p) {
				covers++
			}
		}
		if covers > most {
			best, most = p, covers
		}
	}
	return best, most
}

// prune drops, earliest first, members whose goals others cover too.
func prune(goals []PartitionGoal, family []Partition) []Partition {
	times := make([]int, len(goals)) // how many members left cover a goal
	for i, g := range goals {
		for _, p := range family {
			if g.CoveredBy(p) {
				times[i]++
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(family), func(p Partition) bool {
		var mine []int
		for i, g := range goals {
			if g.CoveredBy(p) {
				if times[i] == 1 {
					return false
				}
				mine = append(mine, i)
			}
		}
		for _, i := range mine {
			times[i]--
		}
		return true
	})
}

// Build returns the best family at hand: the optimal one where there is a
// construction, else the smallest of Dense and EachAgainstRest, where they apply, and
// Greedy, where it does not take long. Every family it returns has passed Check.
func Build(criterion Criterion, space Space) (Family, error) {
	if _, err := ProbabilityOf(criterion, space); err != nil {
		return Family{}, err
	}
	plain := space.Sizes == nil && space.Bridge == 0
	var family Family
	var err error
	switch {
	case plain && space.Blocks == 2 && criterion == Split{K: 2}:
		family, err = Binary(space.Nodes)
	case criterion == Isolate{} && space.Blocks == 2 && (plain || space.sameSizes(Semibalanced(space.Nodes))):
		family, err = InTurn(space.Nodes)
	default:
		family, err = smaller(criterion, space)
	}
	if err == nil {
		err = Check(criterion, space, family.Partitions)
	}
	if err != nil {
		return Family{}, err
	}
	return family, nil
}

// Limits that keep Build within seconds.
const (
	buildGoals = 1 << 12
	buildWork  = 1 << 17 // goals times members of the family
)

// smaller compares the constructions that apply. The work of the other two grows
// with the goals times the members, so that Dense alone is left for many.
func smaller(criterion Criterion, space Space) (Family, error) {
	lower, err := Lower(criterion, space)
	if err != nil {
		return Family{}, err
	}
	best, err := Dense(criterion, space)
	work := countGoals(criterion, space.Nodes)
	few := work.Cmp(big.NewInt(buildGoals)) <= 0 && work.Mul(work,
		big.NewInt(int64(lower))).Cmp(big.NewInt(buildWork)) <= 0
	for _, build := range []func(Criterion, Space) (Family, error){Greedy, EachAgainstRest} {
		if !few {
			break
		}
		other, otherErr := build(criterion, space)
		if otherErr == nil && (err != nil || len(other.Partitions) < len(best.Partitions)) {
			best, err = other, nil
		}
	}
	return best, err
}

// EachAgainstRest is a separating family for any number of nodes on the one side:
// every set of min(K,L) nodes against all others. For K or L = 1 these are n
// partitions, which is the best there is while the other number is large.
func EachAgainstRest(criterion Criterion, space Space) (Family, error) {
	s, separating := criterion.(Separate)
	if !separating || s.Bridge != 0 || space.Bridge != 0 || space.Sizes != nil || space.Blocks != 2 {
		return Family{}, &RangeError{"criterion over space", fmt.Sprintf("%v over %v", criterion, space),
			"Separate over all 2-partitions, with no bridge"}
	}
	lower, err := Lower(criterion, space)
	if err != nil {
		return Family{}, err
	}
	size := min(s.K, s.L)
	if m := binomial(space.Nodes, size); m.Cmp(big.NewInt(buildGoals)) > 0 {
		return Family{}, &RangeError{"size of the family", m, fmt.Sprintf("at most %d", buildGoals)}
	}
	family := Family{Method: "each against the rest", Lower: lower}
	for set := range firstNodes(space.Nodes).choose(size) {
		p, err := NewPartition(space.Nodes, set, firstNodes(space.Nodes)&^set)
		if err != nil {
			return Family{}, err
		}
		if !slices.Contains(family.Partitions, p) { // half against half comes twice
			family.Partitions = append(family.Partitions, p)
		}
	}
	return family, nil
}
