package trace

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/bits"
	"strconv"
	"strings"
)

// MaxNodes is the largest number of nodes a run may have: a set of nodes fits one word.
const MaxNodes = 64

// Node is a process under test, numbered from 1. Zero stands for no node.
type Node uint8

// Nodes is a set of nodes.
type Nodes uint64

// AllNodes is the set {1, ..., n}.
func AllNodes(n int) Nodes {
	if n >= MaxNodes {
		return ^Nodes(0)
	}
	return 1<<n - 1
}

// NodesOf is the set of the given nodes.
func NodesOf(nodes ...Node) Nodes {
	var s Nodes
	for _, n := range nodes {
		s = s.With(n)
	}
	return s
}

// Has reports whether n is in the set.
func (s Nodes) Has(n Node) bool { return s>>(n-1)&1 != 0 }

// With is the set and n.
func (s Nodes) With(n Node) Nodes { return s | 1<<(n-1) }

// Without is the set less n.
func (s Nodes) Without(n Node) Nodes { return s &^ (1 << (n - 1)) }

// Len is the number of nodes in the set.
func (s Nodes) Len() int { return bits.OnesCount64(uint64(s)) }

// First is the smallest node of the set, or 0 if it is empty.
func (s Nodes) First() Node {
	if s == 0 {
		return 0
	}
	return Node(bits.TrailingZeros64(uint64(s)) + 1)
}

// Nth is the i-th smallest node of the set, counted from 0; 0 if there are fewer.
func (s Nodes) Nth(i int) Node {
	for ; i > 0; i-- {
		s &= s - 1
	}
	return s.First()
}

// All yields the nodes in ascending order.
func (s Nodes) All() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for s != 0 {
			if !yield(s.First()) {
				return
			}
			s &= s - 1
		}
	}
}

// String writes the set as "1,3,4", and the empty set as "none".
func (s Nodes) String() string {
	if s == 0 {
		return "none"
	}
	var b strings.Builder
	for n := range s.All() {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(n)))
	}
	return b.String()
}

// MarshalJSON writes the set as an array of numbers.
func (s Nodes) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for n := range s.All() {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Nodes) UnmarshalJSON(data []byte) error {
	var list []int
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*s = 0
	for _, n := range list {
		if n < 1 || n > MaxNodes {
			return fmt.Errorf("node %d is not in 1..%d", n, MaxNodes)
		}
		*s = s.With(Node(n))
	}
	return nil
}
