package raft

import (
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/trace"
)

// replicate sends every other member the entries that it may lack, or a heartbeat if it lacks none.
func (n *node) replicate(c *sim.Context[Message]) {
	for to := range n.members().Without(n.self).All() {
		prior := min(n.next[to]-1, len(n.log))
		c.Send(to, Message{Kind: Append, Term: n.term, Index: prior, Prior: n.termAt(prior),
			Log: slices.Clone(n.log[prior:]), Upto: n.commit})
	}
}

// store accepts the leader's entries if they match the node's log.
func (n *node) store(c *sim.Context[Message], from lockstep.Node, m Message) {
	if m.Term < n.term {
		c.Send(from, Message{Kind: AppendResp, Term: n.term})
		return
	}
	n.follow(c)
	if m.Index > len(n.log) || n.termAt(m.Index) != m.Prior {
		c.Send(from, Message{Kind: AppendResp, Term: n.term, Index: min(m.Index-1, len(n.log))})
		return
	}
	for i, e := range m.Log {
		if at := m.Index + i; at == len(n.log) || n.log[at].Term != e.Term {
			n.write(c, m.Log[i:])
			break
		}
	}
	last := m.Index + len(m.Log)
	n.commitTo(c, min(m.Upto, last))
	c.Send(from, Message{Kind: AppendResp, Term: n.term, Index: last, OK: true})
}

// acknowledged records a member's matching entries, or retries further back.
func (n *node) acknowledged(c *sim.Context[Message], from lockstep.Node, m Message) {
	if n.role != leader || m.Term < n.term {
		return
	}
	if !m.OK {
		n.next[from] = max(1, min(n.next[from]-1, m.Index+1))
		return
	}
	n.match[from] = max(n.match[from], m.Index)
	n.next[from] = max(n.next[from], n.match[from]+1)
	n.advance(c)
}

// advance commits the entries that a quorum has, from the last entry of the leader's own term on.
func (n *node) advance(c *sim.Context[Message]) {
	for index := len(n.log); index > n.commit && n.termAt(index) == n.term; index-- {
		have := trace.NodesOf(n.self)
		for to := range n.members().All() {
			if n.match[to] >= index {
				have = have.With(to)
			}
		}
		if n.quorum(have) {
			n.commitTo(c, index)
			return
		}
	}
}
