package isolation

import (
	"fmt"
	"math"
	"sort"
)

// graph has the transactions as its first nodes. Further nodes stand between groups of them, so that the number of
// edges stays linear: "all of these come after that one" is one edge to such a node.
type graph struct {
	txns  int
	nodes int32
	edges []edge
	first []int32 // the index of the first edge of each node, once edges are sorted
}

type edge struct {
	from, to int32
	relation Relation
	key      int32 // index in checker.order, or -1
}

func (g *graph) node() int32 {
	g.nodes++
	return g.nodes - 1
}

func (g *graph) add(from, to int32, relation Relation, key int32) {
	if from != to {
		g.edges = append(g.edges, edge{from, to, relation, key})
	}
}

// index sorts the edges by their source.
func (g *graph) index() {
	g.first = make([]int32, g.nodes+1)
	for _, e := range g.edges {
		g.first[e.from+1]++
	}
	for i := range g.nodes {
		g.first[i+1] += g.first[i]
	}
	sorted, next := make([]edge, len(g.edges)), append([]int32(nil), g.first...)
	for _, e := range g.edges {
		sorted[next[e.from]] = e
		next[e.from]++
	}
	g.edges = sorted
}

func (g *graph) from(n int32) []edge { return g.edges[g.first[n]:g.first[n+1]] }

// group is a set of transactions that edges lead to as a whole, or without one member.
type group struct {
	members        []int32
	at             map[int32]int
	before, behind []int32 // nodes that lead to the members up to one, and from one on
}

// group makes a group. A member is listed once.
func (g *graph) group(members []int32) *group {
	s := &group{at: make(map[int32]int, len(members))}
	for _, m := range members {
		if _, ok := s.at[m]; !ok {
			s.at[m] = len(s.members)
			s.members = append(s.members, m)
		}
	}
	n := len(s.members)
	s.before, s.behind = make([]int32, n), make([]int32, n)
	for i, m := range s.members {
		s.before[i] = g.node()
		g.add(s.before[i], m, pass, -1)
		if i > 0 {
			g.add(s.before[i], s.before[i-1], pass, -1)
		}
	}
	for i := n - 1; i >= 0; i-- {
		s.behind[i] = g.node()
		g.add(s.behind[i], s.members[i], pass, -1)
		if i < n-1 {
			g.add(s.behind[i], s.behind[i+1], pass, -1)
		}
	}
	return s
}

// all adds edges from a node to all members but itself.
func (g *graph) all(from int32, s *group, relation Relation, key int32) {
	n := len(s.members)
	if n == 0 {
		return
	}
	i, member := s.at[from]
	switch {
	case !member:
		g.add(from, s.before[n-1], relation, key)
		return
	case i > 0:
		g.add(from, s.before[i-1], relation, key)
	}
	if i < n-1 {
		g.add(from, s.behind[i+1], relation, key)
	}
}

// afterRead adds the dependencies of transactions that read a version of a key on those that installed the next one,
// where several may have done so in an order that is not known. Two of them that read the version themselves cannot
// both be right from snapshot isolation on: the second overwrote the first without having seen it.
func (c *checker) afterRead(readers []int32, next *group, at int32) {
	updater := int32(-1)
	for _, r := range readers {
		c.graph.all(r, next, ReadWrite, at)
		if _, ok := next.at[r]; !ok || r == updater {
			continue
		}
		if updater >= 0 {
			c.report(SnapshotIsolation, Anomaly{Name: "lost-update", Txns: []int{int(updater), int(r)},
				Text: fmt.Sprintf("T%d and T%d both read the same version of %s and wrote the next one; T%d %v; T%d %v",
					updater, r, c.order[at].name, updater, c.history[updater], r, c.history[r])})
			continue
		}
		updater = r
	}
	if updater >= 0 {
		c.graph.all(updater, next, lost, at)
	}
}

// link adds the dependencies of all keys, and the order of real time if the level has it.
func (c *checker) link() {
	c.graph = graph{txns: len(c.history), nodes: int32(len(c.history))}
	for i, k := range c.order {
		if k.list || len(k.versions) > 0 {
			c.linkOrdered(int32(i), k)
		} else {
			c.linkRegister(int32(i), k)
		}
	}
	for _, e := range c.graph.edges {
		if e.relation != pass {
			c.result.Dependencies++
		}
	}
	if c.level == StrictSerializable {
		c.linkTime()
	}
	c.graph.index()
}

// linkOrdered links transactions by a key whose versions are in a known order. Committed writes that no read shows come
// after all versions that were read.
func (c *checker) linkOrdered(at int32, k *key) {
	g := &c.graph
	for i := 1; i < len(k.versions); i++ {
		g.add(k.writes[k.versions[i-1]].txn, k.writes[k.versions[i]].txn, WriteWrite, at)
	}
	var late []int32
	for _, w := range k.writes {
		if w.at < 0 && k.list && c.took[w.txn] {
			late = append(late, w.txn)
		}
	}
	rest := g.group(late)
	if n := len(k.versions); n > 0 {
		g.all(k.writes[k.versions[n-1]].txn, rest, WriteWrite, at)
	}
	var current []int32 // readers of the last version that was read
	for _, r := range k.reads {
		position := 0
		if !r.none {
			w, ok := k.byValue[r.value]
			if !ok || k.writes[w].at < 0 {
				continue
			}
			g.add(k.writes[w].txn, r.txn, WriteRead, at)
			position = int(k.writes[w].at) + 1
		}
		if position < len(k.versions) {
			g.add(r.txn, k.writes[k.versions[position]].txn, ReadWrite, at)
		} else {
			current = append(current, r.txn)
		}
	}
	c.afterRead(current, rest, at)
}

// linkRegister links transactions by a register whose versions have no numbers. Its first version is that without a
// value. A transaction that read one value and wrote another installed the second after the first: otherwise the two
// transactions would depend on each other in a way that read-committed rules out.
func (c *checker) linkRegister(at int32, k *key) {
	if c.level < ReadCommitted {
		return
	}
	g := &c.graph
	last := map[int32]bool{}
	var writers []int32
	for _, w := range k.writes {
		if w.last && c.took[w.txn] {
			last[w.txn] = true
			writers = append(writers, w.txn)
		}
	}
	following := map[int][]int32{} // writers that had read a value
	for _, r := range k.reads {
		if last[r.txn] && !r.none {
			following[r.value] = append(following[r.value], r.txn)
		}
	}
	var first []int32            // readers of the version without a value
	readers := map[int][]int32{} // of each value
	var values []int             // those that were read, in the order of the history
	for _, r := range k.reads {
		if r.none {
			first = append(first, r.txn)
			continue
		}
		w, ok := k.byValue[r.value]
		if !ok || !c.took[k.writes[w].txn] {
			continue
		}
		g.add(k.writes[w].txn, r.txn, WriteRead, at)
		if readers[r.value] == nil {
			values = append(values, r.value)
		}
		readers[r.value] = append(readers[r.value], r.txn)
	}
	c.afterRead(first, g.group(writers), at)
	for _, v := range values {
		next := g.group(following[v])
		g.all(k.writes[k.byValue[v]].txn, next, WriteWrite, at)
		c.afterRead(readers[v], next, at)
	}
}

// linkTime adds the order of real time: a chain of nodes, one for each end of a transaction. A transaction without an
// answer may take effect at any later time.
func (c *checker) linkTime() {
	g := &c.graph
	var ended []int32
	for i := range c.history {
		if c.history[i].Outcome == Committed && c.history[i].End != math.MaxInt64 {
			ended = append(ended, int32(i))
		}
	}
	sort.SliceStable(ended, func(a, b int) bool { return c.history[ended[a]].End < c.history[ended[b]].End })
	chain := make([]int32, len(ended))
	for i, t := range ended {
		chain[i] = g.node()
		g.add(t, chain[i], RealTime, -1)
		if i > 0 {
			g.add(chain[i-1], chain[i], pass, -1)
		}
	}
	for i := range c.history {
		if !c.took[i] {
			continue
		}
		before := sort.Search(len(ended), func(j int) bool { return c.history[ended[j]].End >= c.history[i].Start })
		if before > 0 {
			g.add(chain[before-1], int32(i), pass, -1)
		}
	}
}
