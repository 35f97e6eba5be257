package cover

import (
	"fmt"
	"slices"
)

// Links says which node hears which: at index i-1 is the set of the nodes whose messages reach node
// i, which hears itself. Cuts of single links and of one direction make networks that no
// Partition describes.
type Links []Set

// A Shape is what links amount to.
type Shape uint8

// The shapes of a network.
const (
	// Divided is a partition, the whole network included: nodes are connected while
	// messages go both ways between them; those connected to all are the bridge, and among
	// the others being connected is transitive.
	Divided Shape = iota
	// OneWay has two nodes of which only one hears the other.
	OneWay
	// Tangled has no such nodes, but two that are not connected although they have a way
	// around over nodes that are not connected to all.
	Tangled
)

// String is the shape as text.
func (s Shape) String() string {
	return [...]string{"divided", "cut one way", "cut with a way around"}[s%3]
}

// AllLinks is the network in which every node hears every node.
func AllLinks(nodes int) (Links, error) {
	if err := inRange("nodes", nodes, 1, MaxNodes, ""); err != nil {
		return nil, err
	}
	return slices.Repeat(Links{firstNodes(nodes)}, nodes), nil
}

// Cut makes the nodes of one set deaf for those of another. Nodes beyond the network have
// no links.
func (l Links) Cut(from, to Set) {
	for _, b := range to.Nodes() {
		if b <= len(l) {
			l[b-1] &^= from &^ single(b)
		}
	}
}

// Hears reports whether messages from one node reach another.
func (l Links) Hears(to, from int) bool {
	return 1 <= to && to <= len(l) && l[to-1].Has(from)
}

// Partition returns the partition that the links amount to; for links of another shape it
// is the zero Partition.
func (l Links) Partition() (Partition, Shape) {
	if len(l) < 1 || len(l) > MaxNodes {
		return Partition{}, Divided
	}
	all := firstNodes(len(l))
	bridge := all
	for i, heard := range l {
		for _, from := range (all &^ heard).Nodes() {
			if l.Hears(from, i+1) {
				return Partition{}, OneWay
			}
		}
		if heard&all != all {
			bridge &^= single(i + 1)
		}
	}
	labels := make([]byte, len(l))
	side := byte(0)
	for left := all &^ bridge; left != 0; side++ {
		members := l[left.min()-1] & left
		for _, n := range members.Nodes() {
			if l[n-1]&all != members|bridge {
				return Partition{}, Tangled
			}
			labels[n-1] = side
		}
		left &^= members
	}
	if side > 0 {
		for _, n := range bridge.Nodes() {
			labels[n-1] = onBridge
		}
	}
	return canonical(labels), Divided
}

// A OneWayCut is the goal that a node does not hear another, which hears it: a link that is cut
// one way.
type OneWayCut struct{ Node, To int }

// In looks for a stage with that link.
func (o OneWayCut) In(run []Stage) bool {
	return slices.ContainsFunc(run, func(s Stage) bool {
		return s.Links != nil && s.Links.Hears(o.To, o.Node) && !s.Links.Hears(o.Node, o.To)
	})
}

// Tests counts the stages in which some link is cut one way.
func (o OneWayCut) Tests(run []Stage) int { return shaped(run, OneWay) }

// String names the two nodes.
func (o OneWayCut) String() string { return "cut the link from " + pair(o.To, o.Node) + " one way" }

// An IndirectPath is the goal that two nodes are not connected, but have a way around over others.
type IndirectPath struct{ A, B int }

// In looks for a stage in which the two are not connected, of those with a way around.
func (i IndirectPath) In(run []Stage) bool {
	return slices.ContainsFunc(run, func(s Stage) bool {
		return s.shape() == Tangled && !s.Links.Hears(i.A, i.B)
	})
}

// Tests counts the stages with a way around a cut.
func (i IndirectPath) Tests(run []Stage) int { return shaped(run, Tangled) }

// String names the two nodes.
func (i IndirectPath) String() string { return "cut " + pair(i.A, i.B) + " with a way around" }

func pair(a, b int) string { return fmt.Sprintf("%d to %d", a, b) }

func shaped(run []Stage, shape Shape) int {
	tests := 0
	for _, s := range run {
		if s.shape() == shape {
			tests++
		}
	}
	return tests
}

// shape is Divided where a stage has a partition.
func (s Stage) shape() Shape {
	if s.Links == nil {
		return Divided
	}
	_, shape := s.Links.Partition()
	return shape
}
