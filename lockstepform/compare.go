package lockstepform

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep"
)

// difference explains why a run in rounds does not represent the original run.
type difference struct {
	culprit *moment // the delivery that causes it, if there is one
	why     string
}

// compare checks for each node that the run in rounds takes the steps of the layout with the same effects. The argument
// made maps each step of the run in rounds to its step of the layout. A run that ended in a panic may be incomplete.
func compare(l *layout, got []*moment, made []*moment, broken bool) *difference {
	for n := 1; n < len(l.byNode); n++ {
		c := comparison{node: lockstep.Node(n), want: l.byNode[n], rank: map[*moment]int{}}
		for i, m := range c.want {
			c.rank[m] = i + 1
		}
		for i, m := range got {
			if m.node != c.node || i == 0 || i > len(made) { // settling steps are not in the layout
				continue
			}
			if d := c.step(m, made[i-1]); d != nil {
				return d
			}
		}
		if !broken && c.taken < len(c.want) {
			return c.missing()
		}
	}
	return nil
}

// comparison follows one node through the run in rounds.
type comparison struct {
	node       lockstep.Node
	want       []*moment // its steps in the original run
	rank       map[*moment]int
	taken      int // number of steps of want taken
	furthest   int // the highest rank among them
	events     string
	checked    int // number of steps of want compared
	done       map[*moment]bool
	outOfOrder *moment
}

func (c *comparison) step(got, want *moment) *difference {
	if want == nil || want.call() {
		if got.changed || got.events != "" {
			return &difference{why: fmt.Sprintf("in rounds node %d takes a step it did not take: %s", c.node, got.step)}
		}
		return nil
	}
	if c.done == nil {
		c.done = map[*moment]bool{}
	}
	c.done[want] = true
	c.taken++
	c.furthest = max(c.furthest, c.rank[want])
	c.events += got.events
	if c.furthest > c.taken {
		if c.outOfOrder == nil {
			c.outOfOrder = want
		}
		return nil // the states are not comparable here
	}
	events := ""
	for _, m := range c.want[c.checked:c.taken] {
		events += m.events
	}
	last := c.want[c.taken-1]
	same := got.is == last.is && got.print == last.print && c.events == events
	if !same {
		return c.differs(got, last, events)
	}
	c.checked, c.events, c.outOfOrder = c.taken, "", nil
	return nil
}

func (c *comparison) differs(got, want *moment, events string) *difference {
	culprit := want
	if c.outOfOrder != nil {
		culprit = c.outOfOrder
	}
	what := fmt.Sprintf("node %d is in state %q after step %d, in rounds it is %q", c.node, want.is, want.number,
		got.is)
	switch {
	case c.events != events:
		what = fmt.Sprintf("node %d has the events %s up to step %d, in rounds %s", c.node, words(events), want.number,
			words(c.events))
	case want.is == got.is:
		what = fmt.Sprintf("the state of node %d after step %d is another in rounds, though its text %q is the same",
			c.node, want.number, want.is)
	}
	return &difference{culprit, what}
}

func words(events string) string {
	if events == "" {
		return "nothing"
	}
	return strings.ReplaceAll(strings.TrimSpace(events), "\n", ", ")
}

func (c *comparison) missing() *difference {
	for _, m := range c.want {
		if !c.done[m] {
			what := m.step.String()
			if m.deliver() {
				what = "delivery of " + m.msg.String() + " " + m.content
			}
			return &difference{
				m,
				fmt.Sprintf("in rounds step %d does not come about: %s", m.number, strings.TrimSpace(what)),
			}
		}
	}
	return nil
}

// swapped counts the deliveries that a node takes after one that came later in the original run.
func (l *layout) swapped() int {
	k := 0
	furthest := make([]int, len(l.byNode))
	for _, round := range l.rounds {
		acts, mail := split(round)
		for _, m := range append(acts, mail...) {
			if m.deliver() && m.number < furthest[m.node] {
				k++
			}
			furthest[m.node] = max(furthest[m.node], m.number)
		}
	}
	return k
}

func split(round []*moment) (acts, mail []*moment) {
	for _, m := range round {
		if m.deliver() {
			mail = append(mail, m)
		} else {
			acts = append(acts, m)
		}
	}
	return acts, mail
}
