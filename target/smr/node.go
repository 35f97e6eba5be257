package smr

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/sim"
)

// timeout is the time, in virtual time, that a leader waits before it starts its phase.
const timeout = 10

// durable is the state that survives a crash.
type durable struct {
	phase int32 // the phase the node has joined
	last  int32 // the phase that dates log
	log   Log
}

// node is the program of Fig. 1, one message at a time.
type node struct {
	self    lockstep.Node
	nodes   int
	bug     bool
	clients bool

	*durable
	leader   lockstep.Node // of the current phase; 0 after a restart
	step     int           // the round of the message that the node waits for
	acks     lockstep.Nodes
	best     Log // the most recent log among the acks
	bestLast int32
	promises lockstep.Nodes
	promised Log
	output   Log
	done     bool    // the phase's log is output
	waiting  []int32 // commands that clients sent here
}

// Reset forgets all state; Start restores the durable state.
func (n *node) Reset() {
	*n = node{self: n.self, nodes: n.nodes, bug: n.bug, clients: n.clients, waiting: n.waiting[:0]}
}

// Start waits for the node's turn to lead.
func (n *node) Start(c *sim.Context[message]) {
	n.durable = sim.Durable[durable](c)
	n.awaitTurn(c)
}

// leads reports whether it is the node's turn to start the phase after its own.
func (n *node) leads() bool { return int(n.phase)%n.nodes == int(n.self)-1 }

// awaitTurn sets the timer of a node whose turn it is.
func (n *node) awaitTurn(c *sim.Context[message]) {
	if n.leads() {
		c.SetTimeout(timeout)
	} else {
		c.StopTimeout()
	}
}

// Timeout starts the next phase, which the node leads.
func (n *node) Timeout(c *sim.Context[message]) {
	c.Broadcast(message{round: prepare, phase: n.phase + 1})
	c.SetTimeout(timeout)
}

// Request stores a client's request for the next log that the node proposes.
func (n *node) Request(_ *sim.Context[message], id int32, _ string) {
	n.waiting = append(n.waiting, id)
}

// Receive handles a message of the node's phase, or joins the phase of a Prepare.
func (n *node) Receive(c *sim.Context[message], from lockstep.Node, m message) {
	if m.round == prepare {
		if m.phase > n.phase {
			n.join(c, from, m.phase)
		}
		return
	}
	if m.phase != n.phase { // a message of another phase
		return
	}
	switch m.round {
	case ack:
		n.acknowledged(c, from, m)
	case propose:
		n.proposed(c, from, m)
	case promise:
		n.promises = n.promises.With(from)
		n.promised = m.log
		n.conclude(c)
	}
}

// join makes the node a follower in a phase.
func (n *node) join(c *sim.Context[message], leader lockstep.Node, phase int32) {
	if n.bug {
		n.last = n.phase
	}
	n.phase, n.leader, n.step = phase, leader, ack
	n.acks, n.best, n.bestLast, n.promises, n.done = 0, nil, -1, 0, false
	c.Send(leader, message{round: ack, phase: phase, last: n.last, log: n.log})
	if n.self != leader {
		n.step = propose
	}
	n.awaitTurn(c)
}

// acknowledged collects Acks at the leader, which proposes on a majority.
func (n *node) acknowledged(c *sim.Context[message], from lockstep.Node, m message) {
	if n.step != ack || n.leader != n.self {
		return
	}
	n.acks = n.acks.With(from)
	if m.last > n.bestLast || m.last == n.bestLast && len(m.log) > len(n.best) {
		n.best, n.bestLast = m.log, m.last
	}
	if n.acks.Len() <= n.nodes/2 {
		return
	}
	n.log = n.extended(n.best)
	n.step = propose
	c.Broadcast(message{round: propose, phase: n.phase, log: n.log})
}

// extended is a log with the next command appended.
func (n *node) extended(l Log) Log {
	command := n.phase
	if n.clients {
		if len(n.waiting) == 0 {
			return l
		}
		command = n.waiting[0]
		n.waiting = n.waiting[:copy(n.waiting, n.waiting[1:])]
	}
	return append(slices.Clip(l), command)
}

// proposed accepts the leader's log.
func (n *node) proposed(c *sim.Context[message], from lockstep.Node, m message) {
	if n.step != propose || from != n.leader {
		return
	}
	n.log, n.step = m.log, promise
	if !n.bug {
		n.last = n.phase
	}
	c.Broadcast(message{round: promise, phase: n.phase, log: n.log})
	n.conclude(c)
}

// conclude outputs the log that a majority promised.
func (n *node) conclude(c *sim.Context[message]) {
	if !n.done && n.promises.Len() > n.nodes/2 && slices.Equal(n.promised, n.log) {
		n.output, n.done = n.log, true
		c.Emit(Output, &n.output)
	}
}

// String summarizes the state.
func (n *node) String() string {
	s := fmt.Sprintf("phase=%d last=%d log=%s", n.phase, n.last, n.log)
	if n.output != nil {
		s += " output=" + n.output.String()
	}
	return s
}

// Fingerprint hashes the state.
func (n *node) Fingerprint() uint64 {
	h := mix.Start
	h.Mix(uint64(n.phase))
	h.Mix(uint64(n.last))
	h.Mix(uint64(n.step))
	h.Mix(uint64(n.leader))
	h.Mix(uint64(n.acks))
	h.Mix(uint64(n.bestLast))
	h.Mix(uint64(n.promises))
	if n.done {
		h.Mix(1)
	}
	for _, l := range []Log{n.log, n.best, n.promised, n.output, n.waiting} {
		h.Mix(uint64(len(l)))
		for _, c := range l {
			h.Mix(uint64(c))
		}
	}
	return uint64(h)
}
