package lockstepform

import (
	"context"

	"github.com/lockstep-go/lockstep/trace"
)

// byLayers lays a run out by causal layers. A message that a node sends on a delivery belongs to the following round. A
// message that it sends on a timer or a request belongs to the same round, because timers and requests come first in a
// round. Each node takes its steps in their order.
//
// All steps that follow from one timer or request by messages form a group. They are in rounds at fixed distances from
// it. The function moves groups to later rounds until every node's steps are in order. If a group would move itself, a
// delivery belongs to an earlier round than a step that its receiver has already taken.
//
// The time grows at least with the square of the number of steps, so byLayers stops when the context ends.
func byLayers(ctx context.Context, steps []*moment, nodes int) (*layout, error) {
	g := groups{ctx: ctx, place: make(map[*moment]place, len(steps)), base: []int{0}, limit: 2*len(steps) + 2}
	source := map[trace.ID]*moment{} // the step that sent each message; none: the start
	last := make([]*moment, nodes+1)
	for _, m := range steps {
		from, sent := source[m.msg.ID]
		switch {
		case !m.deliver():
			g.place[m] = place{group: len(g.base)}
			g.base = append(g.base, 0)
		case !sent:
			g.place[m] = place{}
		default:
			p := g.place[from]
			if from.deliver() {
				p.offset++
			}
			g.place[m] = p
		}
		for _, s := range m.sent {
			source[s.ID] = m
		}
		if before := last[m.node]; before != nil && !g.after(before, m) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if !m.deliver() {
				m = before
			}
			return nil, &misplaced{m, "its receiver has taken a step of a later round before"}
		}
		last[m.node] = m
	}
	l := &layout{byNode: make([][]*moment, nodes+1)}
	for _, m := range steps {
		l.put(m, g.round(m))
	}
	phase := 0
	for _, round := range l.rounds { // timers and requests begin a phase
		if phase == 0 || len(round) > 0 && hasAct(round) {
			phase++
		}
		l.phases = append(l.phases, phase)
	}
	return l, nil
}

func hasAct(round []*moment) bool {
	for _, m := range round {
		if !m.deliver() {
			return true
		}
	}
	return false
}

// place is a step's group and its distance from the first step of the group.
type place struct{ group, offset int }

// order says that one group must begin at least gap rounds after another.
type order struct{ first, then, gap int }

// groups solves for the first rounds of groups. Group 0 is the start of the run and begins in round 0.
type groups struct {
	ctx    context.Context
	place  map[*moment]place
	base   []int
	orders []order
	limit  int
}

func (g *groups) round(m *moment) int { return g.base[g.place[m].group] + g.place[m].offset }

// after adds the constraint that one step comes after another on the same node, and reports whether it can be
// satisfied.
func (g *groups) after(before, m *moment) bool {
	a, b := g.place[before], g.place[m]
	gap := a.offset - b.offset
	if before.deliver() && !m.deliver() {
		gap++
	}
	if a.group == b.group {
		return gap <= 0
	}
	g.orders = append(g.orders, order{a.group, b.group, gap})
	for moved := true; moved; {
		if g.ctx.Err() != nil {
			return false
		}
		moved = false
		for _, o := range g.orders {
			if at := g.base[o.first] + o.gap; at > g.base[o.then] {
				if o.then == 0 || at > g.limit {
					return false
				}
				g.base[o.then], moved = at, true
			}
		}
	}
	return true
}
