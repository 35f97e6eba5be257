package cover

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// A Sampling is the random test of a partition sequence: for each stage it draws a partition from
// the stage's space (see PartitionSequence.Spaces), other than the one in force, and under it operations,
// each of any kind at any node with equal probabilities. The strategy partition makes such tests.
type Sampling struct {
	// Nodes is the number of nodes.
	Nodes int
	// Balanced goes to PartitionSequence.Spaces.
	Balanced bool
	// Roles says which nodes play which role. A role of the partition sequence that is not among them is played by one
	// node that has no other role. Chances depend only on how many nodes share roles, not on
	// which: the roles may move from stage to stage as long as that stays the same.
	Roles []Role
	// Operations names the operations that are drawn; none stands for those of the partition sequence.
	Operations []string
	// During is how many operations are drawn under each stage; 0 stands for as many as the
	// stage wants.
	During int
}

// samplingLimit bounds the partitions of a stage that are gone through.
const samplingLimit = 1 << 16

// Probability is the exact probability that a sampling covers the partition sequence. There is one goal. A
// partition sequence that no sampling covers is an error.
func (s PartitionSequence) Probability(t Sampling) (Probability, error) {
	spaces, err := s.Spaces(t.Nodes, t.Balanced)
	if err != nil {
		return Probability{}, err
	}
	if err := t.complete(s); err != nil {
		return Probability{}, err
	}
	role := Stage{Roles: t.Roles}.role
	// before has, by the partition of the stage before, the probability that the partition sequence was
	// covered up to there.
	before, sum := map[Partition]*big.Rat{}, big.NewRat(1, 1)
	for i, goal := range s {
		if before, sum, err = goal.sample(spaces[i], t, role, before, sum); err != nil {
			return Probability{}, fmt.Errorf("stage %d of the partition sequence: %w", i+1, err)
		}
	}
	if sum.Sign() == 0 {
		return Probability{}, &RangeError{"probability of the partition sequence " + s.String(), 0,
			fmt.Sprintf("a partition sequence that a test of %d nodes with these roles and operations can cover", t.Nodes)}
	}
	return Probability{P: sum, Bound: sum, Goals: big.NewInt(1), Source: "the exact probability"}, nil
}

// sample continues with one stage. A partition is drawn from those of the space that are not in
// force: one fewer, where the one in force belongs to the space.
func (s StageGoal) sample(space Space, t Sampling, role func(string) Set, before map[Partition]*big.Rat,
	sum *big.Rat) (map[Partition]*big.Rat, *big.Rat, error) {
	count := space.count()
	if count.Cmp(big.NewInt(samplingLimit)) > 0 {
		return nil, nil, &RangeError{"partitions", count, fmt.Sprintf("at most %d to go through them", samplingLimit)}
	}
	all, err := space.All()
	if err != nil {
		return nil, nil, err
	}
	within := new(big.Rat) // the part of sum in which the partition in force belongs to the space
	for p := range all {
		if was := before[p]; was != nil {
			within.Add(within, was)
		}
	}
	number := new(big.Rat).SetInt(count)
	fewer := new(big.Rat).Sub(number, big.NewRat(1, 1))
	now, total := map[Partition]*big.Rat{}, new(big.Rat)
	for p := range all {
		asked, err := s.asked(p, t, role)
		if err != nil {
			return nil, nil, err
		}
		if asked.Sign() == 0 {
			continue
		}
		// From outside of the space, and from the others within.
		probability := new(big.Rat).Sub(sum, within)
		probability.Quo(probability, number)
		others := new(big.Rat).Set(within)
		if was := before[p]; was != nil {
			others.Sub(others, was)
		}
		if others.Sign() != 0 {
			probability.Add(probability, others.Quo(others, fewer))
		}
		probability.Mul(probability, asked)
		now[p] = probability
		total.Add(total, probability)
	}
	return now, total, nil
}

// asked is the probability that the wanted operations are drawn under a partition; 0 if it
// does not have the stage's sides.
func (s StageGoal) asked(p Partition, t Sampling, role func(string) Set) (*big.Rat, error) {
	var patterns [][]Set // for each way to see the stage in the partition, where its operations are asked
	for sides := range s.places(p, role) {
		pattern := make([]Set, len(s.Ops))
		for i, w := range s.Ops {
			pattern[i] = p.asked(w.At, sides)
		}
		if !slices.ContainsFunc(patterns, func(other []Set) bool { return slices.Equal(other, pattern) }) {
			patterns = append(patterns, pattern)
		}
	}
	switch {
	case len(patterns) == 0:
		return new(big.Rat), nil
	case len(s.Ops) == 0:
		return big.NewRat(1, 1), nil
	case len(patterns)*len(s.Ops) > 64:
		return nil, &RangeError{"operations times ways to see the sides", len(patterns) * len(s.Ops), "at most 64"}
	}
	during := t.During
	if during == 0 {
		during = len(s.Ops)
	}
	missed, err := s.avoid(patterns, t, during)
	if err != nil {
		return nil, err
	}
	draws := power(len(t.Operations)*t.Nodes, during)
	return ratio(missed.Sub(draws, missed), draws), nil
}

// avoid counts the ways to draw operations, so many, in which no pattern occurs. A state is
// the set of the beginnings of patterns that the last operations are, as bits: those of one
// pattern follow each other, and after its last bit the count does not continue.
func (s StageGoal) avoid(patterns [][]Set, t Sampling, during int) (*big.Int, error) {
	var first, last uint64
	for i := range patterns {
		first |= 1 << (i * len(s.Ops))
		last |= 1 << ((i+1)*len(s.Ops) - 1)
	}
	type kind struct {
		matches uint64 // what an operation continues
		ways    int64
	}
	var kinds []kind
	for _, name := range t.Operations {
		for n := 1; n <= t.Nodes; n++ {
			var matches uint64
			for i, pattern := range patterns {
				for j, w := range s.Ops {
					if w.Name == name && pattern[j].Has(n) {
						matches |= 1 << (i*len(s.Ops) + j)
					}
				}
			}
			at := slices.IndexFunc(kinds, func(k kind) bool { return k.matches == matches })
			if at < 0 {
				at = len(kinds)
				kinds = append(kinds, kind{matches: matches})
			}
			kinds[at].ways++
		}
	}
	states, counts := []uint64{0}, []*big.Int{big.NewInt(1)}
	for range during {
		var after []uint64
		var ways []*big.Int
		index := map[uint64]int{}
		for i, state := range states {
			for _, k := range kinds {
				next := (state<<1 | first) & k.matches
				if next&last != 0 {
					continue
				}
				at, ok := index[next]
				if !ok {
					if at = len(after); at == 1<<14 {
						return nil, &RangeError{"operations of a stage", len(s.Ops), "fewer: there is too much to keep track of"}
					}
					index[next] = at
					after, ways = append(after, next), append(ways, new(big.Int))
				}
				ways[at].Add(ways[at], new(big.Int).Mul(counts[i], big.NewInt(k.ways)))
			}
		}
		states, counts = after, ways
	}
	sum := new(big.Int)
	for _, c := range counts {
		sum.Add(sum, c)
	}
	return sum, nil
}

// complete checks the sampling and fills in which nodes play the partition sequence's roles and what is drawn.
func (t *Sampling) complete(s PartitionSequence) error {
	if err := inRange("operations under a stage", t.During, 0, 1000, ""); err != nil {
		return err
	}
	if len(t.Operations) == 0 {
		t.Operations = s.Operations()
	}
	for i, name := range t.Operations {
		if slices.Contains(t.Operations[:i], name) {
			return &RangeError{"operation", name, "each operation once"}
		}
	}
	all := firstNodes(t.Nodes)
	var taken Set
	for _, r := range t.Roles {
		if r.Nodes == 0 || r.Nodes&^all != 0 {
			return &RangeError{"nodes of the role " + r.Name, r.Nodes, fmt.Sprintf("some of 1 to %d", t.Nodes)}
		}
		taken |= r.Nodes
	}
	for _, goal := range s {
		for _, p := range goal.Sides {
			if p.Nodes&^all != 0 {
				return &RangeError{"nodes of the partition sequence", p.Nodes &^ all, fmt.Sprintf("1 to %d", t.Nodes)}
			}
			taken |= p.Nodes
		}
	}
	t.Roles = slices.Clone(t.Roles)
	for _, name := range s.Roles() {
		if (Stage{Roles: t.Roles}).role(name) != 0 {
			continue
		}
		free := all &^ taken
		if free == 0 {
			return &RangeError{"nodes", t.Nodes, "a node for the role " + name + ", or the nodes that play it"}
		}
		t.Roles = append(t.Roles, Role{Name: name, Nodes: free & -free})
		taken |= free & -free
	}
	return nil
}

// ParseRole reads the nodes of a role, as in "leader=1" or "mesos=2+3+4".
func ParseRole(text string) (Role, error) {
	name, list, ok := strings.Cut(text, "=")
	if !ok || !isRole(name) {
		return Role{}, &RangeError{"role", strconv.Quote(text), "a name and nodes, as in leader=1 or mesos=2+3+4"}
	}
	r := Role{Name: name}
	for word := range strings.SplitSeq(list, "+") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return Role{}, &RangeError{"node of the role " + name, strconv.Quote(word), "a number, as in mesos=2+3+4"}
		}
		set, err := SetOf(n)
		if err != nil {
			return Role{}, err
		}
		r.Nodes |= set
	}
	return r, nil
}
