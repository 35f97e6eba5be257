package scenario

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Crash stops the nodes of a group that are up.
func Crash(g Group) Action { return each("crash ", g, trace.Crash) }

// Restart brings back the nodes of a group that are down.
func Restart(g Group) Action { return each("restart ", g, trace.Restart) }

// FireAlarm fires the alarms of a group, where they are set.
func FireAlarm(g Group) Action { return each("fire alarm of ", g, trace.Alarm) }

// HoldAlarms keeps the strategy from firing the alarms of a group.
func HoldAlarms(g Group) Action {
	return withGroup("hold alarms of ", g, func(m *Moment, in lockstep.Nodes) { m.hand.HoldAlarms(in) })
}

// ReleaseAlarms gives the alarms of a group back to the strategy.
func ReleaseAlarms(g Group) Action {
	return withGroup("release alarms of ", g, func(m *Moment, in lockstep.Nodes) { m.hand.ReleaseAlarms(in) })
}

// Cut cuts the links between two groups: what is sent on them from now on is lost.
func Cut(a, b Group) Action { return links("cut ", a, b, trace.Cut, false) }

// CutOneWay cuts the links from one group to the other, not back.
func CutOneWay(from, to Group) Action { return links("cut one way ", from, to, trace.Cut, true) }

// Heal makes the links between two groups carry again.
func Heal(a, b Group) Action { return links("heal ", a, b, trace.Heal, false) }

// HealAll makes all links carry again.
func HealAll() Action {
	nobody := Only()
	a := links("", nobody.Others(), nobody.Others(), trace.Heal, false)
	a.text = "heal all"
	return a
}

// Isolate cuts a group off from all other nodes.
func Isolate(g Group) Action {
	a := links("", g, g.Others(), trace.Cut, false)
	a.text = "isolate " + g.text
	return a
}

// Partition cuts the links between every two of the groups.
func Partition(groups ...Group) Action {
	text := "partition"
	for _, g := range groups {
		text += " " + g.text
	}
	return Action{text: text, compile: func(c *compiler) act {
		c.need(trace.Cut)
		in := make([]members, len(groups))
		for i, g := range groups {
			in[i] = c.group(g)
		}
		return func(m *Moment) bool {
			acted := false
			for i := range in {
				for j := range i {
					acted = link(m, trace.Cut, in[j](m), in[i](m), false) || acted
				}
			}
			return acted
		}
	}}
}

// Request gives the oldest waiting request with this text to the nodes of a group, one
// to each that may have it; an empty text stands for any request. Without Reserve the
// strategy may have given it before.
func Request(text string, g Group) Action {
	return Action{text: fmt.Sprintf("request %q at %s", text, g.text), compile: func(c *compiler) act {
		c.need(trace.Request)
		c.offered(text)
		in := c.group(g)
		return func(m *Moment) bool {
			acted := false
			for n := range in(m).All() {
				if id, ok := m.director.waiting(m.Run, text, n); ok {
					acted = do(m, lockstep.Step{Kind: trace.Request, Request: id, Node: n}) || acted
				}
			}
			return acted
		}
	}}
}

// waiting is the oldest request with a text that a node may have and that was not
// asked for at this moment already.
func (d *director) waiting(run *lockstep.Run, text string, n lockstep.Node) (int32, bool) {
	for _, list := range [...][]lockstep.Pending{run.Reserved(), run.Pending()} {
		for _, p := range list {
			if (text == "" || p.Text == text) && p.To.Has(n) && !d.isAsked(p.ID) {
				d.asked = append(d.asked, p.ID)
				return p.ID, true
			}
		}
	}
	return 0, false
}

func (d *director) isAsked(id int32) bool {
	for _, a := range d.asked {
		if a == id {
			return true
		}
	}
	return false
}

// each is an action that takes a step on every node of a group where that is possible.
func each(verb string, g Group, kind lockstep.Kind) Action {
	return Action{text: verb + g.text, compile: func(c *compiler) act {
		c.need(kind)
		in := c.group(g)
		return func(m *Moment) bool {
			acted := false
			for n := range in(m).All() {
				acted = do(m, lockstep.Step{Kind: kind, Node: n}) || acted
			}
			return acted
		}
	}}
}

func withGroup(verb string, g Group, do func(*Moment, lockstep.Nodes)) Action {
	return Action{text: verb + g.text, compile: func(c *compiler) act {
		in := c.group(g)
		return func(m *Moment) bool {
			nodes := in(m)
			do(m, nodes)
			return nodes != 0
		}
	}}
}

func links(verb string, a, b Group, kind lockstep.Kind, oneWay bool) Action {
	return Action{text: fmt.Sprintf("%s%s and %s", verb, a.text, b.text), compile: func(c *compiler) act {
		c.need(kind)
		inA, inB := c.group(a), c.group(b)
		return func(m *Moment) bool { return link(m, kind, inA(m), inB(m), oneWay) }
	}}
}

func link(m *Moment, kind lockstep.Kind, from, to lockstep.Nodes, oneWay bool) bool {
	return from != 0 && to != 0 && do(m, lockstep.Step{Kind: kind, From: from, To: to, OneWay: oneWay})
}
