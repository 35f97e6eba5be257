package raft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/operator"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/trace"
)

// durable is the state that survives a crash.
type durable struct {
	term int
	vote lockstep.Node
	log  []Entry // entry i is at i-1
}

type role uint8

const (
	follower role = iota
	candidate
	leader
)

var roleNames = [...]string{raftspec.BecameFollower, raftspec.BecameCandidate, raftspec.BecameLeader}

// node is the program of a node.
type node struct {
	self    lockstep.Node
	cluster Cluster
	*durable
	role     role
	reported int // the term in which the node last reported its role
	votes    lockstep.Nodes
	match    []int // by node: the last entry known to match, while leading
	next     []int // by node: the next entry to send
	commit   int
	ticks    int
	timeout  int
}

// Reset forgets the volatile state.
func (n *node) Reset() { *n = node{self: n.self, cluster: n.cluster} }

// Start loads the durable state and starts the clock.
func (n *node) Start(c *sim.Context[Message]) {
	n.durable = sim.Durable[durable](c)
	n.found(c)
	n.follow(c)
	c.SetTimeout(1)
}

// members is the newest configuration in the log, committed or not.
func (n *node) members() lockstep.Nodes {
	for i := len(n.log) - 1; i >= 0; i-- {
		if m := n.log[i].Members; m != 0 {
			return m
		}
	}
	return trace.AllNodes(n.cluster.Nodes)
}

// quorum reports whether a set of nodes has a majority of the members.
func (n *node) quorum(set lockstep.Nodes) bool {
	m := n.members()
	return (set & m).Len() > m.Len()/2
}

// termAt is the term of an entry, 0 before the first.
func (n *node) termAt(index int) int {
	if index == 0 {
		return 0
	}
	return n.log[index-1].Term
}

func (n *node) follow(c *sim.Context[Message]) {
	n.become(c, follower)
	n.wait(c)
}

// wait draws the time until the node campaigns.
func (n *node) wait(c *sim.Context[Message]) {
	n.ticks, n.timeout = 0, n.cluster.Election+c.Source().IntN(n.cluster.Election)
}

// Timeout is a tick.
func (n *node) Timeout(c *sim.Context[Message]) {
	c.SetTimeout(1)
	n.ticks++
	switch {
	case n.role == leader:
		n.replicate(c)
	case n.ticks >= n.timeout && n.members().Has(n.self):
		n.campaign(c)
	}
}

func (n *node) campaign(c *sim.Context[Message]) {
	n.wait(c)
	n.term, n.vote, n.votes = n.term+1, n.self, trace.NodesOf(n.self)
	n.become(c, candidate)
	for to := range n.members().Without(n.self).All() {
		c.Send(to, Message{Kind: Vote, Term: n.term, Index: len(n.log), Prior: n.termAt(len(n.log))})
	}
	n.win(c)
}

// win makes a candidate with a quorum the leader.
func (n *node) win(c *sim.Context[Message]) {
	if n.role != candidate || !n.quorum(n.votes) {
		return
	}
	n.become(c, leader)
	n.match, n.next = make([]int, n.cluster.Nodes+1), make([]int, n.cluster.Nodes+1)
	for i := range n.next {
		n.next[i] = len(n.log) + 1
	}
	if !n.cluster.EarlyChanges {
		n.append(c, "", 0)
	}
	n.replicate(c)
	n.advance(c)
}

// append adds an entry to the leader's log.
func (n *node) append(c *sim.Context[Message], text string, members lockstep.Nodes) {
	n.write(c, []Entry{{Index: len(n.log) + 1, Term: n.term, Text: text, Members: members}})
}

// Request handles a command or a membership change if the node is leader.
func (n *node) Request(c *sim.Context[Message], _ int32, text string) {
	if n.role != leader {
		return
	}
	members := lockstep.Nodes(0)
	if change, ok := operator.ReadChange(text, n.cluster.Nodes); ok {
		members = change.Of(n.members())
		if !n.mayChange() || members == n.members() || members == 0 {
			return
		}
	}
	n.append(c, text, members)
	n.replicate(c)
	n.advance(c)
}

// mayChange reports whether the leader may change members. The previous change must be committed. Without the option
// EarlyChanges, an entry of its own term must be committed, too.
func (n *node) mayChange() bool {
	for i := n.commit; i < len(n.log); i++ {
		if n.log[i].Members != 0 {
			return false
		}
	}
	return n.cluster.EarlyChanges || n.termAt(n.commit) == n.term
}

// Receive handles a message.
func (n *node) Receive(c *sim.Context[Message], from lockstep.Node, m Message) {
	if m.Term > n.term {
		n.term, n.vote = m.Term, 0
		n.follow(c)
	}
	switch m.Kind {
	case Vote:
		n.voteFor(c, from, m)
	case VoteResp:
		if m.Term == n.term && m.OK {
			n.votes = n.votes.With(from)
			n.win(c)
		}
	case Append:
		n.store(c, from, m)
	case AppendResp:
		n.acknowledged(c, from, m)
	}
}

func (n *node) voteFor(c *sim.Context[Message], from lockstep.Node, m Message) {
	last := len(n.log)
	fresh := m.Prior > n.termAt(last) || m.Prior == n.termAt(last) && m.Index >= last
	ok := m.Term == n.term && (n.vote == 0 || n.vote == from) && fresh
	if ok {
		n.vote, n.ticks = from, 0
	}
	c.Send(from, Message{Kind: VoteResp, Term: n.term, OK: ok})
}

// String summarizes the state.
func (n *node) String() string {
	s := fmt.Sprintf("%s term=%d members=%s commit=%d log=", roleNames[n.role], n.term, n.members(), n.commit)
	for i := range n.log {
		s += fmt.Sprintf("[%s]", &n.log[i])
	}
	return s
}
