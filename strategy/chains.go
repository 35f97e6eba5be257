package strategy

// clocks holds the vector clocks of a run: for each node, the number of events at every node that it can know of.
type clocks struct {
	nodes int
	now   []int32 // by node: row of its current clock
	rows  []int32 // the clocks at which an event was caused
	saved []int32 // by node: index of its current clock in rows, -1 if the clock changed since
	count []int32 // by node: events so far
}

func newClocks(nodes int) *clocks {
	return &clocks{
		nodes: nodes,
		now:   make([]int32, nodes*nodes),
		saved: make([]int32, nodes),
		count: make([]int32, nodes),
	}
}

func (c *clocks) reset() {
	clear(c.now)
	clear(c.count)
	c.rows = c.rows[:0]
	for i := range c.saved {
		c.saved[i] = -1
	}
}

// save returns the index of a node's current clock, from 0. Nodes count from 1. Node 0 stands for the outside and knows
// no event.
func (c *clocks) save(node int) int32 {
	if node == 0 {
		return -1
	}
	at := &c.saved[node-1]
	if *at < 0 {
		*at = int32(len(c.rows))
		c.rows = append(c.rows, c.now[(node-1)*c.nodes:node*c.nodes]...)
	}
	return *at
}

// tick counts an event at a node. The node merges the clock at index past. tick returns the number of the event at its
// node.
func (c *clocks) tick(node int, past int32) int32 {
	row := c.now[(node-1)*c.nodes : node*c.nodes]
	if past >= 0 {
		for i, v := range c.rows[past : int(past)+c.nodes] {
			row[i] = max(row[i], v)
		}
	}
	c.count[node-1]++
	row[node-1] = c.count[node-1]
	c.saved[node-1] = -1
	return c.count[node-1]
}

// knows reports whether the clock at an index includes the numbered event at a node.
func (c *clocks) knows(past int32, node int, number int32) bool {
	return past >= 0 && number > 0 && c.rows[int(past)+node-1] >= number
}

// partition assigns the events of a growing partial order to chains as they are created. In a chain, each event is
// causally after the previous one. The algorithm is from Agarwal and Garg, "Efficient dependency tracking for relevant
// events in concurrent systems".
//
// Level i, from 1, holds at most i chains whose last events are pairwise concurrent. An event goes to the first level
// with a chain that it extends, or with space for a new chain. Then that chain and the chains of the level below swap
// with the rest of its level. An event that skips a level is concurrent with all last events of that level. Therefore
// the width of the order is at least k, the number of levels in use, and there are at most k(k+1)/2 chains.
type partition struct {
	last   []int32 // by chain: its last event
	levels [][]int32
	used   int
}

func (p *partition) reset() {
	p.last = p.last[:0]
	for i := range p.levels {
		p.levels[i] = p.levels[i][:0]
	}
	p.used = 0
}

// insert finds the chain for an event. The function after reports whether the event is causally after another one. A
// new chain has the next number. The result before is the previous event in the chain, or -1.
func (p *partition) insert(event int32, after func(last int32) bool) (chain, before int32) {
	for i := 0; ; i++ {
		if i == len(p.levels) {
			p.levels = append(p.levels, nil)
		}
		at := -1
		for j, c := range p.levels[i] {
			if p.last[c] < 0 || after(p.last[c]) {
				at = j
				break
			}
		}
		if at < 0 {
			if len(p.levels[i]) > i {
				continue
			}
			at = len(p.levels[i])
			p.levels[i] = append(p.levels[i], int32(len(p.last)))
			p.last = append(p.last, -1)
		}
		p.used = max(p.used, i+1)
		chain = p.levels[i][at]
		before = p.last[chain]
		p.last[chain] = event
		if i > 0 {
			rest, below := p.levels[i], p.levels[i-1]
			rest[at] = rest[len(rest)-1]
			below = append(below, chain)
			p.levels[i], p.levels[i-1] = below, rest[:len(rest)-1]
		}
		return chain, before
	}
}

// withdraw removes the last event of a chain. Later events of the chain follow the event before it. The number of
// chains does not change.
func (p *partition) withdraw(chain, before int32) { p.last[chain] = before }
