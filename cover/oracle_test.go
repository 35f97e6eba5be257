package cover_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// The oracle works on lists of nodes and follows the definitions word by word.

// plain is a partition as lists of nodes.
type plain struct {
	nodes  int
	sides  [][]int
	bridge []int
}

func plainly(p cover.Partition) plain {
	list := plain{nodes: p.Nodes(), bridge: p.Bridge().Nodes()}
	for _, s := range p.Sides() {
		list.sides = append(list.sides, s.Nodes())
	}
	return list
}

// subset reports whether the side has all nodes of the part.
func subset(part cover.Set, side []int) bool {
	have := 0
	for _, node := range side {
		if part.Has(node) {
			have++
		}
	}
	return have == part.Len()
}

// covers decides whether a partition covers a goal by looking at its sides.
func (p plain) covers(g cover.PartitionGoal) bool {
	sides := p.sides
	if !subset(g.Bridge, p.bridge) {
		return false
	}
	switch g.Kind {
	case cover.Splits: // as many sides as nodes have one of them each
		hit := 0
		for _, side := range sides {
			if slices.ContainsFunc(side, g.A.Has) {
				hit++
			}
		}
		return hit == g.A.Len()
	case cover.Separates:
		for i, x := range sides {
			for j, y := range sides {
				if i != j && subset(g.A, x) && subset(g.B, y) {
					return true
				}
			}
		}
		return false
	case cover.Isolates:
		for _, x := range sides {
			others := p.nodes - len(p.bridge) - len(x)
			if subset(g.A, x) && len(x) < others {
				return true
			}
		}
		return false
	}
	return true
}

// enumerate finds all partitions of a space by trying every labelling of the nodes;
// the last label means the bridge.
func enumerate(space cover.Space) map[cover.Partition]bool {
	found := map[cover.Partition]bool{}
	labels := make([]int, space.Nodes)
	for {
		blocks := make([]cover.Set, space.Blocks)
		for node, l := range labels {
			set := must(cover.SetOf(node + 1))
			for i := range blocks {
				if i == l || l == space.Blocks {
					blocks[i] |= set
				}
			}
		}
		if p, err := cover.NewPartition(space.Nodes, blocks...); err == nil && fits(p, space) {
			found[p] = true
		}
		i := 0
		for i < len(labels) && labels[i] == space.Blocks {
			labels[i] = 0
			i++
		}
		if i == len(labels) {
			return found
		}
		labels[i]++
	}
}

func fits(p cover.Partition, space cover.Space) bool {
	bridge := p.Bridge().Len()
	if bridge != space.Bridge && !(space.Bridge == cover.AnyBridge && bridge > 0) {
		return false
	}
	var sizes []int
	for _, s := range p.Sides() {
		sizes = append(sizes, s.Len())
	}
	slices.Sort(sizes)
	return space.Sizes == nil || slices.Equal(sizes, slices.Sorted(slices.Values(space.Sizes)))
}

// spaces lists spaces of all sorts for n nodes.
func spaces(n int) []cover.Space {
	var list []cover.Space
	for k := 1; k <= min(n, 4); k++ {
		list = append(list, cover.Uniform(n, k), cover.Balanced(n, k))
	}
	if n >= 4 {
		list = append(list, cover.Semibalanced(n), cover.Sized(1, n-1),
			cover.Space{Nodes: n, Blocks: 2, Sizes: []int{1, n - 2}, Bridge: 1})
	}
	for k := 2; k <= min(n-1, 3); k++ {
		list = append(list, cover.Space{Nodes: n, Blocks: k, Bridge: 1},
			cover.Space{Nodes: n, Blocks: k, Bridge: cover.AnyBridge})
	}
	return list
}

// criteria lists criteria of all sorts for n nodes.
func criteria(n int) []cover.Criterion {
	var list []cover.Criterion
	for bridge := range 3 {
		for k := 1; k+bridge <= min(n, 4); k++ {
			list = append(list, cover.Split{K: k, Bridge: bridge})
		}
		for k := 1; k <= 3; k++ {
			for l := 1; l <= 3 && k+l+bridge <= n; l++ {
				list = append(list, cover.Separate{K: k, L: l, Bridge: bridge})
			}
		}
		if bridge < n {
			list = append(list, cover.Isolate{Bridge: bridge})
		}
	}
	return list
}

// TestEnumeration holds All, Count and Contains against the oracle.
func TestEnumeration(t *testing.T) {
	for n := 1; n <= 6; n++ {
		for _, space := range spaces(n) {
			want := enumerate(space)
			have := map[cover.Partition]bool{}
			for p := range must(space.All()) {
				if !want[p] || have[p] {
					t.Fatalf("%v: %v is wrong or comes twice", space, p)
				}
				if err := space.Contains(p); err != nil {
					t.Fatalf("%v does not contain %v: %v", space, p, err)
				}
				have[p] = true
			}
			if count := must(space.Count()); len(have) != len(want) || count.Cmp(big.NewInt(int64(len(want)))) != 0 {
				t.Errorf("%v: %d enumerated, Count is %v, want %d", space, len(have), count, len(want))
			}
		}
	}
}

// TestGoals holds CoveredBy, the list of goals and the exact probabilities against the
// oracle: every goal, in every space, is covered by the same share of the tests.
func TestGoals(t *testing.T) {
	tier.NotShort(t)
	for n := 1; n <= tier.Pick(6, 7); n++ {
		for _, criterion := range criteria(n) {
			goals := slices.Collect(must(cover.Goals(criterion, n)))
			if count := must(cover.CountGoals(criterion, n)); count.Int64() != int64(len(goals)) {
				t.Errorf("%v over %d nodes: CountGoals %v, listed %d", criterion, n, count, len(goals))
			}
			distinct := map[cover.PartitionGoal]bool{}
			for _, g := range goals {
				distinct[g] = true
			}
			if len(distinct) != len(goals) {
				t.Errorf("%v over %d nodes lists goals twice", criterion, n)
			}
			for _, space := range spaces(n) {
				checkProbability(t, criterion, space, goals)
			}
		}
	}
}

func checkProbability(t *testing.T, criterion cover.Criterion, space cover.Space, goals []cover.PartitionGoal) {
	t.Helper()
	tests := slices.Collect(must(space.All()))
	lists := make([]plain, len(tests))
	for i, p := range tests {
		lists[i] = plainly(p)
	}
	want := new(big.Rat)
	if probability, err := cover.ProbabilityOf(criterion, space); err == nil {
		want = probability.P
		if probability.Bound.Cmp(probability.P) > 0 {
			t.Errorf("%v over %v: bound %v above probability %v", criterion, space, probability.Bound, probability.P)
		}
	}
	for _, g := range goals {
		covering := 0
		for i, p := range tests {
			have := g.CoveredBy(p)
			if have != lists[i].covers(g) {
				t.Fatalf("%v by %v: CoveredBy is %v", g, p, have)
			}
			if have {
				covering++
			}
		}
		if have := big.NewRat(int64(covering), int64(len(tests))); have.Cmp(want) != 0 {
			t.Fatalf("%v over %v: %v of the tests %v, want %v", criterion, space, have, g, want)
		}
	}
}

// TestExact holds the exact probability of full coverage against a walk over the
// sets of covered goals, test by test.
func TestExact(t *testing.T) {
	tier.NotShort(t)
	compared := 0
	for n := 2; n <= 6; n++ {
		for _, criterion := range criteria(n) {
			for _, space := range spaces(n) {
				goals := slices.Collect(must(cover.Goals(criterion, n)))
				tests := slices.Collect(must(space.All()))
				if len(goals) > 12 || len(tests) > 100 {
					continue
				}
				exact, err := cover.ExactOf(criterion, space)
				if err != nil {
					continue // no test of the space covers a goal
				}
				compared++
				if err := walk(exact, goals, tests); err != nil {
					t.Errorf("%v over %v: %v", criterion, space, err)
				}
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d cases compared", compared)
	}
}

// walk computes the number of sequences of tests that cover each set of goals.
func walk(exact *cover.Exact, goals []cover.PartitionGoal, tests []cover.Partition) error {
	masks := make([]int, len(tests))
	for i, p := range tests {
		list := plainly(p)
		for j, g := range goals {
			if list.covers(g) {
				masks[i] |= 1 << j
			}
		}
	}
	full := 1<<len(goals) - 1
	ways := map[int]*big.Int{0: big.NewInt(1)}
	total := big.NewInt(1)
	first := 0
	for n := 1; n <= 8; n++ {
		next := map[int]*big.Int{}
		for covered, count := range ways {
			for _, mask := range masks {
				set := covered | mask
				if next[set] == nil {
					next[set] = new(big.Int)
				}
				next[set].Add(next[set], count)
			}
		}
		ways = next
		total.Mul(total, big.NewInt(int64(len(tests))))
		want := new(big.Rat)
		if ways[full] != nil {
			want.SetFrac(ways[full], total)
			if first == 0 {
				first = n
			}
		}
		if have := must(exact.Probability(n)); have.Cmp(want) != 0 {
			return fmt.Errorf("%d tests: have %v, want %v", n, have, want)
		}
		if have, rounded := must(exact.Reached(n)), ratFloat(want); have != rounded {
			return fmt.Errorf("%d tests: Reached is %v, want %v", n, have, rounded)
		}
	}
	if have := must(exact.Exists()); first != 0 && have != first {
		return fmt.Errorf("smallest family has %d tests, want %d", have, first)
	}
	return nil
}
