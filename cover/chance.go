package cover

import (
	"fmt"
	"math/big"
)

// A Chance is what Theorem 3.1 needs to know about goals and tests.
type Chance struct {
	P      *big.Rat // the exact probability that one random test covers one given goal
	Bound  *big.Rat // the paper's lower bound on P; P itself where it has none
	Goals  *big.Int // the number of different goals
	Source string   // where Bound comes from

	corollary Rule
}

// ChanceOf computes the chance that a partition drawn from the space covers a goal
// of the notion (Theorems 4.3, 4.7 and 4.11, Lemmas 4.15 and 4.18, and the
// generalisation to bridges). Goals that no test of the space covers are an error.
//
// The nodes on the bridge are drawn first: of the partitions with a bridge of b
// nodes, those are counted in which the bridge has all nodes that the goal wants on
// it and none that it wants on a side.
func ChanceOf(notion Notion, space Space) (Chance, error) {
	if err := checkNotion(notion, space.Nodes); err != nil {
		return Chance{}, err
	}
	if err := space.check(); err != nil {
		return Chance{}, err
	}
	named, onto := notion.named()
	covering := new(big.Rat)
	least, most := space.bridges()
	for b := least; b <= most; b++ {
		sides := space.Nodes - b
		if sides < named {
			break
		}
		bridges := new(big.Rat).SetInt(binomial(space.Nodes-named-onto, b-onto))
		covering.Add(covering, bridges.Mul(bridges, coveringSides(notion, space, sides)))
	}
	if covering.Sign() == 0 {
		return Chance{}, &RangeError{"chance of " + notion.String(), 0, fmt.Sprintf("a space other than the %v, none of which covers a goal", space)}
	}
	p := covering.Quo(covering, new(big.Rat).SetInt(space.count()))
	chance := Chance{P: p, Bound: p, Goals: countGoals(notion, space.Nodes), Source: "the exact chance"}
	if bound, source, corollary, ok := notion.paper(space); ok {
		chance.Bound, chance.Source, chance.corollary = bound, source, corollary
	}
	return chance, nil
}

// coveringSides counts the ways to divide the given number of nodes into sides that
// cover one goal. All goals are alike, so that a partition of fixed sizes covers a
// given goal as often as it covers goals at all.
func coveringSides(notion Notion, space Space, nodes int) *big.Rat {
	if space.Sizes == nil {
		return new(big.Rat).SetInt(notion.covering(nodes, space.Blocks))
	}
	share := ratio(notion.covered(space.Sizes), notion.count(nodes))
	return share.Mul(share, new(big.Rat).SetInt(space.countSides(nodes)))
}

// Check refuses what is no chance: probabilities outside (0,1], fewer than one goal.
func (c Chance) Check() error {
	if err := checkChance(c.P, c.Goals); err != nil {
		return err
	}
	return checkChance(c.Bound, c.Goals)
}

// Combine is the chance of a goal with several parts that are drawn independently:
// a partition and the operations under it, or two partitions one after the other
// (Examples 4.13 and 4.21). Probabilities and numbers of goals multiply. Where the
// parts name the same nodes there are fewer combined goals: set Goals afterwards.
func Combine(parts ...Chance) (Chance, error) {
	all := Chance{P: big.NewRat(1, 1), Bound: big.NewRat(1, 1), Goals: big.NewInt(1)}
	for i, part := range parts {
		if err := part.Check(); err != nil {
			return Chance{}, err
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
func (c Chance) Rules() ([]Rule, error) {
	theorem, err := Theorem31(c.Bound, c.Goals)
	if err != nil {
		return nil, err
	}
	if c.corollary.Name == "" {
		return []Rule{theorem}, nil
	}
	return []Rule{c.corollary, theorem}, nil
}

// Union is the guarantee by the exact probability and the union bound.
func (c Chance) Union() Union { return Union{P: c.P, Goals: c.Goals} }
