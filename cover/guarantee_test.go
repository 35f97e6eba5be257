package cover_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// TestGuaranteesInOrder holds the three guarantees against each other: the paper's
// rules promise no more than the union bound, and that no more than the truth.
func TestGuaranteesInOrder(t *testing.T) {
	tier.NotShort(t)
	rules, exacts := 0, 0
	for n := 2; n <= tier.Pick(5, 6); n++ {
		for _, criterion := range criteria(n) {
			for _, space := range spaces(n) {
				probability, err := cover.ProbabilityOf(criterion, space)
				if err != nil {
					continue
				}
				what := criterion.String() + " over " + space.String()
				for _, rule := range must(probability.Rules()) {
					inOrder(t, what, rule, probability.Union())
					rules++
				}
				if probability.Goals.Int64() > 15 {
					continue // exact would take long
				}
				if exact, err := cover.ExactOf(criterion, space); err == nil {
					inOrder(t, what, probability.Union(), exact)
					exacts++
				}
			}
		}
	}
	if rules < 100 || exacts < 100 {
		t.Errorf("only %d rules and %d exact probabilities were compared", rules, exacts)
	}
}

// inOrder wants the second guarantee to promise at least as much.
func inOrder(t *testing.T, what string, below, above cover.Guarantee) {
	t.Helper()
	for tests := 1; tests <= 100; tests += 3 {
		if a, b := must(below.Reached(tests)), must(above.Reached(tests)); a > b+1e-12 {
			t.Errorf("%s, %d tests: %v by %T, %v by %T", what, tests, a, below, b, above)
		}
	}
	for _, confidence := range []float64{0.5, 0.8, 0.99} {
		if a, b := must(below.Enough(confidence)), must(above.Enough(confidence)); a < b {
			t.Errorf("%s, confidence %v: %d tests by %T, %d by %T", what, confidence, a, below, b, above)
		}
	}
	if a, b := must(below.Exists()), must(above.Exists()); a < b {
		t.Errorf("%s exists: %d tests by %T, %d by %T", what, a, below, b, above)
	}
}

// TestThereAndBack draws probabilities and asks in both directions.
func TestThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		denominator := rapid.Int64Range(1, 5000).Draw(t, "denominator")
		p := big.NewRat(rapid.Int64Range(1, denominator).Draw(t, "numerator"), denominator)
		m := big.NewInt(rapid.Int64Range(1, 1<<40).Draw(t, "goals"))
		confidence := rapid.Float64Range(1e-6, 1-1e-9).Draw(t, "confidence")
		union, rule := cover.Union{P: p, Goals: m}, must(cover.Theorem31(p, m))
		tests := must(union.Enough(confidence))
		if reached := must(union.Reached(tests)); reached < confidence-1e-12 {
			t.Fatalf("%d tests are enough for %v but reach %v", tests, confidence, reached)
		}
		if tests > 1 && must(union.Reached(tests-1)) >= confidence {
			t.Fatalf("%d tests are not the fewest for %v", tests, confidence)
		}
		more := must(rule.Enough(confidence))
		if more < tests {
			t.Fatalf("Theorem 3.1 asks for %d tests, the union bound for %d", more, tests)
		}
		if reached := must(rule.Reached(more)); reached < confidence-1e-9 {
			t.Fatalf("%d tests are enough by Theorem 3.1 for %v but reach %v", more, confidence, reached)
		}
	})
}

// TestTies checks whole numbers of tests that float64 would round away from.
func TestTies(t *testing.T) {
	half := cover.Union{P: big.NewRat(1, 2), Goals: big.NewInt(1)}
	tenth := cover.Union{P: big.NewRat(9, 10), Goals: big.NewInt(1)}
	binary := corollary(cover.Split{K: 2}, cover.Uniform(8, 2))
	for _, c := range []struct {
		guarantee  cover.Guarantee
		confidence float64
		want       int
	}{
		{half, 0.75, 2}, {half, 0.875, 3}, {half, 0.8750001, 4},
		{tenth, 0.9, 1}, {tenth, 0.99, 2}, {tenth, 0.99999, 5},
		{binary, 0.5, 6}, {binary, 0.875, 8}, {binary, 0.9375, 9},
	} {
		if have := must(c.guarantee.Enough(c.confidence)); have != c.want {
			t.Errorf("%T for %v: %d tests, want %d", c.guarantee, c.confidence, have, c.want)
		}
	}
	if sure := (cover.Union{P: big.NewRat(1, 1), Goals: big.NewInt(7)}); must(sure.Enough(0.999)) != 1 ||
		must(sure.Exists()) != 1 {
		t.Error("a test that covers everything is not enough")
	}
}

// TestSequencesInOrder holds Theorem 3.2 and its union bound against the exact
// probability, for targets that overlap themselves and targets that do not.
func TestSequencesInOrder(t *testing.T) {
	for _, target := range [][]int{{0}, {0, 1}, {0, 0}, {0, 1, 0}, {0, 1, 2}} {
		s := cover.Sequences{Operations: 3, Length: len(target)}
		union := must(s.Union())
		for length := 1; length <= 60; length++ {
			exact := ratFloat(must(cover.Occurs(3, length, target)))
			reached := must(union.Reached(length))
			if reached > exact+1e-12 || len(target) == 1 && math.Abs(reached-exact) > 1e-12 {
				t.Errorf("%v in %d operations: %v by the union bound, exactly %v", target, length, reached, exact)
			}
			for _, rule := range must(s.Rules()) {
				if by := must(rule.Reached(length)); by > reached+1e-12 {
					t.Errorf("%v in %d operations: %v by %s, %v by the union bound", target, length, by, rule.Name, reached)
				}
			}
		}
	}
}

// TestOccursByHand counts short sequences one by one.
func TestOccursByHand(t *testing.T) {
	for _, targets := range [][][]int{{{0, 0}}, {{0, 1, 0}, {1, 0}}, {{0, 1, 0, 2}, {1, 0}}, {{2}},
		{{0, 1}, {1, 2}, {2, 0, 2}}} {
		for length := range 8 {
			hits, total := 0, int(math.Pow(3, float64(length)))
			for code := range total {
				text := make([]byte, length)
				for i := range text {
					text[i] = byte(code % 3)
					code /= 3
				}
				for _, target := range targets {
					if occurs(text, target) {
						hits++
						break
					}
				}
			}
			if have := must(cover.Occurs(3, length, targets...)); have.Cmp(big.NewRat(int64(hits), int64(total))) != 0 {
				t.Errorf("%v in %d operations: %v, want %d of %d", targets, length, have, hits, total)
			}
		}
	}
}

// TestRefused lists wrong arguments with what the error must say: the value and the
// range.
func TestRefused(t *testing.T) {
	space := cover.Uniform(5, 2)
	four := must(cover.ParsePartition("1,2|3,4"))
	union := cover.Union{P: big.NewRat(1, 2), Goals: big.NewInt(3)}
	for _, c := range []struct {
		want string
		err  error
	}{
		{"node = 65: want 1 to 64", errOf(cover.SetOf(3, 65))},
		{"node = 0: want 1 to 64", errOf(cover.SetOf(0))},
		{"nodes = 65: want 1 to 64", errOf(cover.Whole(65))},
		{"nodes = 0: want 1 to 64", errOf(cover.Uniform(0, 1).Count())},
		{"blocks = 6: want 1 to 5 (the nodes that are not on the bridge)", errOf(cover.Uniform(5, 6).Count())},
		{"blocks = 0: want 1 to 5 (the nodes that are not on the bridge)", errOf(cover.NewSampler(cover.Balanced(5, 0)))},
		{"size of a side = 0: want 1 to 3 (the nodes)", errOf(cover.Sized(0, 3).Count())},
		{"sizes = [2 2]: want 2 sizes that with a fixed bridge of 0 sum to 5",
			errOf(cover.Space{Nodes: 5, Blocks: 2, Sizes: []int{2, 2}}.All())},
		{"bridge = -2: want -1 to 5 (-1 for any)", errOf(cover.Space{Nodes: 5, Blocks: 2, Bridge: -2}.Count())},
		{"blocks = 1: want at least 2 with a bridge", errOf(cover.Space{Nodes: 5, Blocks: 1, Bridge: 1}.Count())},
		{"nodes in no block = {3}: want each of 1 to 3 in one block or, as a bridge, in all",
			errOf(cover.NewPartition(3, 1, 2))},
		{"nodes of the blocks = {3,4}: want each of 1 to 2 in one block or, as a bridge, in all",
			errOf(cover.NewPartition(2, 3, 12))},
		{"nodes in some blocks but not in all = {2}: want each of 1 to 3 in one block or, as a bridge, in all",
			errOf(cover.NewPartition(3, 3, 2, 4))},
		{"block = {2}: want a node besides the bridge", errOf(cover.NewPartition(2, 3, 2))},
		{`node = "x": want a number, as in 1,4|2,3,5`, errOf(cover.ParsePartition("1,x"))},
		{"k = 6: want 1 to 5 (the nodes)", errOf(cover.ProbabilityOf(cover.Split{K: 6}, space))},
		{"l = 4: want 1 to 3 (the nodes besides k)", errOf(cover.ProbabilityOf(cover.Separate{K: 2, L: 4}, space))},
		{"bridge nodes of the goal = 4: want 0 to 3 (the nodes that the goal does not name)",
			errOf(cover.Goals(cover.Split{K: 2, Bridge: 4}, 5))},
		{"criterion = <nil>: want Split, Separate or Isolate", errOf(cover.ProbabilityOf(nil, space))},
		{"probability of minority isolation = 0: want a space other than the 2-partitions of 4 nodes with sides of 2 and " +
			"2, none of which covers a goal", errOf(cover.ProbabilityOf(cover.Isolate{}, cover.Balanced(4, 2)))},
		{"nodes of the partition 1,2|3,4 = 4: want 5", cover.Check(cover.Split{K: 2}, space, []cover.Partition{four})},
		{"sides of the partition 1,2|3,4 = 2: want 3 to 3", cover.Uniform(4, 3).Contains(four)},
		{"sizes of the partition 1,2|3,4 = [2 2]: want [1 3]", cover.Sized(1, 3).Contains(four)},
		{"confidence = 1: want a number within (0,1)", errOf(union.Enough(1))},
		{"confidence = 0: want a number within (0,1)", errOf(union.Enough(0))},
		{"confidence = NaN: want a number within (0,1)", errOf(union.Enough(math.NaN()))},
		{"tests = 0: want 1 to 9007199254740992", errOf(union.Reached(0))},
		{"goals = <nil>: want at least 1", errOf(cover.Union{P: big.NewRat(1, 2)}.Exists())},
		{"probability that a test covers a goal = 3/2: want a number above 0 and at most 1",
			errOf(cover.Theorem31(big.NewRat(3, 2), big.NewInt(1)))},
		{"rule mine = [0 0]: want A of at least 0 and B above 0", errOf(cover.Rule{Name: "mine"}.Exists())},
		{"exact guarantee = empty: want one made by ExactOf", errOf((&cover.Exact{}).Reached(3))},
		{"number of goals of 3-splitting = 84: want at most 20 to list them",
			errOf(cover.ExactOf(cover.Split{K: 3}, cover.Uniform(9, 3)))},
		{"operations = 0: want 1 to 2147483647", errOf(cover.Sequences{Length: 1}.Probability())},
		{"target sequences = 10: want 1 to 9, all sequences of length 2",
			errOf(cover.Sequences{Operations: 3, Length: 2, Targets: 10}.Rules())},
		{"operation = 3: want 0 to 2 (the operations)", errOf(cover.Occurs(3, 5, []int{3}))},
		{"nodes = 2: want 3 to 64 (with two nodes neither is in a minority)", errOf(cover.InTurn(2))},
		{"nodes = 1: want 2 to 64", errOf(cover.Remark46(1))},
		{"criterion = minority isolation: want Split or Separate", errOf(cover.Dense(cover.Isolate{}, space))},
		{"budget = 0: want 1 to 2147483647", errOf(cover.Smallest(cover.Isolate{}, space, 0))},
	} {
		var wrong *cover.RangeError
		if !errors.As(c.err, &wrong) || c.err.Error() != c.want {
			t.Errorf("have error %v\nwant       %v", c.err, c.want)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }
