package isolation

import (
	"fmt"
	"slices"
	"strings"
)

// A mode is a kind of cycle. Modes are sets of relations; apart keeps two anti-dependencies from being adjacent.
type mode struct {
	name  string
	from  Level // the weakest level that rules such cycles out
	uses  [pass + 1]bool
	apart bool
}

// modes lists the kinds of cycle, the worst first.
var modes = []mode{
	{name: "G0", from: ReadUncommitted, uses: [pass + 1]bool{WriteWrite: true, pass: true}},
	{name: "G1c", from: ReadCommitted, uses: [pass + 1]bool{WriteWrite: true, WriteRead: true, pass: true}},
	{name: "G-single", from: SnapshotIsolation, apart: true,
		uses: [pass + 1]bool{WriteWrite: true, WriteRead: true, ReadWrite: true, lost: true, pass: true}},
	{name: "G2-item", from: Serializable,
		uses: [pass + 1]bool{WriteWrite: true, WriteRead: true, ReadWrite: true, lost: true, pass: true}},
}

// searchAll reports the worst cycle that the level rules out. The most general kind of cycle is looked for first, since
// most histories have none.
func (c *checker) searchAll() {
	kinds := make([]mode, 0, 2*len(modes))
	for _, m := range modes {
		if c.level >= m.from {
			kinds = append(kinds, m)
		}
	}
	if c.level == StrictSerializable {
		for _, m := range modes {
			m.name += "-realtime"
			m.uses[RealTime] = true
			kinds = append(kinds, m)
		}
	}
	if len(c.components(kinds[len(kinds)-1])) == 0 {
		return
	}
	for _, m := range kinds {
		if found := c.components(m); len(found) > 0 {
			c.reportCycle(m, c.shortest(m, found))
			return
		}
	}
}

// A state is a node, and whether the last edge of a transaction was an anti-dependency: 2*node + 1 if it was. Modes
// that allow adjacent anti-dependencies use even states only.
type state = int32

// follow is the state to which an edge leads from a state, if the mode allows the edge there.
func (m *mode) follow(s state, e edge) (to state, ok bool) {
	if !m.uses[e.relation] {
		return 0, false
	}
	to = 2 * e.to
	switch {
	case !m.apart:
	case e.relation == pass:
		to += s % 2
	case e.relation == ReadWrite && s%2 == 1:
		return 0, false
	case e.relation == ReadWrite:
		to++
	}
	return to, true
}

// components returns the strongly connected components that have a cycle, by Tarjan's algorithm without recursion.
func (c *checker) components(m mode) (found [][]state) {
	n := 2 * c.graph.nodes
	index, low := make([]int32, n), make([]int32, n) // index is 0 for states not yet visited, and done for those left
	const done = int32(1<<31 - 1)
	type frame struct {
		state state
		next  int32 // the next edge to follow
	}
	var stack []state
	var frames []frame
	counter := int32(0)
	enter := func(s state) {
		counter++
		index[s], low[s] = counter, counter
		stack = append(stack, s)
		frames = append(frames, frame{s, c.graph.first[s/2]})
	}
	for root := state(0); root < n; root++ {
		if index[root] != 0 || root%2 == 1 && !m.apart {
			continue
		}
		enter(root)
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			s := f.state
			if f.next < c.graph.first[s/2+1] {
				to, ok := m.follow(s, c.graph.edges[f.next])
				f.next++
				switch {
				case !ok:
				case index[to] == 0:
					enter(to)
				case index[to] != done:
					low[s] = min(low[s], index[to])
				}
				continue
			}
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				parent := frames[len(frames)-1].state
				low[parent] = min(low[parent], low[s])
			}
			if low[s] != index[s] {
				continue
			}
			at := len(stack) - 1
			for stack[at] != s {
				at--
			}
			members := stack[at:]
			for _, x := range members {
				index[x] = done
			}
			if len(members) > 1 {
				found = append(found, slices.Clone(members))
			}
			stack = stack[:at]
		}
	}
	return found
}

// starts is the number of states of a component from which the shortest cycle is searched.
const starts = 100

// shortest returns the edges of a short cycle of the components: the shortest through any of their first transactions.
func (c *checker) shortest(m mode, found [][]state) (best []edge) {
	slices.SortStableFunc(found, func(a, b []state) int { return len(a) - len(b) })
	for _, members := range found {
		slices.Sort(members)
		inside := make(map[state]bool, len(members))
		for _, s := range members {
			inside[s] = true
		}
		tried := 0
		for _, s := range members {
			if int(s/2) >= c.graph.txns {
				continue
			}
			if tried++; tried > starts {
				break
			}
			if cycle := c.cycle(m, s, inside); cycle != nil && (best == nil || hops(cycle) < hops(best)) {
				best = cycle
			}
		}
	}
	return best
}

// hops is the number of edges between transactions.
func hops(cycle []edge) (n int) {
	for _, e := range cycle {
		if e.relation != pass {
			n++
		}
	}
	return n
}

// cycle searches the shortest way from a state back to itself within a component, breadth first.
func (c *checker) cycle(m mode, start state, inside map[state]bool) []edge {
	type step struct {
		from state
		edge edge
	}
	came := map[state]step{}
	queue := []state{start}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		back := false
		for _, e := range c.graph.from(s / 2) {
			to, ok := m.follow(s, e)
			if _, met := came[to]; ok && !met && inside[to] {
				came[to] = step{s, e}
				queue = append(queue, to)
			}
			if back = ok && to == start; back {
				break
			}
		}
		if !back {
			continue
		}
		var cycle []edge
		for at := start; len(cycle) == 0 || at != start; at = came[at].from {
			cycle = append(cycle, came[at].edge)
		}
		slices.Reverse(cycle)
		return cycle
	}
	return nil
}

// reportCycle reports a cycle in terms of transactions: edges through other nodes become one.
func (c *checker) reportCycle(m mode, cycle []edge) {
	a := Anomaly{Name: m.name}
	changes := 0
	for i := 0; i < len(cycle); i++ {
		e := cycle[i]
		d := Dependency{From: int(e.from), Relation: e.relation}
		if e.key >= 0 {
			d.Key = c.order[e.key].name
		}
		for int(cycle[i].to) >= c.graph.txns {
			i++
		}
		d.To = int(cycle[i].to)
		if d.Relation == lost {
			d.Relation = ReadWrite
		}
		if d.Relation == ReadWrite {
			changes++
		}
		a.Txns = append(a.Txns, d.From)
		a.Cycle = append(a.Cycle, d)
	}
	if changes > 1 {
		a.Name = strings.Replace(a.Name, "G-single", "G-nonadjacent", 1)
	}
	a.Text = c.text(a)
	c.report(m.from, a)
}

// text explains a cycle and lists its transactions.
func (c *checker) text(a Anomaly) string {
	var b strings.Builder
	for i, d := range a.Cycle {
		if i > 0 {
			b.WriteString(", ")
		}
		switch d.Relation {
		case WriteWrite:
			fmt.Fprintf(&b, "T%d wrote %s before T%d", d.From, d.Key, d.To)
		case WriteRead:
			fmt.Fprintf(&b, "T%d wrote %s and T%d read it", d.From, d.Key, d.To)
		case ReadWrite:
			fmt.Fprintf(&b, "T%d read %s before T%d wrote it", d.From, d.Key, d.To)
		case RealTime:
			fmt.Fprintf(&b, "T%d ended before T%d began", d.From, d.To)
		}
	}
	for _, t := range a.Txns {
		fmt.Fprintf(&b, "; T%d %v", t, c.history[t])
	}
	return b.String()
}
