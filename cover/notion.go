package cover

import (
	"fmt"
	"iter"
	"math/big"
)

// A Notion is a set of coverage goals over n nodes that are alike: one goal for
// each choice of nodes. It is one of [Split], [Separate] and [Isolate]. Each has a
// number of bridge nodes that is 0 for disjoint blocks; with it a goal also names
// the nodes that must be on the bridge, which is the generalisation to intersecting
// partitions that the paper sketches at the end of Section 2.4.
type Notion interface {
	fmt.Stringer
	// named returns how many nodes a goal places on sides and on the bridge.
	named() (nodes, bridge int)
	check(nodes int) error
	// The next four leave the bridge aside: pick yields the goals, count is their
	// number, covered is how many of them a partition with sides of these sizes
	// covers, covering is how many k-partitions cover one of them.
	pick(nodes int) iter.Seq[Goal]
	count(nodes int) *big.Int
	covered(sizes []int) *big.Int
	covering(nodes, k int) *big.Int
	// paper returns the lower bound of the paper on the chance that a test of the
	// space covers a goal, and the corollary that follows; ok is false if it has none.
	paper(space Space) (bound *big.Rat, source string, corollary Rule, ok bool)
}

// goalLimit bounds what is enumerated goal by goal.
const goalLimit = 1 << 20

// Goals yields all goals of the notion over the nodes 1..n in a fixed order, each
// once. Separating S from T is the same goal as separating T from S.
func Goals(notion Notion, nodes int) (iter.Seq[Goal], error) {
	if err := checkNotion(notion, nodes); err != nil {
		return nil, err
	}
	_, bridge := notion.named()
	return func(yield func(Goal) bool) {
		for goal := range notion.pick(nodes) {
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
func CountGoals(notion Notion, nodes int) (*big.Int, error) {
	if err := checkNotion(notion, nodes); err != nil {
		return nil, err
	}
	return countGoals(notion, nodes), nil
}

func countGoals(notion Notion, nodes int) *big.Int {
	named, bridge := notion.named()
	return new(big.Int).Mul(notion.count(nodes), binomial(nodes-named, bridge))
}

func checkNotion(notion Notion, nodes int) error {
	if notion == nil {
		return &RangeError{"notion", nil, "Split, Separate or Isolate"}
	}
	if err := inRange("nodes", nodes, 1, MaxNodes, ""); err != nil {
		return err
	}
	if err := notion.check(nodes); err != nil {
		return err
	}
	named, bridge := notion.named()
	return inRange("bridge nodes of the goal", bridge, 0, nodes-named, "the nodes that the goal does not name")
}

// listGoals enumerates the goals if there are at most limit.
func listGoals(notion Notion, nodes, limit int) ([]Goal, error) {
	goals, err := Goals(notion, nodes)
	if err != nil {
		return nil, err
	}
	if m := countGoals(notion, nodes); m.Cmp(big.NewInt(int64(limit))) > 0 {
		return nil, &RangeError{"number of goals of " + notion.String(), m, fmt.Sprintf("at most %d to list them", limit)}
	}
	var list []Goal
	for goal := range goals {
		list = append(list, goal)
	}
	return list, nil
}
