package cover

import (
	"fmt"
	"math/big"
)

// A Probability is what Theorem 3.1 needs to know about goals and tests.
type Probability struct {
	P      *big.Rat // the exact probability that one random test covers one given goal
	Bound  *big.Rat // the paper's lower bound on P; P itself where it has none
	Goals  *big.Int // the number of different goals
	Source string   // where Bound comes from

	corollary Rule
}

// ProbabilityOf computes the probability that a partition drawn from the space covers a goal
// of the criterion (Theorems 4.3, 4.7 and 4.11, Lemmas 4.15 and 4.18, and the
// generalization to bridges). Goals that no test of the space covers are an error.
//
// The nodes on the bridge are drawn first: of the partitions with a bridge of b
// nodes, those are counted in which the bridge has all nodes that the goal wants on
// it and none that it wants on a side.
func ProbabilityOf(criterion Criterion, space Space) (Probability, error) {
	if err := checkCriterion(criterion, space.Nodes); err != nil {
		return Probability{}, err
	}
	if err := space.check(); err != nil {
		return Probability{}, err
	}
	named, onto := criterion.named()
	covering := new(big.Rat)
	least, most := space.bridges()
	for b := least; b <= most; b++ {
		sides := space.Nodes - b
		if sides < named {
			break
		}
		bridges := new(big.Rat).SetInt(binomial(space.Nodes-named-onto, b-onto))
		covering.Add(covering, bridges.Mul(bridges, coveringSides(criterion, space, sides)))
	}
	if covering.Sign() == 0 {
		return Probability{}, &RangeError{"probability of " + criterion.String(), 0,
			fmt.Sprintf("a space other than the %v, none of which covers a goal", space)}
	}
	p := covering.Quo(covering, new(big.Rat).SetInt(space.count()))
	probability := Probability{P: p, Bound: p, Goals: countGoals(criterion, space.Nodes), Source: "the exact probability"}
	if bound, source, corollary, ok := criterion.paper(space); ok {
		probability.Bound, probability.Source, probability.corollary = bound, source, corollary
	}
	return probability, nil
}

// coveringSides counts the ways to divide the given number of nodes into sides that
// cover one goal. All goals are alike, so that a partition of fixed sizes covers a
// given goal as often as it covers goals at all.
func coveringSides(criterion Criterion, space Space, nodes int) *big.Rat {
	if space.Sizes == nil {
		return new(big.Rat).SetInt(criterion.covering(nodes, space.Blocks))
	}
	share := ratio(criterion.covered(space.Sizes), criterion.count(nodes))
	return share.Mul(share, new(big.Rat).SetInt(space.countSides(nodes)))
}

// Check refuses what is no probability: probabilities outside (0,1], fewer than one goal.
func (p Probability) Check() error {
	if err := checkProbability(p.P, p.Goals); err != nil {
		return err
	}
	return checkProbability(p.Bound, p.Goals)
}

// Combine is the probability of a goal with several parts that are drawn independently:
// a partition and the operations under it, or two partitions one after the other
// (Examples 4.13 and 4.21). Probabilities and numbers of goals multiply. Where the
// parts name the same nodes there are fewer combined goals: set Goals afterwards.
func Combine(parts ...Probability) (Probability, error) {
	all := Probability{P: big.NewRat(1, 1), Bound: big.NewRat(1, 1), Goals: big.NewInt(1)}
	for i, part := range parts {
		if err := part.Check(); err != nil {
			return Probability{}, err
		}
		all.P.Mul(all.P, part.P)
		all.Bound.Mul(all.Bound, part.Bound)
		all.Goals.Mul(all.Goals, part.Goals)
		if i > 0 {
			all.Source += " and "
		}
		all.Source += part.Source
	}
	return all, nil
}

// Rules lists what the paper states about these goals: the corollary, where there is
// one, and Theorem 3.1 with the bound.
func (p Probability) Rules() ([]Rule, error) {
	theorem, err := Theorem31(p.Bound, p.Goals)
	if err != nil {
		return nil, err
	}
	if p.corollary.Name == "" {
		return []Rule{theorem}, nil
	}
	return []Rule{p.corollary, theorem}, nil
}

// Union is the guarantee by the exact probability and the union bound.
func (p Probability) Union() Union { return Union{P: p.P, Goals: p.Goals} }
