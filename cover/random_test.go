package cover_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/internal/testkit/odds"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// TestUniform is a chi-square test of the sampler against all partitions of a space:
// 50 draws for each, and the statistic below a limit that a right sampler exceeds with probability
// 3e-14.
func TestUniform(t *testing.T) {
	tier.NotShort(t)
	list := []cover.Space{
		cover.Uniform(5, 2), cover.Uniform(6, 3), cover.Uniform(7, 4), cover.Uniform(8, 2), cover.Uniform(8, 4),
		cover.Uniform(9, 3), cover.Uniform(9, 8),
		cover.Balanced(5, 2), cover.Balanced(8, 3), cover.Semibalanced(8), cover.Sized(1, 3), cover.Sized(1, 2, 2, 3),
		{Nodes: 6, Blocks: 2, Bridge: cover.AnyBridge}, {Nodes: 7, Blocks: 3, Bridge: cover.AnyBridge},
		{Nodes: 7, Blocks: 2, Bridge: 2}, {Nodes: 7, Blocks: 2, Bridge: 1, Sizes: []int{2, 4}},
	}
	for i, space := range list {
		for _, exact := range []bool{false, true} {
			sampler := must(cover.NewSampler(space))
			if exact {
				sampler.ForceExact()
			}
			cells := map[cover.Partition]int{}
			all := slices.Collect(must(space.All()))
			rng := seeded(uint64(i))
			for range 50 * len(all) {
				cells[sampler.Draw(rng)]++
			}
			statistic := 0.0
			for _, p := range all {
				d := float64(cells[p]) - 50
				statistic += d * d / 50
				delete(cells, p)
			}
			limit := chiSquareLimit(len(all) - 1)
			if statistic > limit || len(cells) > 0 {
				t.Errorf("%v: chi-square %.1f, limit %.1f; %d draws from outside", space, statistic, limit, len(cells))
			}
		}
	}
}

// chiSquareLimit is a quantile of the chi-square distribution, in the approximation of Wilson and Hilferty.
func chiSquareLimit(freedom int) float64 {
	v := 2 / (9 * float64(freedom))
	return float64(freedom) * math.Pow(1-v+odds.Sigmas*math.Sqrt(v), 3)
}

// TestUniformLarge draws where Stirling numbers are beyond uint64 and compares the
// mean number of singletons with n S(n-1,k-1)/S(n,k), within 5 standard errors.
func TestUniformLarge(t *testing.T) {
	const n, k, draws = 64, 12, 4000
	space := cover.Uniform(n, k)
	sampler := must(cover.NewSampler(space))
	rng := seeded(1)
	sum, squares := 0.0, 0.0
	for range draws {
		p := sampler.Draw(rng)
		if err := space.Contains(p); err != nil {
			t.Fatal(err)
		}
		alone := 0.0
		for _, side := range p.Sides() {
			if side.Len() == 1 {
				alone++
			}
		}
		sum += alone
		squares += alone * alone
	}
	before, _ := must(cover.Uniform(n-1, k-1).Count()).Float64()
	all, _ := must(space.Count()).Float64()
	want, mean := n*before/all, sum/draws
	if deviation := math.Sqrt((squares/draws - mean*mean) / draws); math.Abs(mean-want) > odds.Sigmas*deviation {
		t.Errorf("%.4f singletons on average, want %.4f within %.4f", mean, want, odds.Sigmas*deviation)
	}
}

// near compares a measured frequency with a probability.
func near(t *testing.T, what string, hits, draws int, p float64) {
	t.Helper()
	if !odds.Fits(hits, draws, p) {
		t.Errorf("%s: measured %.5f of %d, exact %.5f", what, float64(hits)/float64(draws), draws, p)
	}
}

// TestMonteCarloPartitions measures, for up to nine nodes, all criteria and spaces,
// how often a drawn partition covers one goal.
func TestMonteCarloPartitions(t *testing.T) {
	tier.NotShort(t)
	const draws = 20000
	compared := 0
	for n := 2; n <= 9; n++ {
		for _, space := range spaces(n) {
			rng := seeded(uint64(n))
			sampler := must(cover.NewSampler(space))
			tests := make([]cover.Partition, draws)
			for i := range tests {
				tests[i] = sampler.Draw(rng)
			}
			for _, criterion := range criteria(n) {
				probability, err := cover.ProbabilityOf(criterion, space)
				if err != nil {
					continue
				}
				goals := slices.Collect(must(cover.Goals(criterion, n)))
				goal := goals[rng.IntN(len(goals))]
				hits := 0
				for _, p := range tests {
					if goal.CoveredBy(p) {
						hits++
					}
				}
				near(t, fmt.Sprintf("%v by %v", goal, space), hits, draws, ratFloat(probability.P))
				compared++
			}
		}
	}
	t.Logf("%d comparisons of %d draws each", compared, draws)
	if compared < 500 {
		t.Errorf("only %d comparisons", compared)
	}
}

// TestMonteCarloFamilies measures how often a number of tests covers all goals.
func TestMonteCarloFamilies(t *testing.T) {
	tier.NotShort(t)
	const draws = 1500
	for _, c := range []struct {
		criterion cover.Criterion
		space     cover.Space
		tests     int
	}{
		{cover.Split{K: 2}, cover.Uniform(9, 2), 7},
		{cover.Split{K: 3}, cover.Uniform(6, 3), 12},
		{cover.Split{K: 3}, cover.Balanced(6, 3), 8},
		{cover.Separate{K: 2, L: 2}, cover.Uniform(4, 2), 18},
		{cover.Separate{K: 1, L: 3}, cover.Uniform(5, 2), 30},
		{cover.Isolate{}, cover.Uniform(9, 2), 8},
		{cover.Isolate{}, cover.Uniform(8, 2), 12},
		{cover.Isolate{}, cover.Balanced(5, 2), 9},
		{cover.Isolate{Bridge: 1}, cover.Space{Nodes: 5, Blocks: 2, Bridge: 1}, 40},
	} {
		sampler := must(cover.NewSampler(c.space))
		rng := seeded(3)
		hits := 0
		for range draws {
			family := make([]cover.Partition, c.tests)
			for i := range family {
				family[i] = sampler.Draw(rng)
			}
			if cover.Check(c.criterion, c.space, family) == nil {
				hits++
			}
		}
		near(t, fmt.Sprintf("%d tests for %v by %v", c.tests, c.criterion, c.space), hits, draws,
			must(must(cover.ExactOf(c.criterion, c.space)).Reached(c.tests)))
	}
}

// TestMonteCarloOccurrences measures how often a target occurs contiguously.
func TestMonteCarloSequences(t *testing.T) {
	const draws = 20000
	for _, c := range []struct {
		operations, length int
		targets            [][]int
	}{
		{2, 10, [][]int{{0, 0, 0}}}, // overlaps itself
		{2, 10, [][]int{{0, 1, 1}}}, // does not
		{3, 12, [][]int{{0, 1}, {1, 2, 2}}},
		{3, 12, [][]int{{0, 1, 0}, {1, 0}}}, // one within the other
		{15, 30, [][]int{{3, 7}}},
		{4, 1, [][]int{{2}}},
	} {
		rng := seeded(9)
		hits := 0
		for range draws {
			text := make([]byte, c.length)
			for i := range text {
				text[i] = byte(rng.IntN(c.operations))
			}
			if slices.ContainsFunc(c.targets, func(target []int) bool { return occurs(text, target) }) {
				hits++
			}
		}
		p := must(cover.Occurs(c.operations, c.length, c.targets...))
		near(t, fmt.Sprint(c), hits, draws, ratFloat(p))
	}
}

func occurs(text []byte, target []int) bool {
	for i := range text {
		j := 0
		for j < len(target) && i+j < len(text) && int(text[i+j]) == target[j] {
			j++
		}
		if j == len(target) {
			return true
		}
	}
	return false
}

// draw makes a stage with operations of Example 3.3: read, write 0 or write 1 at any
// node.
func draw(rng *rand.Rand, sampler *cover.Sampler, operations int) cover.Stage {
	stage := cover.Stage{Partition: sampler.Draw(rng)}
	for range operations {
		name := []string{"read", "write 0", "write 1"}[rng.IntN(3)]
		stage.Ops = append(stage.Ops, cover.Op{Name: name, Node: 1 + rng.IntN(stage.Partition.Nodes())})
	}
	return stage
}

// TestMonteCarloOccurrences measures the products of the paper's examples.
func TestMonteCarloPartitionSequences(t *testing.T) {
	const draws = 60000
	five, rng := must(cover.NewSampler(cover.Balanced(5, 2))), seeded(5)
	stale := must(cover.ParsePartitionSequence("minority|majority: write 1@2; read@1"))
	leader := must(cover.ParsePartitionSequence("leader(minority)|*: write 1@2; read@1"))
	staleHits, leaderHits := 0, 0
	for range draws {
		stage := draw(rng, five, 2)
		stage.Roles = []cover.Role{{Name: "leader", Nodes: must(cover.SetOf(4))}}
		if stale.In([]cover.Stage{stage}) {
			staleHits++
		}
		if leader.In([]cover.Stage{stage}) {
			leaderHits++
		}
	}
	near(t, "Example 3.3", staleHits, draws, ratFloat(must(amalgamated().Probability()).P))
	near(t, "Example 4.21", leaderHits, draws, ratFloat(etcd().P))

	first, second := must(cover.NewSampler(cover.Sized(2, 2))), must(cover.NewSampler(cover.Sized(1, 3)))
	lost := must(cover.ParsePartitionSequence("n1+n2|n3+n4 then n2(minority)|*"))
	hits := 0
	for range draws {
		if lost.In([]cover.Stage{draw(rng, first, 0), draw(rng, second, 0)}) {
			hits++
		}
	}
	near(t, "Example 4.13", hits, draws, ratFloat(kafka().P))
}
