package sequential

import (
	"fmt"
	"math/bits"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/machine"
)

// Network is a network assumption for a number of nodes, as a table. A mode is one way to satisfy the outer
// disjunctions of the formula, such as which node is the kernel; in a mode each node must hear one of its smallest
// sets, or more.
type Network struct {
	Name    string
	Formula core.Expr
	Modes   [][][]uint64 // by mode and node: the smallest sets, bit i-1 for node i
}

// Allowed says whether, in a mode, node q (from 0) may receive exactly the messages of the nodes in `got` when those
// in `sent` sent to it. A node that sent nothing to it counts as heard. got is a subset of sent.
func (n *Network) Allowed(mode, q int, sent, got uint64) bool {
	lost := sent &^ got
	for _, least := range n.Modes[mode][q] {
		if least&lost == 0 {
			return true
		}
	}
	return false
}

// maxModes limits the expansion of a formula.
const maxModes = 4096

// clause is a conjunction of conditions, each about what one node hears.
type clause [][]core.Expr

type expander struct {
	p    *machine.Program
	n    int
	work int // parts of formulas looked at
}

// maxWork limits what the expansion of a formula may cost.
const maxWork = 1_000_000

// newNetwork expands a formula. It refuses one that relates what several nodes hear in other ways than by and, or,
// forall and exists, and one that forbids to hear more.
func newNetwork(p *machine.Program, network *core.Network) (*Network, error) {
	x := &expander{p: p, n: p.N}
	clauses, err := x.expand(network.Formula)
	if err != nil {
		return nil, fmt.Errorf("network %s: %w", network.Name, err)
	}
	out := &Network{Name: network.Name, Formula: network.Formula}
	for _, c := range clauses {
		mode := make([][]uint64, x.n)
		possible := true
		for q := range x.n {
			mode[q], err = x.smallest(q, c[q])
			if err != nil {
				return nil, fmt.Errorf("network %s: %w", network.Name, err)
			}
			possible = possible && len(mode[q]) > 0
		}
		if possible {
			out.Modes = append(out.Modes, mode)
		}
	}
	if len(out.Modes) == 0 {
		return nil, fmt.Errorf("network %s cannot be satisfied with %d nodes, even if nothing is lost", network.Name, x.n)
	}
	return out, nil
}

// expand puts a formula without free names into disjunctive form.
func (x *expander) expand(e core.Expr) ([]clause, error) {
	nodes, err := x.mentions(e)
	if err != nil {
		return nil, err
	}
	switch bits.OnesCount64(nodes) {
	case 0:
		ok, err := x.p.Formula(e)(make([]uint64, x.n))
		if err != nil || !ok {
			return nil, err
		}
		return []clause{make(clause, x.n)}, nil
	case 1:
		c := make(clause, x.n)
		c[bits.TrailingZeros64(nodes)] = []core.Expr{e}
		return []clause{c}, nil
	}
	switch e := e.(type) {
	case *core.Apply:
		switch e.Op {
		case core.And:
			return x.both(e.Args)
		case core.Or:
			return x.either(e.Args)
		}
	case *core.Quant:
		parts, err := x.instances(e)
		if err != nil {
			return nil, err
		}
		if e.Kind == core.Forall {
			return x.both(parts)
		}
		if e.Kind == core.Exists {
			return x.either(parts)
		}
	}
	return nil, fmt.Errorf("%s: what several nodes hear can be joined only by and, or, forall and exists", e.At())
}

func (x *expander) either(parts []core.Expr) ([]clause, error) {
	var out []clause
	for _, p := range parts {
		list, err := x.expand(p)
		if err != nil {
			return nil, err
		}
		if out = append(out, list...); len(out) > maxModes {
			return nil, fmt.Errorf("%s: the formula can be satisfied in more than %d ways", p.At(), maxModes)
		}
	}
	return out, nil
}

func (x *expander) both(parts []core.Expr) ([]clause, error) {
	out := []clause{make(clause, x.n)}
	for _, p := range parts {
		list, err := x.expand(p)
		if err != nil {
			return nil, err
		}
		var next []clause
		for _, a := range out {
			for _, b := range list {
				c := make(clause, x.n)
				for q := range c {
					c[q] = append(append([]core.Expr(nil), a[q]...), b[q]...)
				}
				next = append(next, c)
			}
		}
		if len(next) > maxModes {
			return nil, fmt.Errorf("%s: the formula can be satisfied in more than %d ways", p.At(), maxModes)
		}
		out = next
	}
	return out, nil
}

// instances are the body of a quantifier for each of its elements, which must not depend on what is heard.
func (x *expander) instances(e *core.Quant) ([]core.Expr, error) {
	elems, err := x.p.Values(e.Set)
	if err != nil {
		return nil, err
	}
	bodies := []core.Expr{e.Body}
	for _, s := range e.Slots {
		var next []core.Expr
		for _, b := range bodies {
			for _, v := range elems {
				next = append(next, substitute(b, s.Slot, &core.Const{Info: core.Info{Pos: e.Pos, Type: e.Set.Of().Elem},
					Value: v}))
			}
		}
		if bodies = next; len(bodies) > maxModes {
			return nil, fmt.Errorf("%s: the formula has more than %d instances", e.Pos, maxModes)
		}
	}
	return bodies, nil
}

func substitute(e core.Expr, slot int, by core.Expr) core.Expr {
	return core.Rewrite(e, func(x core.Expr) core.Expr {
		if l, ok := x.(*core.Local); ok && l.Slot == slot {
			return by
		}
		return x
	})
}

// mentions is the set of nodes of which a formula says what they hear.
func (x *expander) mentions(e core.Expr) (uint64, error) {
	if x.work++; x.work > maxWork {
		return 0, fmt.Errorf("%s: the formula has more than %d parts for %d nodes", e.At(), maxWork, x.n)
	}
	if q, ok := e.(*core.Quant); ok && hears(q.Body) {
		parts, err := x.instances(q)
		if err != nil {
			return 0, err
		}
		return x.mentionsAny(parts)
	}
	if a, ok := e.(*core.Apply); ok && a.Op == core.Heard {
		v, err := x.p.Values(a.Args[0])
		if err != nil {
			return 0, err
		}
		return 1 << (v[0].N - 1), nil
	}
	var parts []core.Expr
	core.Parts(e, func(p core.Expr) { parts = append(parts, p) })
	return x.mentionsAny(parts)
}

func (x *expander) mentionsAny(parts []core.Expr) (uint64, error) {
	var all uint64
	for _, p := range parts {
		m, err := x.mentions(p)
		if err != nil {
			return 0, err
		}
		all |= m
	}
	return all, nil
}

func hears(e core.Expr) bool {
	found := false
	core.Walk(e, func(x core.Expr) {
		a, ok := x.(*core.Apply)
		found = found || ok && a.Op == core.Heard
	})
	return found
}

// bruteForce is the number of nodes up to which every set is looked at.
const bruteForce = 8

// smallest finds the smallest sets that node q may hear under all of the conditions.
func (x *expander) smallest(q int, conditions []core.Expr) ([]uint64, error) {
	if len(conditions) == 0 {
		return []uint64{0}, nil
	}
	holds := x.conjunction(q, conditions)
	all := uint64(1)<<x.n - 1
	if err := x.promises(q, holds); err != nil {
		return nil, err
	}
	if ok, err := holds(all); err != nil || !ok {
		return nil, err // not even if nothing is lost
	}
	// A node without which it does not hold is in every set.
	var needed uint64
	for i := range x.n {
		ok, err := holds(all &^ (1 << i))
		if err != nil {
			return nil, err
		}
		if !ok {
			needed |= 1 << i
		}
	}
	if ok, err := holds(needed); err != nil || ok {
		return []uint64{needed}, err
	}
	return x.minimal(needed, all&^needed, holds)
}

// conjunction is a predicate on what node q hears.
func (x *expander) conjunction(q int, conditions []core.Expr) func(uint64) (bool, error) {
	list := make([]func([]uint64) (bool, error), len(conditions))
	for i, c := range conditions {
		list[i] = x.p.Formula(c)
	}
	heard := make([]uint64, x.n)
	return func(set uint64) (bool, error) {
		heard[q] = set
		for _, holds := range list {
			if ok, err := holds(heard); err != nil || !ok {
				return false, err
			}
		}
		return true, nil
	}
}

// promises refuses a predicate that holds for a set and not for a larger one. With few nodes all sets are compared,
// with many those that grow by one neighbor after the other.
func (x *expander) promises(q int, holds func(uint64) (bool, error)) error {
	grows := func(small, large uint64) error {
		a, err := holds(small)
		if err != nil || !a {
			return err
		}
		if b, err := holds(large); err != nil || b {
			return err
		}
		return fmt.Errorf("it lets node %d hear some nodes but not one more; a network may promise messages, not forbid them",
			q+1)
	}
	if x.n <= bruteForce {
		for set := range uint64(1) << x.n {
			for i := range x.n {
				if err := grows(set, set|1<<i); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for first := range x.n {
		var set uint64
		for i := range x.n {
			next := set | 1<<((first+i)%x.n)
			if err := grows(set, next); err != nil {
				return err
			}
			set = next
		}
	}
	return nil
}

// minimal lists the smallest sets that hold the needed nodes and some of the others.
func (x *expander) minimal(needed, others uint64, holds func(uint64) (bool, error)) ([]uint64, error) {
	var out []uint64
	for more := uint64(0); ; more = (more - others) & others {
		set := needed | more
		smaller := false
		for _, s := range out {
			smaller = smaller || s&^set == 0
		}
		if !smaller {
			ok, err := holds(set)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, set)
			}
		}
		if more == others {
			break
		}
	}
	// Subsets come before the sets that hold them, as numbers do, so that none is listed in vain.
	return out, nil
}
