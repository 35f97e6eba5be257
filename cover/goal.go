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

// A Goal is one coverage goal for a partition. With a Bridge it is a goal for
// intersecting partitions: the nodes of Bridge must belong to every block, those of
// A and B to one block only. Goals are comparable.
type Goal struct {
	Kind   Kind
	A, B   Set
	Bridge Set
}

// CoveredBy tells whether the partition covers the goal. The partition may have
// more sides than the notion needs.
func (g Goal) CoveredBy(p Partition) bool {
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

// splits tells whether the nodes are all on different sides.
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
func (g Goal) String() string {
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
