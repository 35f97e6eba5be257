package raftspec

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// writes remembers what clients asked for and the writes that they know of.
type writes struct {
	calls []spec.Call
	known []write
}

// write is an answered write: its place in the log.
type write struct {
	input               any
	index, term, prefix uint64
}

func (w *writes) reset() {
	clear(w.calls)
	clear(w.known)
	w.calls, w.known = w.calls[:0], w.known[:0]
}

func (w *writes) called(c *spec.Call) { w.calls = append(w.calls, *c) }

// input is what a call asked for, and whether that is a write.
func (w *writes) input(id int) (any, bool) {
	for i := len(w.calls) - 1; i >= 0; i-- {
		if c := &w.calls[i]; c.ID == id {
			o, ok := c.Input.(interface{ Writes() bool })
			return c.Input, !ok || o.Writes()
		}
	}
	return nil, false
}

// answered looks at the disks when a client learns of a write, and keeps where it is.
func (m *monitor) answered(run *lockstep.Run, id lockstep.Node, n *node, r *spec.Return) {
	input, ok := m.writes.input(r.ID)
	if !ok {
		return
	}
	w := write{input: input, index: n.applied, term: n.term, prefix: m.state.prefix(n.applied)}
	m.writes.known = append(m.writes.known, w)
	view, ok := run.View().(View)
	if !ok || m.state.asked {
		return
	}
	m.countCheck(Durability)
	has := lockstep.Nodes(0)
	for v := range n.conf.Members().All() {
		if view.Reaches(v) >= w.index {
			has = has.With(v)
		}
	}
	if voters := n.conf.Voters; !majority(has, voters) {
		m.fail(Durability, voters&^has,
			"node %d acknowledged %q to its client, which is at index %d, but only the disks of nodes %s reach that far", id,
			fmt.Sprint(input), w.index, has)
	}
}

// majority reports whether a set has most of the voters.
func majority(set, voters lockstep.Nodes) bool { return (set & voters).Len() > voters.Len()/2 }

// keeps looks for the writes that were answered in terms before that of a new leader.
func (m *monitor) keeps(id lockstep.Node, n *node) {
	for _, w := range m.writes.known {
		if w.term >= n.term || w.index < n.log.base || w.prefix == 0 || n.log.list[0].hash == 0 {
			continue
		}
		m.countCheck(Durability)
		if prefix, known := n.log.upTo(w.index); !known || prefix != w.prefix {
			m.fail(Durability, trace.NodesOf(id), "node %d became leader of term %d without %q, which was acknowledged", id,
				n.term, fmt.Sprint(w.input))
		}
	}
}

// End checks the end of a run.
func (m *monitor) End(run *lockstep.Run) *lockstep.Finding {
	view, ok := run.View().(View)
	conf := m.state.ahead()
	if !ok || !run.Settled() {
		return nil
	}
	calm := view.Calm(conf.Members(), 0)
	leader := m.leader(run, view)
	if calm && leader != 0 {
		m.kept(conf)
	}
	if m.state.ever&^conf.Members() != 0 && conf.Voters.Len() < 3 {
		return m.found
	}
	if calm && leader != 0 && run.Now()-m.grew >= view.QuiescentAfter() {
		m.agree(run, view, conf, leader)
	}
	if calm && m.ticks == 0 || m.ticks > 0 && view.Calm(conf.Members(), m.ticks) {
		m.live(view, leader)
	}
	return m.found
}

// kept checks whether most of the voters have applied the writes that clients know of.
func (m *monitor) kept(conf Conf) {
	for _, w := range m.writes.known {
		m.countCheck(Durability)
		has := lockstep.Nodes(0)
		for v := range conf.Voters.All() {
			if m.state.nodes[v].applied >= w.index {
				has = has.With(v)
			}
		}
		if !majority(has, conf.Voters) {
			m.fail(Durability, conf.Voters&^has, "after settling, only nodes %s have applied %q, which was acknowledged",
				has, fmt.Sprint(w.input))
		}
	}
}

// leader is the leader of the highest term that most of its voters follow, 0: none.
func (m *monitor) leader(run *lockstep.Run, view View) lockstep.Node {
	var leader lockstep.Node
	for id := range run.Up().All() {
		l := &m.state.nodes[id]
		if l.role != BecameLeader || leader != 0 && l.term < m.state.nodes[leader].term {
			continue
		}
		follow := func(voters lockstep.Nodes) bool {
			by := lockstep.Nodes(0)
			for v := range (voters & run.Up()).All() {
				if m.state.nodes[v].term == l.term && view.Follows(v) == id {
					by = by.With(v)
				}
			}
			return voters == 0 || majority(by, voters)
		}
		if follow(l.conf.Voters) && follow(l.conf.Outgoing) {
			leader = id
		}
	}
	return leader
}

// agree checks whether all members have the leader's log.
func (m *monitor) agree(run *lockstep.Run, view View, conf Conf, leader lockstep.Node) {
	log := &m.state.nodes[leader].log
	want, _ := log.upTo(log.last())
	for id := range (conf.Members() & run.Up()).Without(leader).All() {
		if !view.Heeds(id, leader) {
			continue
		}
		m.countCheck(LogAgreement)
		own := &m.state.nodes[id].log
		if own.last() != log.last() {
			m.fail(LogAgreement, trace.NodesOf(id, leader),
				"after settling the log of node %d goes up to %d, that of leader %d up to %d", id, own.last(), leader, log.last())
		} else if have, known := own.upTo(own.last()); known && have != want {
			m.fail(LogAgreement, trace.NodesOf(id, leader), "after settling the logs of node %d and leader %d differ", id,
				leader)
		}
	}
}

// live checks whether there is a leader and everything is answered.
func (m *monitor) live(view View, leader lockstep.Node) {
	m.countCheck(Liveness)
	if leader == 0 {
		text := "after settling there is no leader that a quorum follows:"
		for i := range m.state.nodes[1:] {
			n := &m.state.nodes[i+1]
			text += fmt.Sprintf(" node %d is %s in term %d;", i+1, n.role, n.term)
		}
		m.fail(Liveness, 0, "%s", text[:len(text)-1])
	} else if answered, all := view.Answered(); answered < all {
		m.fail(Liveness, 0, "after settling %d of %d requests are answered", answered, all)
	}
}
