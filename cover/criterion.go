package cover

import (
	"fmt"
	"iter"
	"math/big"
)

// A Criterion is a set of coverage goals over n nodes that are alike: one goal for
// each choice of nodes. It is one of [Split], [Separate] and [Isolate]. Each has a
// number of bridge nodes that is 0 for disjoint blocks; with it a goal also names
// the nodes that must be on the bridge, which is the generalization to intersecting
// partitions that the paper sketches at the end of Section 2.4.
type Criterion interface {
	fmt.Stringer
	// named returns how many nodes a goal places on sides and on the bridge.
	named() (nodes, bridge int)
	check(nodes int) error
	// The next four leave the bridge aside: pick yields the goals, count is their
	// number, covered is how many of them a partition with sides of these sizes
	// covers, covering is how many k-partitions cover one of them.
	pick(nodes int) iter.Seq[PartitionGoal]
	count(nodes int) *big.Int
	covered(sizes []int) *big.Int
	covering(nodes, k int) *big.Int
	// paper returns the lower bound of the paper on the probability that a test of the
	// space covers a goal, and the corollary that follows; ok is false if it has none.
	paper(space Space) (bound *big.Rat, source string, corollary Rule, ok bool)
}

// goalLimit bounds what is enumerated goal by goal.
const goalLimit = 1 << 20

// Goals yields all goals of the criterion over the nodes 1..n in a fixed order, each
// once. Separating S from T is the same goal as separating T from S.
func Goals(criterion Criterion, nodes int) (iter.Seq[PartitionGoal], error) {
	if err := checkCriterion(criterion, nodes); err != nil {
		return nil, err
	}
	_, bridge := criterion.named()
	return func(yield func(PartitionGoal) bool) {
		for goal := range criterion.pick(nodes) {
			for b := range (firstNodes(nodes) &^ (goal.A | goal.B)).choose(bridge) {
				goal.Bridge = b
				if !yield(goal) {
					return
				}
			}
		}
	}, nil
}

// CountGoals is the number of goals that Goals yields.
func CountGoals(criterion Criterion, nodes int) (*big.Int, error) {
	if err := checkCriterion(criterion, nodes); err != nil {
		return nil, err
	}
	return countGoals(criterion, nodes), nil
}

func countGoals(criterion Criterion, nodes int) *big.Int {
	named, bridge := criterion.named()
	return new(big.Int).Mul(criterion.count(nodes), binomial(nodes-named, bridge))
}

func checkCriterion(criterion Criterion, nodes int) error {
	if criterion == nil {
		return &RangeError{"criterion", nil, "Split, Separate or Isolate"}
	}
	if err := inRange("nodes", nodes, 1, MaxNodes, ""); err != nil {
		return err
	}
	if err := criterion.check(nodes); err != nil {
		return err
	}
	named, bridge := criterion.named()
	return inRange("bridge nodes of the goal", bridge, 0, nodes-named, "the nodes that the goal does not name")
}

// listGoals enumerates the goals if there are at most limit.
func listGoals(criterion Criterion, nodes, limit int) ([]PartitionGoal, error) {
	goals, err := Goals(criterion, nodes)
	if err != nil {
		return nil, err
	}
	if m := countGoals(criterion, nodes); m.Cmp(big.NewInt(int64(limit))) > 0 {
		return nil, &RangeError{"number of goals of " + criterion.String(), m, fmt.Sprintf("at most %d to list them", limit)}
	}
	var list []PartitionGoal
	for goal := range goals {
		list = append(list, goal)
	}
	return list, nil
}
