package scenario

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Group is a set of nodes: fixed, drawn again for each run, or depending on the events so far. It is an immutable
// value.
type Group struct {
	text    string
	compile func(*compiler) members
	key     string // two groups have the same only if they are the same at any moment; empty: unknown
	// of a group that is always the same, for comparisons
	nodes  []string
	memory bool // earlier events of the run decide
}

// members is a group prepared for one worker.
type members func(*Moment) lockstep.Nodes

// String is the group as text.
func (g Group) String() string { return g.text }

// Only is the group of the given nodes.
func Only(nodes ...lockstep.Node) Group {
	set := lockstep.Nodes(0)
	for _, n := range nodes {
		if n >= 1 && n <= trace.MaxNodes {
			set = set.With(n)
		}
	}
	return Group{orList(nodes), func(c *compiler) members {
		for _, n := range nodes {
			if n < 1 || int(n) > c.info.Nodes {
				c.problem("node %d: the nodes are 1..%d", n, c.info.Nodes)
			}
		}
		return func(*Moment) lockstep.Nodes { return set }
	}, "nodes " + orList(nodes), inText(nodes), false}
}

// Here is the node that the moment concerns.
func Here() Group {
	return Group{"here", func(*compiler) members {
		return func(m *Moment) lockstep.Nodes { return one(m.Node) }
	}, "here", nil, false}
}

// Where is a custom group, computed at each moment, e.g. the leader. The text describes it in reports.
func Where(text string, nodes func(*Moment) lockstep.Nodes) Group {
	return Group{text, func(*compiler) members { return nodes }, "", nil, false}
}

// Others is the group of all other nodes.
func (g Group) Others() Group {
	key := g.key
	if key != "" {
		key = "all but " + key
	}
	return Group{"all but " + g.text, func(c *compiler) members {
		in, all := c.group(g), trace.AllNodes(c.info.Nodes)
		return func(m *Moment) lockstep.Nodes { return all &^ in(m) }
	}, key, nil, g.memory}
}

// Side is one side of a random partition: see [Scenario.Split].
type Side struct {
	Name string
	// Size is the number of nodes. 0 means all remaining nodes, and is allowed for the last side only.
	Size int
}

// draw is a random partition.
type draw struct {
	parts []Side
	first int // number of the first part among the drawn groups
}

// Pick is a group of k nodes, drawn from the seed for each run. The name is for reports.
func (s *Scenario) Pick(name string, k int) Group {
	return s.Split(Side{Name: name, Size: k})[0]
}

// Split draws a partition of the nodes from the seed for each run. It returns the sides, in their order, as groups.
func (s *Scenario) Split(sides ...Side) []Group {
	d := draw{parts: sides}
	for _, other := range s.groups {
		d.first += len(other.parts)
	}
	s.groups = append(s.groups, d)
	groups := make([]Group, len(sides))
	for i, p := range sides {
		number := d.first + i
		groups[i] = Group{p.Name, func(*compiler) members {
			return func(m *Moment) lockstep.Nodes { return m.director.drawn[number] }
		}, fmt.Sprintf("drawn %d", number), nil, false}
	}
	return groups
}

// Mark remembers the node that the moment concerns under a name; Marked is the group with this node. Mark replaces an
// earlier mark of the same name.
func Mark(name string) Action {
	return Action{text: "mark " + name, tame: true, compile: func(c *compiler) act {
		number := c.mark(name, true)
		return func(m *Moment) bool {
			m.director.marks[number] = one(m.Node)
			return m.Node != 0
		}
	}}
}

// Marked is the node that Mark remembered, or the empty set before that.
func Marked(name string) Group {
	return Group{name, func(c *compiler) members {
		number := c.mark(name, false)
		return func(m *Moment) lockstep.Nodes { return m.director.marks[number] }
	}, "marked " + name, nil, true}
}

// condition is a predicate on the moment and the members of the group.
func (g Group) condition(text, about string, holds func(*Moment, lockstep.Nodes) bool) Condition {
	return Condition{text + g.text, func(c *compiler) test {
		in := c.group(g)
		return func(m *Moment) bool { return holds(m, in(m)) }
	}, g.facts(about)}
}

// facts are the facts if the sender, the receiver or the node concerned is in the group.
func (g Group) facts(about string) facts {
	a := atom{about: about, in: g.nodes, memory: g.memory}
	if g.nodes == nil {
		a.about += " is in " + g.key
	}
	if about == aboutNode {
		return facts{[]atom{a}, g.key != ""}
	}
	return ofMessage(g.key != "", a)
}

func one(n lockstep.Node) lockstep.Nodes {
	if n == 0 {
		return 0
	}
	return trace.NodesOf(n)
}

// check reports sizes that do not fit.
func (d draw) check(c *compiler) {
	left := c.info.Nodes
	for i, p := range d.parts {
		if p.Size < 0 || p.Size == 0 && i < len(d.parts)-1 {
			c.problem("part %s of a partition has size %d: sizes are positive, only the last may be 0 for the rest",
				p.Name, p.Size)
		}
		left -= p.Size
	}
	if left < 0 {
		c.problem("the parts of a partition need %d nodes, there are %d", c.info.Nodes-left, c.info.Nodes)
	}
}

// draw deals the nodes out at random.
func (d *director) draw(w draw) {
	left := trace.AllNodes(d.info.Nodes)
	for i, p := range w.parts {
		size := p.Size
		if size == 0 {
			size = left.Len()
		}
		part := lockstep.Nodes(0)
		for range min(size, left.Len()) {
			n := left.Nth(d.rand.IntN(left.Len()))
			part, left = part.With(n), left.Without(n)
		}
		d.drawn[w.first+i] = part
	}
}

// drawnText names the groups drawn for the run.
func (d *director) drawnText() (texts []string) {
	for _, w := range d.draws {
		for i, p := range w.parts {
			texts = append(texts, fmt.Sprintf("%s=%s", p.Name, d.drawn[w.first+i]))
		}
	}
	return texts
}
