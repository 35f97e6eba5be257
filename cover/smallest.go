package cover

import (
	"math/big"
	"math/bits"
	"slices"
)

// Smallest searches for a covering family of the least size, by branch and bound
// over the partitions of a small space. It looks at no more than budget branches.
// Family.Lower says what was proved: the family is of the least size if it has
// Lower members.
func Smallest(criterion Criterion, space Space, budget int) (Family, error) {
	family, err := Build(criterion, space)
	if err != nil {
		return Family{}, err
	}
	if err := inRange("budget", budget, 1, 1<<31-1, ""); err != nil {
		return Family{}, err
	}
	if count := space.count(); count.Cmp(big.NewInt(exactTests)) > 0 {
		return Family{}, &RangeError{"number of " + space.String(), count, "at most 65536 to search them"}
	}
	goals, err := listGoals(criterion, space.Nodes, buildGoals)
	if err != nil {
		return Family{}, err
	}
	seq, err := space.All()
	if err != nil {
		return Family{}, err
	}
	s := newSearch(goals, slices.Collect(seq), budget)
	for size := family.Lower; size < len(family.Partitions); size++ {
		if s.start(size) {
			return Family{Partitions: s.members(), Method: "search", Lower: size}, nil
		}
		if s.budget <= 0 {
			break
		}
		family.Lower = size + 1
	}
	return family, nil
}

// A search looks for a set cover: tests[i] covers the goals in covers[i].
type search struct {
	tests  []Partition
	covers []bitset
	of     [][]int // of[goal] lists the tests that cover it
	most   int     // the most goals that one test covers
	chosen []int
	budget int
}

func newSearch(goals []PartitionGoal, tests []Partition, budget int) *search {
	s := &search{tests: tests, of: make([][]int, len(goals)), budget: budget}
	for i, p := range tests {
		covered := make(bitset, (len(goals)+63)/64)
		for j, g := range goals {
			if g.CoveredBy(p) {
				covered[j/64] |= 1 << (j % 64)
				s.of[j] = append(s.of[j], i)
			}
		}
		s.covers = append(s.covers, covered)
		s.most = max(s.most, covered.len())
	}
	return s
}

// start looks for a cover with the given number of tests. Because goals and tests
// are closed under renaming of the nodes, some cover has the first test of some
// shape as a member if there is a cover at all.
func (s *search) start(size int) bool {
	left := make(bitset, len(s.covers[0]))
	for goal := range s.of {
		left[goal/64] |= 1 << (goal % 64)
	}
	tried := map[string]bool{}
	for i, p := range s.tests {
		shape := string(p.shapeKey())
		if tried[shape] {
			continue
		}
		tried[shape] = true
		s.chosen = append(s.chosen[:0], i)
		if s.extend(left.without(s.covers[i]), size-1) {
			return true
		}
	}
	return false
}

// shapeKey is equal for partitions that differ only by a renaming of the nodes.
func (p Partition) shapeKey() []byte {
	key := []byte{byte(p.Bridge().Len())}
	for _, size := range p.shape() {
		key = append(key, byte(size))
	}
	return key
}

// extend covers what is left with the given number of tests. It branches over the
// tests that cover the first goal left, of which one must be chosen, and leaves
// out those after which more is left than so many tests can cover.
func (s *search) extend(left bitset, tests int) bool {
	if left.len() == 0 {
		return true
	}
	s.budget--
	if s.budget <= 0 {
		return false
	}
	for _, i := range s.of[left.first()] {
		if left.lenWithout(s.covers[i]) > (tests-1)*s.most {
			continue
		}
		s.chosen = append(s.chosen, i)
		if s.extend(left.without(s.covers[i]), tests-1) {
			return true
		}
		s.chosen = s.chosen[:len(s.chosen)-1]
	}
	return false
}

func (s *search) members() []Partition {
	members := make([]Partition, len(s.chosen))
	for i, test := range s.chosen {
		members[i] = s.tests[test]
	}
	return members
}

// A bitset is a set of goals.
type bitset []uint64

func (b bitset) len() int {
	n := 0
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

func (b bitset) first() int {
	for i, word := range b {
		if word != 0 {
			return 64*i + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// lenWithout is the length of without.
func (b bitset) lenWithout(other bitset) int {
	n := 0
	for i := range b {
		n += bits.OnesCount64(b[i] &^ other[i])
	}
	return n
}

func (b bitset) without(other bitset) bitset {
	rest := make(bitset, len(b))
	for i := range b {
		rest[i] = b[i] &^ other[i]
	}
	return rest
}
