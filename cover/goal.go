package cover

import "fmt"

// A Kind is what a goal asks of a partition.
type Kind uint8

// The kinds of goals. Anything is the zero value.
const (
	Anything  Kind = iota // no matter which partition, a healed network included
	Splits                // the nodes of A are all on different sides
	Separates             // A is on one side, B on another
	Isolates              // the nodes of A are on sides with less than half of the nodes
)

// A PartitionGoal is one coverage goal for a partition. With a Bridge it is a goal for
// intersecting partitions: the nodes of Bridge must belong to every block, those of
// A and B to one block only. Goals are comparable.
type PartitionGoal struct {
	Kind   Kind
	A, B   Set
	Bridge Set
}

// CoveredBy reports whether the partition covers the goal. The partition may have
// more sides than the criterion needs.
func (g PartitionGoal) CoveredBy(p Partition) bool {
	if g.Bridge != 0 && g.Bridge&^p.Bridge() != 0 {
		return false
	}
	switch g.Kind {
	case Splits:
		return p.splits(g.A)
	case Separates:
		a, b := p.sideOf(g.A), p.sideOf(g.B)
		return a != noSide && b != noSide && a != b
	case Isolates:
		for s := g.A; s != 0; s &= s - 1 {
			if !p.minority(s.min()) {
				return false
			}
		}
		return g.A != 0
	}
	return true
}

// possible reports whether some partition with as many sides and as large a bridge as this one
// covers the goal.
func (g PartitionGoal) possible(p Partition) bool {
	sides, bridge := p.Len(), p.Bridge().Len()
	free := p.Nodes() - bridge
	named := g.A | g.B | g.Bridge
	if named&^firstNodes(max(p.Nodes(), 1)) != 0 || g.Bridge.Len() > bridge || (g.A|g.B)&g.Bridge != 0 ||
		(g.A|g.B).Len() > free {
		return false
	}
	switch g.Kind {
	case Splits:
		return g.A != 0 && g.A.Len() <= sides
	case Separates:
		return g.A != 0 && g.B != 0 && g.A&g.B == 0 && sides >= 2 && free-g.A.Len()-g.B.Len() >= sides-2
	case Isolates:
		return g.A != 0 && g.A.Len() <= minorities(free, sides)
	}
	return true
}

// minorities is how many of the nodes can be on sides with less than half of them.
func minorities(nodes, sides int) int {
	switch {
	case sides < 2:
		return 0
	case 2*((nodes+sides-1)/sides) < nodes: // all sides, if they are alike
		return nodes
	case sides == 2: // the other side has more than half
		return (nodes - 1) / 2
	}
	return nodes / 2 // the others of a side with half of the nodes or, rounded up, more
}

// splits reports whether the nodes are all on different sides.
func (p Partition) splits(nodes Set) bool {
	var seen Set
	for s := nodes; s != 0; s &= s - 1 {
		label := p.label(s.min())
		if label >= noSide || seen.Has(int(label)+1) {
			return false
		}
		seen |= single(int(label) + 1)
	}
	return nodes != 0
}

// String writes the goal as a clause: "separate {1} from {2,3}".
func (g PartitionGoal) String() string {
	text := "anything"
	switch g.Kind {
	case Splits:
		text = "split " + g.A.String()
	case Separates:
		text = fmt.Sprintf("separate %v from %v", g.A, g.B)
	case Isolates:
		text = fmt.Sprintf("isolate %v in a minority", g.A)
	}
	if g.Bridge != 0 {
		text += fmt.Sprintf(" with %v on the bridge", g.Bridge)
	}
	return text
}
