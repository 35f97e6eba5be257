package cover

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A Partition divides the nodes 1..n into sides that cannot talk to each other.
// It may have a bridge: nodes that belong to every block and so talk to everyone.
// With a bridge the blocks intersect; without one, blocks and sides are the same.
//
// A Partition is an immutable value of n bytes. Two partitions are == when they
// are the same partition, so it serves as a map key. The zero value divides no
// nodes at all.
type Partition struct {
	// labels[i] is the number of the side of node i+1, or onBridge. Sides are
	// numbered in the order of their smallest nodes, which makes the string unique.
	labels string
}

const onBridge = 0xFF

// NewPartition returns the partition of 1..nodes with the given blocks. Every node
// must be in one block or, as a bridge, in all of them.
func NewPartition(nodes int, blocks ...Set) (Partition, error) {
	if err := inRange("nodes", nodes, 1, MaxNodes, ""); err != nil {
		return Partition{}, err
	}
	if err := inRange("number of blocks", len(blocks), 1, nodes, "the nodes"); err != nil {
		return Partition{}, err
	}
	var union, twice Set
	bridge := ^Set(0)
	for _, b := range blocks {
		twice |= union & b
		union |= b
		bridge &= b
	}
	if len(blocks) == 1 {
		bridge = 0
	}
	for _, wrong := range []struct {
		nodes Set
		what  string
	}{
		{union &^ firstNodes(nodes), "nodes of the blocks"},
		{firstNodes(nodes) &^ union, "nodes in no block"},
		{twice &^ bridge, "nodes in some blocks but not in all"},
	} {
		if wrong.nodes != 0 {
			return Partition{}, &RangeError{wrong.what, wrong.nodes,
				fmt.Sprintf("each of 1 to %d in one block or, as a bridge, in all", nodes)}
		}
	}
	labels := make([]byte, nodes)
	for i, b := range blocks {
		if b&^bridge == 0 {
			return Partition{}, &RangeError{"block", b, "a node besides the bridge"}
		}
		for _, node := range b.Nodes() {
			labels[node-1] = byte(i)
		}
	}
	for _, node := range bridge.Nodes() {
		labels[node-1] = onBridge
	}
	return canonical(labels), nil
}

// Whole returns the partition with one block: a healed network.
func Whole(nodes int) (Partition, error) {
	if err := inRange("nodes", nodes, 1, MaxNodes, ""); err != nil {
		return Partition{}, err
	}
	return NewPartition(nodes, firstNodes(nodes))
}

// ParsePartition reads what Partition.String writes: blocks of nodes separated by
// commas, the blocks separated by bars, such as "1,4|2,3,5".
func ParsePartition(text string) (Partition, error) {
	var blocks []Set
	nodes := 0
	for block := range strings.SplitSeq(text, "|") {
		var list []int
		for word := range strings.SplitSeq(block, ",") {
			node, err := strconv.Atoi(strings.TrimSpace(word))
			if err != nil {
				return Partition{}, &RangeError{"node", strconv.Quote(word), "a number, as in 1,4|2,3,5"}
			}
			list = append(list, node)
			nodes = max(nodes, node)
		}
		set, err := SetOf(list...)
		if err != nil {
			return Partition{}, err
		}
		blocks = append(blocks, set)
	}
	return NewPartition(nodes, blocks...)
}

// canonical numbers the sides in the order of their smallest nodes, in place.
func canonical(labels []byte) Partition {
	var number [MaxNodes]byte
	next := byte(0)
	for i, l := range labels {
		if l == onBridge {
			continue
		}
		if number[l] == 0 {
			next++
			number[l] = next
		}
		labels[i] = number[l] - 1
	}
	return Partition{string(labels)}
}

// Nodes is the number n of the nodes divided.
func (p Partition) Nodes() int { return len(p.labels) }

// Len is the number of sides.
func (p Partition) Len() int {
	sides := 0
	for i := range len(p.labels) {
		if l := p.labels[i]; l != onBridge {
			sides = max(sides, int(l)+1)
		}
	}
	return sides
}

// Bridge is the set of the nodes that belong to every block.
func (p Partition) Bridge() Set { return p.labelled(onBridge) }

// Sides lists the disjoint sides, without the bridge, in the order of their
// smallest nodes.
func (p Partition) Sides() []Set {
	sides := make([]Set, p.Len())
	for i := range len(p.labels) {
		if l := p.labels[i]; l != onBridge {
			sides[l] |= single(i + 1)
		}
	}
	return sides
}

// Blocks lists the sides, each with the bridge: the sets of nodes that can talk
// among each other.
func (p Partition) Blocks() []Set {
	blocks, bridge := p.Sides(), p.Bridge()
	for i := range blocks {
		blocks[i] |= bridge
	}
	return blocks
}

// Connected reports whether two nodes can talk: they share a block.
func (p Partition) Connected(a, b int) bool {
	la, lb := p.label(a), p.label(b)
	return la != noSide && lb != noSide && (la == lb || la == onBridge || lb == onBridge)
}

const noSide = 0xFE // the label of a node outside 1..n

func (p Partition) label(node int) byte {
	if node < 1 || node > len(p.labels) {
		return noSide
	}
	return p.labels[node-1]
}

func (p Partition) labelled(label byte) Set {
	var s Set
	for i := range len(p.labels) {
		if p.labels[i] == label {
			s |= single(i + 1)
		}
	}
	return s
}

// sideOf is the label of the side on which all the nodes are, or noSide when there
// is no such side.
func (p Partition) sideOf(nodes Set) byte {
	if nodes == 0 {
		return noSide
	}
	first := p.label(nodes.min())
	if first == onBridge {
		return noSide
	}
	for ; nodes != 0; nodes &= nodes - 1 {
		if p.label(nodes.min()) != first {
			return noSide
		}
	}
	return first
}

// minority reports whether the node is on a side with less than half of the nodes
// that are not on the bridge. For two sides that is the smaller side.
func (p Partition) minority(node int) bool { return p.weight(node) < 0 }

// majority is the same with more than half.
func (p Partition) majority(node int) bool { return p.weight(node) > 0 }

// weight is the number of nodes on the same side less the number on other sides; 0
// for a node that is on no side.
func (p Partition) weight(node int) int {
	label := p.label(node)
	if label >= noSide {
		return 0
	}
	same, bridge := 0, 0
	for i := range len(p.labels) {
		switch p.labels[i] {
		case label:
			same++
		case onBridge:
			bridge++
		}
	}
	return 2*same - (len(p.labels) - bridge)
}

// String writes the blocks, as in 1,4|2,3,5; a node in every block is a bridge.
func (p Partition) String() string {
	blocks := p.Blocks()
	lists := make([]string, len(blocks))
	for i, b := range blocks {
		lists[i] = b.list()
	}
	return strings.Join(lists, "|")
}

// MarshalJSON writes the blocks as lists of nodes, as in [[1,4],[2,3,5]].
func (p Partition) MarshalJSON() ([]byte, error) {
	lists := make([][]int, 0, 2)
	for _, b := range p.Blocks() {
		lists = append(lists, b.Nodes())
	}
	return json.Marshal(lists)
}
