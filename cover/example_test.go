package cover_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"

	"github.com/lockstep-go/lockstep/cover"
)

func ExampleSetOf() {
	set, err := cover.SetOf(4, 1)
	fmt.Println(set, set.Len(), set.Has(4), set.Nodes(), uint64(set), err)
	// Output: {1,4} 2 true [1 4] 9 <nil>
}

func ExampleNewPartition() {
	left, _ := cover.SetOf(1, 4)
	right, _ := cover.SetOf(2, 3, 5)
	p, err := cover.NewPartition(5, right, left)
	fmt.Println(p, p.Nodes(), p.Len(), err)
	fmt.Println(p.Connected(1, 4), p.Connected(1, 2))
	// Output:
	// 1,4|2,3,5 5 2 <nil>
	// true false
}

func ExampleParsePartition() {
	p, err := cover.ParsePartition("1,2,5|3,4,5") // node 5 is in both blocks
	fmt.Println(p.Sides(), p.Bridge(), p.Blocks(), err)
	fmt.Println(p.Connected(1, 3), p.Connected(1, 5))
	text, _ := json.Marshal(p)
	fmt.Println(string(text))
	// Output:
	// [{1,2} {3,4}] {5} [{1,2,5} {3,4,5}] <nil>
	// false true
	// [[1,2,5],[3,4,5]]
}

func ExampleWhole() {
	p, _ := cover.Whole(3)
	fmt.Println(p, p.Len())
	// Output: 1,2,3 1
}

func ExampleSpace() {
	for _, space := range []cover.Space{
		cover.Uniform(5, 2),
		cover.Balanced(5, 2),
		cover.Semibalanced(6),
		cover.Sized(1, 3),
		{Nodes: 5, Blocks: 2, Bridge: 1},
	} {
		count, _ := space.Count()
		fmt.Println(count, space)
	}
	// Output:
	// 15 2-partitions of 5 nodes
	// 10 2-partitions of 5 nodes with sides of 3 and 2
	// 15 2-partitions of 6 nodes with sides of 2 and 4
	// 4 2-partitions of 4 nodes with sides of 1 and 3
	// 35 2-partitions of 5 nodes, with a bridge of 1
}

func ExampleSpace_All() {
	all, _ := cover.Balanced(4, 2).All()
	for p := range all {
		fmt.Println(p)
	}
	// Output:
	// 1,2|3,4
	// 1,3|2,4
	// 1,4|2,3
}

func ExampleSpace_Contains() {
	p, _ := cover.ParsePartition("1,2,3|4")
	fmt.Println(cover.Uniform(4, 2).Contains(p))
	fmt.Println(cover.Balanced(4, 2).Contains(p))
	// Output:
	// <nil>
	// sizes of the partition 1,2,3|4 = [1 3]: want [2 2]
}

func ExampleSampler_Draw() {
	sampler, _ := cover.NewSampler(cover.Uniform(5, 3))
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		fmt.Println(sampler.Draw(rng))
	}
	// Output:
	// 1|2,5|3,4
	// 1,3,5|2|4
	// 1|2,4|3,5
}

func ExampleGoals() {
	criterion := cover.Separate{K: 1, L: 2}
	count, _ := cover.CountGoals(criterion, 5)
	fmt.Println(count, criterion)
	goals, _ := cover.Goals(criterion, 5)
	p, _ := cover.ParsePartition("1,4|2,3,5")
	for goal := range goals {
		fmt.Println(goal, goal.CoveredBy(p))
		if goal.CoveredBy(p) {
			break
		}
	}
	// Output:
	// 30 (1,2)-separation
	// separate {1} from {2,3} true
}

func ExampleSeparate_Pairs() {
	criterion := cover.Separate{K: 2, L: 2}
	pairs, _ := criterion.Pairs(4)
	goals, _ := cover.CountGoals(criterion, 4)
	fmt.Println(pairs, goals)
	// Output: 6 3
}

func ExampleProbabilityOf() {
	probability, _ := cover.ProbabilityOf(cover.Split{K: 2}, cover.Uniform(5, 2))
	fmt.Println(probability.P, probability.Bound, probability.Goals, probability.Source)
	_, err := cover.ProbabilityOf(cover.Split{K: 7}, cover.Uniform(5, 2))
	fmt.Println(err)
	// Output:
	// 8/15 1/2 10 Theorem 4.3
	// k = 7: want 1 to 5 (the nodes)
}

// The Kafka example of the paper: two nodes are cut off from two others, then one
// of them from everyone.
func ExampleCombine() {
	first, _ := cover.ProbabilityOf(cover.Separate{K: 2, L: 2}, cover.Sized(2, 2))
	second, _ := cover.ProbabilityOf(cover.Separate{K: 1, L: 3}, cover.Sized(1, 3))
	both, _ := cover.Combine(first, second)
	rules, _ := both.Rules()
	exists, _ := rules[0].Exists()
	enough, _ := rules[0].Enough(0.8)
	fmt.Println(both.P, both.Goals, exists, enough)
	// Output: 1/12 12 30 50
}

func ExampleTheorem31() {
	rule, _ := cover.Theorem31(big.NewRat(1, 8), big.NewInt(6))
	exists, _ := rule.Exists()
	enough, _ := rule.Enough(0.8)
	reached, _ := rule.Reached(enough)
	fmt.Printf("%d exist, %d are enough for 80 %%, which reach %.3f\n", exists, enough, reached)
	// Output: 15 exist, 28 are enough for 80 %, which reach 0.819
}

func ExampleProbability_Rules() {
	probability, _ := cover.ProbabilityOf(cover.Isolate{}, cover.Balanced(5, 2))
	rules, _ := probability.Rules()
	for _, rule := range rules {
		reached, _ := rule.Reached(9)
		fmt.Printf("%s: %.3f\n", rule.Name, reached)
	}
	// Output:
	// Corollary 4.17: 0.863
	// Theorem 3.1: 0.863
}

func ExampleUnion() {
	probability, _ := cover.ProbabilityOf(cover.Isolate{}, cover.Balanced(5, 2))
	union := probability.Union()
	exists, _ := union.Exists()
	enough, _ := union.Enough(0.86)
	reached, _ := union.Reached(9)
	share, _ := union.Fraction(9)
	fmt.Printf("%d exist, 86 %% with %d, 9 reach %.4f and cover %.4f of the goals\n", exists, enough, reached, share)
	// Output: 4 exist, 86 % with 7, 9 reach 0.9496 and cover 0.9899 of the goals
}

func ExampleExactOf() {
	exact, _ := cover.ExactOf(cover.Split{K: 2}, cover.Uniform(5, 2))
	exists, _ := exact.Exists()
	fraction, _ := exact.Probability(3)
	reached, _ := exact.Reached(6)
	enough, _ := exact.Enough(0.8)
	fmt.Printf("%d exist, drawn at random with probability %v; 6 reach %.4f, 80 %% with %d\n", exists, fraction, reached,
		enough)
	// Output: 3 exist, drawn at random with probability 56/225; 6 reach 0.8989, 80 % with 6
}

// Example 3.3 of the paper, where an operation is a partition with two requests.
func ExampleSequences() {
	s := cover.Sequences{Operations: 2250, Length: 1, Targets: 60}
	probability, _ := s.Probability()
	fmt.Println(probability.P)
	rules, _ := s.Rules()
	for _, rule := range rules {
		enough, _ := rule.Enough(0.8)
		fmt.Println(rule.Name, enough)
	}
	union, _ := s.Union()
	enough, _ := union.Enough(0.8)
	fmt.Println("union bound", enough)
	// Output:
	// 2/75
	// Theorem 3.2 62
	// proof of Theorem 3.2 61
	// union bound 60
}

func ExampleOccurs() {
	p, _ := cover.Occurs(2, 4, []int{0, 0})
	q, _ := cover.Occurs(2, 4, []int{0, 1})
	fmt.Println(p, q)
	// Output: 1/2 11/16
}

func ExampleRemark46() {
	family, _ := cover.Remark46(5)
	fmt.Println(family.Partitions)
	fmt.Println(cover.Check(cover.Split{K: 2}, cover.Uniform(5, 2), family.Partitions))
	// Output:
	// [1,3,5|2,4 1,4,5|2,3 1,2,3|4,5]
	// <nil>
}

func ExampleBinary() {
	remark, _ := cover.Remark46(8)
	binary, _ := cover.Binary(8)
	fmt.Println(len(remark.Partitions), len(binary.Partitions), binary.Lower)
	// Output: 4 3 3
}

func ExampleInTurn() {
	family, _ := cover.InTurn(5)
	fmt.Println(family.Partitions, family.Lower)
	// Output: [1,2|3,4,5 1,2,5|3,4 1,5|2,3,4] 3
}

func ExampleCheck() {
	criterion, space := cover.Isolate{}, cover.Uniform(5, 2)
	family, _ := cover.InTurn(5)
	fmt.Println(cover.Check(criterion, space, family.Partitions[:2]))
	other, _ := cover.InTurn(4)
	fmt.Println(cover.Check(criterion, space, other.Partitions))
	// Output:
	// the family does not isolate {5} in a minority (and misses 0 more goals)
	// nodes of the partition 1|2,3,4 = 4: want 5
}

func ExampleGreedy() {
	family, _ := cover.Greedy(cover.Separate{K: 1, L: 2}, cover.Balanced(5, 2))
	fmt.Println(family.Partitions, family.Lower)
	// Output: [1,2,3|4,5 1,2,4|3,5 1,3,4|2,5 1,5|2,3,4] 4
}

func ExampleDense() {
	family, _ := cover.Dense(cover.Split{K: 3}, cover.Uniform(64, 3))
	fmt.Println(len(family.Partitions))
	// Output: 21
}

func ExampleEachAgainstRest() {
	family, _ := cover.EachAgainstRest(cover.Separate{K: 1, L: 3}, cover.Uniform(4, 2))
	fmt.Println(family.Partitions)
	// Output: [1|2,3,4 1,3,4|2 1,2,4|3 1,2,3|4]
}

func ExampleBuild() {
	family, _ := cover.Build(cover.Split{K: 3}, cover.Uniform(6, 3))
	fmt.Println(family.Partitions, family.Method, family.Lower)
	// Output: [1,4|2,5|3,6 1,6|2,4|3,5 1,5|2,6|3,4] dense 3
}

func ExampleSmallest() {
	criterion, space := cover.Separate{K: 1, L: 2}, cover.Uniform(5, 2)
	built, _ := cover.Build(criterion, space)
	found, _ := cover.Smallest(criterion, space, 10_000)
	fmt.Println(len(built.Partitions), len(found.Partitions), found.Lower)
	// Output: 5 4 4
}

func ExampleLower() {
	lower, _ := cover.Lower(cover.Split{K: 3}, cover.Uniform(9, 3))
	fmt.Println(lower)
	// Output: 4
}

func ExamplePartitionSequence() {
	stale, _ := cover.ParsePartitionSequence("leader(minority)|*: write@2; read@1")
	p, _ := cover.ParsePartition("1,4|2,3,5")
	leader, _ := cover.SetOf(4)
	run := []cover.Stage{{
		Partition: p,
		Ops:       []cover.Op{{Name: "write", Node: 3}, {Name: "read", Node: 1}},
		Roles:     []cover.Role{{Name: "leader", Nodes: leader}},
	}}
	fmt.Println(stale.In(run), stale.Tests(run))
	// Five nodes in balanced parts, two operations, each of read, write and write 0.
	probability, _ := stale.Probability(cover.Sampling{Nodes: 5, Balanced: true,
		Operations: []string{"read", "write", "write 0"}})
	fmt.Println(probability.P) // Example 4.21 of the paper has either write, and twice the probability
	// Output:
	// true 1
	// 4/375
}

func ExampleParsePartitionSequence() {
	kafka, err := cover.ParsePartitionSequence("leader+zookeeper(2)|*(2): write then leader(1)|*: write@2")
	fmt.Println(kafka, err)
	probability, err := kafka.Probability(cover.Sampling{Nodes: 4})
	fmt.Println(probability.P, err)
	_, err = cover.ParsePartitionSequence("2|2, then 1|3")
	fmt.Println(err)
	// Output:
	// leader+zookeeper(2)|2: write then leader(1)|*: write@2 <nil>
	// 1/16 <nil>
	// partition sequence = "2|2, then 1|3": want no comma: sides are separated by |, operations by ;
}

func ExampleParseRole() {
	fmt.Println(cover.ParseRole("mesos=2+3+4"))
	// Output: {mesos {2,3,4}} <nil>
}

func ExamplePartitionSequence_Spaces() {
	sequence, _ := cover.ParsePartitionSequence("2|2 then 1|3 then healed")
	spaces, err := sequence.Spaces(4, false)
	fmt.Println(spaces, err)
	// Output: [2-partitions of 4 nodes with sides of 2 and 2 2-partitions of 4 nodes with sides of 1 and 3 1-partitions of 4 nodes] <nil>
}

func ExampleLinks_Partition() {
	links, _ := cover.AllLinks(4)
	one, _ := cover.SetOf(1)
	others, _ := cover.SetOf(2, 3)
	links.Cut(one, others)
	fmt.Println(links.Partition())
	links.Cut(others, one)
	fmt.Println(links.Partition()) // node 4 is connected to both sides
	// Output:
	//  cut one way
	// 1,4|2,3,4 divided
}

func ExampleSequence() {
	p, _ := cover.Whole(3)
	run := []cover.Stage{{Partition: p, Ops: []cover.Op{{"read", 1}, {"write", 2}}},
		{Partition: p, Ops: []cover.Op{{"read", 3}}}}
	s := cover.Sequence{{Name: "write"}, {Name: "read", Node: 3}}
	fmt.Printf("%v: %v\n", s, s.In(run))
	// Output: write, read at 3: true
}

func ExamplePlan() {
	answer, err := cover.Plan(cover.Params{Criterion: "split", Nodes: 5, K: 2, Confidence: 0.95})
	fmt.Printf("%v%v\n", answer, err)
	// Output:
	// split: 10 goals, tests drawn from 2-partitions of 5 nodes
	// one test covers a given goal with probability 8/15 = 0.5333, at least 1/2 = 0.5 (Theorem 4.3)
	// 7 random tests cover every goal with probability 95.22 % (exact)
	// 7 random tests cover every goal with probability at least 95.17 % (by the union bound)
	// 8 random tests cover every goal with probability at least 95.11 % (by Corollary 4.5)
	// these 3 tests cover every goal for certain (binary digits; at least 3 are needed):
	//   1,3,5|2,4
	//   1,2,5|3,4
	//   1,2,3,4|5
	// <nil>
}

func ExampleCurve() {
	points, _ := cover.Curve(cover.Params{Criterion: "isolate", Nodes: 5, Balanced: true}, 6)
	for _, p := range points {
		fmt.Printf("%d %.3f %.3f %.3f\n", p.Tests, p.Bound, p.Probability, p.True)
	}
	// Output:
	// 1 0.000 0.000 0.000
	// 2 0.000 0.000 0.000
	// 3 0.000 0.000 0.180
	// 4 0.000 0.352 0.432
	// 5 0.323 0.611 0.635
	// 6 0.546 0.767 0.774
}

func ExampleCurveAt() {
	points, err := cover.CurveAt(cover.Params{Criterion: "isolate", Nodes: 5, Balanced: true}, slices.Values([]int{9, 90}))
	for _, p := range points {
		fmt.Printf("%d tests: %.3f\n", p.Tests, p.Bound)
	}
	fmt.Println(err)
	// Output:
	// 9 tests: 0.863
	// 90 tests: 1.000
	// <nil>
}

func ExampleParams_Tested() {
	criterion, space, err := cover.Params{Criterion: "separate", Nodes: 6, K: 2, L: 2, Balanced: true}.Tested()
	fmt.Println(criterion, "by", space, err)
	_, _, err = cover.Params{Criterion: "sequence", Nodes: 6}.Tested()
	fmt.Println(err)
	// Output:
	// (2,2)-separation by 2-partitions of 6 nodes with sides of 3 and 3 <nil>
	// criterion = sequence: want split, separate or isolate
}

func ExamplePartitionSequence_Roles() {
	sequence, _ := cover.ParsePartitionSequence("leader+zookeeper|*: write then leader|*: write@2; read")
	fmt.Println(sequence.Roles(), sequence.Operations(), sequence.Check())
	p, _ := cover.ParsePartition("1,2|3,4")
	plays := func(role string) cover.Set { return map[string]cover.Set{"leader": 1, "zookeeper": 2}[role] }
	fmt.Println(sequence[0].Covers(p, plays))
	// Output:
	// [leader zookeeper] [write read] <nil>
	// true
}
