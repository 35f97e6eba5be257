package register

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Times: a leader speaks up every heartbeat; who hears nothing for an election time-out,
// drawn anew each time, wants to become leader.
const (
	heartbeat     = 10
	electionLeast = 3 * heartbeat
	electionRange = 3 * heartbeat
)

// durable is what a node must not forget.
type durable struct {
	term   int32
	voted  lockstep.Node // in this term
	last   entry         // accepted
	commit entry         // the node's copy of the register
}

// node is the program of one node.
type node struct {
	self  lockstep.Node
	nodes int
	reads ReadMode

	*durable
	role    string
	leader  lockstep.Node // that the node knows; 0: none
	votes   lockstep.Nodes
	open    []int32   // operations asked here and not answered
	waiting []message // asks that wait for a leader

	// Of a leader:
	accepted []int32 // by node: the number of its entry
	proposed []proposal
	seen     []int32   // operations that came to it in this term
	held     []message // asks for reads that wait for its first committed entry
	from     []lockstep.Node
}

// proposal is an entry that is not committed yet and who waits for it.
type proposal struct {
	entry entry
	id    int32 // 0: nobody
	from  lockstep.Node
}

// Reset forgets everything; what is durable comes back with Start.
func (n *node) Reset() {
	*n = node{self: n.self, nodes: n.nodes, reads: n.reads, open: n.open[:0], waiting: n.waiting[:0],
		accepted: n.accepted[:0], proposed: n.proposed[:0], seen: n.seen[:0], held: n.held[:0], from: n.from[:0]}
}

// Role is the part that the node plays.
func (n *node) Role() string { return n.role }

// String is the state in a few words.
func (n *node) String() string {
	return fmt.Sprintf("%s term=%d value=%d entry=%d commit=%d", n.role, n.term, n.commit.value, n.last.index, n.commit.index)
}

// Start takes up what is durable and waits for a leader.
func (n *node) Start(c *sim.Context[message]) {
	n.durable = sim.Durable[durable](c)
	n.follow(c, n.term, 0)
}

// follow makes the node a follower in a term, of a leader if one is known.
func (n *node) follow(c *sim.Context[message], term int32, leader lockstep.Node) {
	if term > n.term {
		n.term, n.voted = term, 0
	}
	n.role, n.leader, n.votes = RoleFollower, leader, 0
	n.proposed, n.held, n.from = n.proposed[:0], n.held[:0], n.from[:0]
	n.patient(c)
}

// patient sets the alarm to the time at which the node has heard nothing for too long.
func (n *node) patient(c *sim.Context[message]) {
	c.SetAlarm(electionLeast + trace.Time(c.Chance().IntN(electionRange)))
}

// tell sends a message to all others.
func (n *node) tell(c *sim.Context[message], m message) {
	for to := 1; to <= n.nodes; to++ {
		if lockstep.Node(to) != n.self {
			c.Send(lockstep.Node(to), m)
		}
	}
}

func (n *node) majority(k int) bool { return k > n.nodes/2 }

// Alarm lets a leader speak up and all others want to lead.
func (n *node) Alarm(c *sim.Context[message]) {
	if n.role == RoleLeader {
		n.speak(c)
		c.SetAlarm(heartbeat)
		return
	}
	n.role, n.leader = RoleCandidate, 0
	n.term++
	n.voted, n.votes = n.self, lockstep.Nodes(0).With(n.self)
	n.tell(c, message{kind: vote, term: n.term, entry: n.last})
	n.patient(c)
	n.elected(c)
}

// speak tells the others the leader's last entry and what is committed.
func (n *node) speak(c *sim.Context[message]) {
	n.tell(c, message{kind: propose, term: n.term, entry: n.last, commit: n.commit})
}

// elected makes a leader of a candidate with a majority of votes. It proposes what it has
// anew: only with an entry of its own term it knows what is committed.
func (n *node) elected(c *sim.Context[message]) {
	if n.role != RoleCandidate || !n.majority(n.votes.Len()) {
		return
	}
	n.role, n.leader, n.seen = RoleLeader, n.self, n.seen[:0]
	n.accepted = append(n.accepted[:0], make([]int32, n.nodes+1)...)
	c.SetAlarm(heartbeat)
	n.propose(c, proposal{entry: entry{value: n.last.value}})
	n.flush(c)
}

// propose makes an entry of the leader's.
func (n *node) propose(c *sim.Context[message], p proposal) {
	p.entry.term, p.entry.index = n.term, n.last.index+1
	n.last = p.entry
	n.proposed = append(n.proposed, p)
	n.accepted[n.self] = p.entry.index
	n.speak(c)
	n.advance(c)
}

// Receive takes a message.
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
	case m.term < n.term: // of a term that is over
	case m.kind == vote:
		if (n.voted == 0 || n.voted == from) && !m.entry.before(n.last) && n.role == RoleFollower {
			n.voted = from
			n.patient(c)
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

// accept takes over the leader's entry, and tells a leader of a term that is over so.
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

// advance commits what a majority has accepted and answers for it.
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

// flush passes the operations that wait on to the leader, where one is known. They are
// meant for this leader in this term: who is in another term by then ignores them, so that
// none takes effect twice.
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

// asked takes an operation at the leader.
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

// answer sends the result to the node that was asked.
func (n *node) answer(c *sim.Context[message], to lockstep.Node, id, result int32) {
	if to == n.self {
		n.answered(c, id, result)
	} else {
		c.Send(to, message{kind: answer, id: id, result: result})
	}
}

// answered gives the client its answer, once.
func (n *node) answered(c *sim.Context[message], id, result int32) {
	if i := slices.Index(n.open, id); i >= 0 {
		n.open = slices.Delete(n.open, i, i+1)
		c.Emit(spec.EventReturn, &spec.Return{Client: int(id), ID: int(id), Output: result})
	}
}
