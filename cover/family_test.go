package cover_test

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// TestFamiliesCover builds a family in every way, for criteria and spaces of all
// sorts, and checks it with the oracle rather than with Check.
func TestFamiliesCover(t *testing.T) {
	tier.NotShort(t)
	builders := map[string]func(cover.Criterion, cover.Space) (cover.Family, error){
		"Build": cover.Build, "Greedy": cover.Greedy, "Dense": cover.Dense, "EachAgainstRest": cover.EachAgainstRest,
	}
	built := map[string]int{}
	for n := 2; n <= 6; n++ {
		for _, criterion := range criteria(n) {
			goals := slices.Collect(must(cover.Goals(criterion, n)))
			for _, space := range spaces(n) {
				for name, build := range builders {
					family, err := build(criterion, space)
					if err != nil {
						continue
					}
					built[name]++
					if goal, ok := missing(goals, family.Partitions); !ok {
						t.Errorf("%s for %v over %v does not %v", name, criterion, space, goal)
					}
					if len(family.Partitions) < family.Lower {
						t.Errorf("%s for %v over %v has %d members, fewer than %d", name, criterion, space, len(family.Partitions),
							family.Lower)
					}
				}
			}
		}
	}
	for name := range builders {
		if built[name] < 20 {
			t.Errorf("%s built only %d families", name, built[name])
		}
	}
}

func missing(goals []cover.PartitionGoal, family []cover.Partition) (cover.PartitionGoal, bool) {
	for _, g := range goals {
		if !slices.ContainsFunc(family, func(p cover.Partition) bool { return plainly(p).covers(g) }) {
			return g, false
		}
	}
	return cover.PartitionGoal{}, true
}

// TestDenseKeepsItsPromise compares the size with the guarantee: each member covers
// at least the share p of what is left, so fewer than 1 goal is left after
// log m / -log(1-p) members.
func TestDenseKeepsItsPromise(t *testing.T) {
	for _, c := range []struct {
		criterion cover.Criterion
		space     cover.Space
	}{
		{cover.Split{K: 2}, cover.Uniform(64, 2)},
		{cover.Split{K: 3}, cover.Uniform(40, 3)},
		{cover.Split{K: 4}, cover.Uniform(20, 4)},
		{cover.Separate{K: 1, L: 2}, cover.Uniform(40, 2)},
		{cover.Separate{K: 2, L: 2}, cover.Uniform(20, 2)},
		{cover.Separate{K: 1, L: 4}, cover.Uniform(14, 2)},
	} {
		family := must(cover.Dense(c.criterion, c.space))
		if err := cover.Check(c.criterion, c.space, family.Partitions); err != nil {
			t.Errorf("%v: %v", c.criterion, err)
		}
		probability := must(cover.ProbabilityOf(c.criterion, c.space))
		m, _ := new(big.Float).SetInt(probability.Goals).Float64()
		promised := int(math.Log(m)/-math.Log1p(-ratFloat(probability.Bound))) + 1
		if len(family.Partitions) > promised {
			t.Errorf("%v over %v: %d members, promised %d", c.criterion, c.space, len(family.Partitions), promised)
		}
	}
}

// TestGreedyDraws builds where the partitions are too many to look at them all.
func TestGreedyDraws(t *testing.T) {
	for _, space := range []cover.Space{cover.Balanced(20, 3), {Nodes: 20, Blocks: 3, Bridge: 2}} {
		criterion := cover.Split{K: 3}
		family := must(cover.Greedy(criterion, space))
		if err := cover.Check(criterion, space, family.Partitions); err != nil {
			t.Error(err)
		}
		enough := must(must(cover.ProbabilityOf(criterion, space)).Union().Exists())
		if len(family.Partitions) > enough {
			t.Errorf("%d members, where %d drawn blindly may do", len(family.Partitions), enough)
		}
	}
}

// TestInTurn proves the isolating family and that it is the smallest, for every n.
func TestInTurn(t *testing.T) {
	for n := 3; n <= cover.MaxNodes; n++ {
		family := must(cover.InTurn(n))
		if err := cover.Check(cover.Isolate{}, cover.Semibalanced(n), family.Partitions); err != nil {
			t.Errorf("n = %d: %v", n, err)
		}
		if lower := must(cover.Lower(cover.Isolate{}, cover.Uniform(n, 2))); len(family.Partitions) != lower {
			t.Errorf("n = %d: %d members, the lower bound is %d", n, len(family.Partitions), lower)
		}
	}
}

// TestSmallestIsExact compares the search with the exact probability, which is above
// zero from the size of the smallest family on.
func TestSmallestIsExact(t *testing.T) {
	compared := 0
	for n := 2; n <= 5; n++ {
		for _, criterion := range criteria(n) {
			for _, space := range spaces(n) {
				if must(cover.CountGoals(criterion, n)).Int64() > 15 {
					continue
				}
				exact, err := cover.ExactOf(criterion, space)
				if err != nil {
					continue
				}
				family := must(cover.Smallest(criterion, space, 100_000))
				want := must(exact.Exists())
				if len(family.Partitions) != want || family.Lower != want {
					t.Errorf("%v over %v: %d members, lower bound %d, want %d", criterion, space, len(family.Partitions), family.Lower,
						want)
				}
				compared++
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d compared", compared)
	}
}

// TestCheckNames wants the goal that is missing when a member is left out.
func TestCheckNames(t *testing.T) {
	family := must(cover.Binary(8)).Partitions
	for i := range family {
		var missed *cover.Uncovered
		short := slices.Delete(slices.Clone(family), i, i+1)
		err := cover.Check(cover.Split{K: 2}, cover.Uniform(8, 2), short)
		if !errors.As(err, &missed) || plainly(family[i]).covers(missed.PartitionGoal) == false || missed.Rest != 3 {
			t.Errorf("without %v: %v", family[i], err)
		}
		for _, p := range short {
			if missed != nil && plainly(p).covers(missed.PartitionGoal) {
				t.Errorf("%v is covered by %v", missed.PartitionGoal, p)
			}
		}
	}
}
