package scenario

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Crash stops the nodes of a group that are up.
func Crash(g Group) Action { return each("crash ", g, trace.Crash) }

// Restart restarts the nodes of a group that are down.
func Restart(g Group) Action { return each("restart ", g, trace.Restart) }

// Pause takes a Pause step on each node of the group that is up: the node stops and then continues with its state. The
// system draws how long it stops.
func Pause(g Group) Action { return each("pause ", g, trace.Pause) }

// Jump takes a Jump step on each node of the group that is up: its clock jumps. The system draws how far.
func Jump(g Group) Action { return each("let the clock jump of ", g, trace.Jump) }

// FireTimer fires the timers of the nodes of a group that have one armed.
func FireTimer(g Group) Action { return each("fire timer of ", g, trace.Timer) }

// HoldTimers keeps the strategy from firing the timers of a group until [ReleaseTimers]. It does not hold messages:
// [Store] and [Withhold] do.
func HoldTimers(g Group) Action {
	return withGroup("hold timers of ", g, func(m *Moment, in lockstep.Nodes) { m.hand.HoldTimers(in) })
}

// ReleaseTimers lets the strategy fire the timers of a group again.
func ReleaseTimers(g Group) Action {
	return withGroup("release timers of ", g, func(m *Moment, in lockstep.Nodes) { m.hand.ReleaseTimers(in) })
}

// Cut cuts the links between two groups: messages sent on them from now on are lost. Messages in flight, or held back
// by a filter, still arrive; [Sever] loses those as well.
func Cut(a, b Group) Action { return links("cut ", a, b, trace.Cut, false) }

// CutOneWay cuts the links from one group to the other, not back. Messages in flight still arrive; [DropInFlight] loses
// them.
func CutOneWay(from, to Group) Action { return links("cut one way ", from, to, trace.Cut, true) }

// Heal ends all cuts of the links between two groups.
func Heal(a, b Group) Action { return links("heal ", a, b, trace.Heal, false) }

// HealAll ends all cuts.
func HealAll() Action {
	none := Only()
	a := links("", none.Others(), none.Others(), trace.Heal, false)
	a.text = "heal all"
	return a
}

// Sever cuts the links between two groups as Cut does, and loses the messages in flight on them in either direction,
// held back by a filter or not.
func Sever(a, b Group) Action {
	return both("sever "+a.text+" and "+b.text, Cut(a, b), DropInFlight(a, b), DropInFlight(b, a))
}

// DropInFlight loses the messages in flight from one group to the other, held back by a filter or not. It cuts no
// links.
func DropInFlight(from, to Group) Action {
	return Action{
		text:  "drop what is on its way from " + from.text + " to " + to.text,
		class: Dropping,
		compile: func(c *compiler) act {
			c.need(trace.Drop)
			inFrom, inTo := c.group(from), c.group(to)
			return func(m *Moment) bool {
				senders, receivers, acted := inFrom(m), inTo(m), false
				for i := range m.Run.Messages() {
					msg := &m.Run.Messages()[i]
					if has(senders, msg.From) && has(receivers, msg.To) &&
						(m.Run.IsFree(msg.ID) || m.Run.IsHeld(msg.ID)) {
						acted = do(m, lockstep.Step{Kind: trace.Drop, Msg: msg.ID}) || acted
					}
				}
				return acted
			}
		},
	}
}

// both is several actions under one text.
func both(text string, actions ...Action) Action {
	a := Action{text: text, compile: func(c *compiler) act {
		var ready []act
		for _, a := range actions {
			ready = append(ready, a.compile(c))
		}
		return func(m *Moment) bool {
			acted := false
			for _, do := range ready {
				acted = do(m) || acted
			}
			return acted
		}
	}}
	for _, other := range actions {
		a.class = max(a.class, other.class)
	}
	return a
}

// Isolate cuts a group off from all other nodes, as Cut does.
func Isolate(g Group) Action {
	a := links("", g, g.Others(), trace.Cut, false)
	a.text = "isolate " + g.text
	return a
}

// Partition cuts the links between every two of the groups, as Cut does.
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

// each is an action that takes a step on every node of a group for which it is possible.
func each(verb string, g Group, kind trace.Kind) Action {
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

func links(verb string, a, b Group, kind trace.Kind, oneWay bool) Action {
	return Action{text: fmt.Sprintf("%s%s and %s", verb, a.text, b.text), compile: func(c *compiler) act {
		c.need(kind)
		inA, inB := c.group(a), c.group(b)
		return func(m *Moment) bool { return link(m, kind, inA(m), inB(m), oneWay) }
	}}
}

func link(m *Moment, kind trace.Kind, from, to lockstep.Nodes, oneWay bool) bool {
	return from != 0 && to != 0 && do(m, lockstep.Step{Kind: kind, From: from, To: to, OneWay: oneWay})
}
