package register

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Times: a leader sends a heartbeat at this interval. A node that hears nothing for an election timeout, which is
// drawn each time, campaigns.
const (
	heartbeat     = 10
	electionLeast = 3 * heartbeat
	electionRange = 3 * heartbeat
)

// durable is the state that survives a crash.
type durable struct {
	term   int32
	voted  lockstep.Node // in this term
	last   entry         // accepted
	commit entry         // the node's replica of the register
}

// node is the program of one node.
type node struct {
	self  lockstep.Node
	nodes int
	reads ReadMode

	*durable
	role    string
	leader  lockstep.Node // the known leader; 0: none
	votes   lockstep.Nodes
	open    []int32   // operations received from clients here, without an answer
	waiting []message // asks that wait for a leader

	// State of a leader:
	accepted []int32 // by node: the number of its entry
	proposed []proposal
	seen     []int32   // operations that reached it in this term
	held     []message // read requests that wait for its first committed entry
	from     []lockstep.Node
}

// proposal is an uncommitted entry, and the client that waits for it.
type proposal struct {
	entry entry
	id    int32 // 0: none
	from  lockstep.Node
}

// Reset forgets all state; Start restores the durable state.
func (n *node) Reset() {
	*n = node{self: n.self, nodes: n.nodes, reads: n.reads, open: n.open[:0], waiting: n.waiting[:0],
		accepted: n.accepted[:0], proposed: n.proposed[:0], seen: n.seen[:0], held: n.held[:0], from: n.from[:0]}
}

// Role is the current role of the node.
func (n *node) Role() string { return n.role }

// String summarizes the state.
func (n *node) String() string {
	return fmt.Sprintf("%s term=%d value=%d entry=%d commit=%d", n.role, n.term, n.commit.value, n.last.index,
		n.commit.index)
}

// Start loads the durable state and waits for a leader.
func (n *node) Start(c *sim.Context[message]) {
	n.durable = sim.Durable[durable](c)
	n.follow(c, n.term, 0)
}

// follow makes the node a follower in a term, with its leader if that is known.
func (n *node) follow(c *sim.Context[message], term int32, leader lockstep.Node) {
	if term > n.term {
		n.term, n.voted = term, 0
	}
	n.role, n.leader, n.votes = RoleFollower, leader, 0
	n.proposed, n.held, n.from = n.proposed[:0], n.held[:0], n.from[:0]
	n.resetTimer(c)
}

// resetTimer sets the timer to the node's election timeout.
func (n *node) resetTimer(c *sim.Context[message]) {
	c.SetTimeout(electionLeast + trace.Time(c.Source().IntN(electionRange)))
}

// broadcast sends a message to all other nodes.
func (n *node) broadcast(c *sim.Context[message], m message) {
	for to := 1; to <= n.nodes; to++ {
		if lockstep.Node(to) != n.self {
			c.Send(lockstep.Node(to), m)
		}
	}
}

func (n *node) majority(k int) bool { return k > n.nodes/2 }

// Timeout makes a leader send a heartbeat, and any other node campaign.
func (n *node) Timeout(c *sim.Context[message]) {
	if n.role == RoleLeader {
		n.speak(c)
		c.SetTimeout(heartbeat)
		return
	}
	n.role, n.leader = RoleCandidate, 0
	n.term++
	n.voted, n.votes = n.self, lockstep.Nodes(0).With(n.self)
	n.broadcast(c, message{kind: vote, term: n.term, entry: n.last})
	n.resetTimer(c)
	n.elected(c)
}

// speak sends the leader's last entry and the committed one to the others.
func (n *node) speak(c *sim.Context[message]) {
	n.broadcast(c, message{kind: propose, term: n.term, entry: n.last, commit: n.commit})
}

// elected makes a candidate with a majority of votes the leader. It proposes its last entry again: a leader only
// knows that an entry of its own term is committed.
func (n *node) elected(c *sim.Context[message]) {
	if n.role != RoleCandidate || !n.majority(n.votes.Len()) {
		return
	}
	n.role, n.leader, n.seen = RoleLeader, n.self, n.seen[:0]
	n.accepted = append(n.accepted[:0], make([]int32, n.nodes+1)...)
	c.SetTimeout(heartbeat)
	n.propose(c, proposal{entry: entry{value: n.last.value}})
	n.flush(c)
}

// propose appends an entry of the leader.
func (n *node) propose(c *sim.Context[message], p proposal) {
	p.entry.term, p.entry.index = n.term, n.last.index+1
	n.last = p.entry
	n.proposed = append(n.proposed, p)
	n.accepted[n.self] = p.entry.index
	n.speak(c)
	n.advance(c)
}

// Receive handles a message.
func (n *node) Receive(c *sim.Context[message], from lockstep.Node, m message) {
	switch m.kind {
	case ask:
		n.asked(c, from, m)
		return
	case answer:
		n.answered(c, m.id, m.result)
		return
	}
	if m.term > n.term {
		n.follow(c, m.term, 0)
	}
	switch {
	case m.kind == propose:
		n.accept(c, from, m)
	case m.term < n.term: // of an old term
	case m.kind == vote:
		if (n.voted == 0 || n.voted == from) && !m.entry.before(n.last) && n.role == RoleFollower {
			n.voted = from
			n.resetTimer(c)
			c.Send(from, message{kind: granted, term: n.term})
		}
	case m.kind == granted:
		n.votes = n.votes.With(from)
		n.elected(c)
	case n.role == RoleLeader:
		n.accepted[from] = max(n.accepted[from], m.entry.index)
		n.advance(c)
	}
}

// accept accepts the leader's entry, or reports the newer term to a leader of an old one.
func (n *node) accept(c *sim.Context[message], from lockstep.Node, m message) {
	if m.term == n.term {
		n.follow(c, m.term, from)
		if n.last.before(m.entry) {
			n.last = m.entry
		}
		if n.commit.before(m.commit) {
			n.commit = m.commit
		}
		n.flush(c)
	}
	c.Send(from, message{kind: accept, term: n.term, entry: m.entry})
}

// advance commits the entries that a majority has accepted and answers their clients.
func (n *node) advance(c *sim.Context[message]) {
	done := 0
	for _, p := range n.proposed {
		has := 0
		for _, index := range n.accepted {
			if index >= p.entry.index {
				has++
			}
		}
		if !n.majority(has) {
			break
		}
		n.commit = p.entry
		done++
	}
	if done == 0 {
		return
	}
	n.speak(c)
	for _, p := range n.proposed[:done] {
		if p.id != 0 {
			n.answer(c, p.from, p.id, p.entry.value)
		}
	}
	n.proposed = n.proposed[:copy(n.proposed, n.proposed[done:])]
	for i, m := range n.held {
		n.answer(c, n.from[i], m.id, n.commit.value)
	}
	n.held, n.from = n.held[:0], n.from[:0]
}

// Request begins an operation of a client.
func (n *node) Request(c *sim.Context[message], id int32, text string) {
	op := operations[text]
	c.Emit(spec.EventCall, &spec.Call{Client: int(id), ID: int(id), Input: op})
	n.open = append(n.open, id)
	if !op.Write && n.reads == Local {
		n.answered(c, id, n.commit.value)
		return
	}
	n.waiting = append(n.waiting, message{kind: ask, id: id, op: op})
	n.flush(c)
}

// flush forwards the waiting operations to the leader if it is known. They are addressed to this leader in this term:
// a node in another term ignores them, so that none takes effect twice.
func (n *node) flush(c *sim.Context[message]) {
	if n.leader == 0 || len(n.waiting) == 0 {
		return
	}
	waiting := n.waiting
	n.waiting = nil
	for _, m := range waiting {
		m.term = n.term
		if n.leader == n.self {
			n.asked(c, n.self, m)
		} else {
			c.Send(n.leader, m)
		}
	}
	n.waiting = waiting[:0]
}

// asked handles an operation at the leader.
func (n *node) asked(c *sim.Context[message], from lockstep.Node, m message) {
	if n.role != RoleLeader || m.term != n.term || slices.Contains(n.seen, m.id) {
		return
	}
	n.seen = append(n.seen, m.id)
	switch {
	case m.op.Write:
		n.propose(c, proposal{entry: entry{value: m.op.Value}, id: m.id, from: from})
	case n.reads == Quorum: // an entry that changes nothing
		n.propose(c, proposal{entry: entry{value: n.last.value}, id: m.id, from: from})
	case n.commit.term == n.term:
		n.answer(c, from, m.id, n.commit.value)
	default:
		n.held, n.from = append(n.held, m), append(n.from, from)
	}
}

// answer sends the result to the node that received the client's request.
func (n *node) answer(c *sim.Context[message], to lockstep.Node, id, result int32) {
	if to == n.self {
		n.answered(c, id, result)
	} else {
		c.Send(to, message{kind: answer, id: id, result: result})
	}
}

// answered answers the client, once.
func (n *node) answered(c *sim.Context[message], id, result int32) {
	if i := slices.Index(n.open, id); i >= 0 {
		n.open = slices.Delete(n.open, i, i+1)
		c.Emit(spec.EventReturn, &spec.Return{Client: int(id), ID: int(id), Output: result})
	}
}
