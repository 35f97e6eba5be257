package pbft

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
)

// durable is the state of a node. All of it survives a crash.
type durable struct {
	view     int32
	waiting  bool // for the new view: no requests are processed
	wanted   []string
	slots    [longest + 1]slot // by index, from 1
	votes    []vote
	prepared [longest + 1]*Certificate
	log      [longest + 1]*Decision
	changes  []Change // the newest of each node
	early    []early  // messages of views not entered yet
	asked    int      // views requested without success
	ticks    int
	announce bool // the node has sent the NewView of its view
}

// slot is the leader's proposal in the current view at an index.
type slot struct {
	taken     bool
	request   string
	committed bool // the node has sent its Commit
}

// vote is a Prepare or a Commit.
type vote struct {
	commit      bool
	node        lockstep.Node
	view, index int32
	request     string
	sign        uint64
}

type early struct {
	from lockstep.Node
	m    Message
}

// node is the program of a node.
type node struct {
	self    lockstep.Node
	cluster Cluster
	*durable
	context *sim.Context[Message]
	entered int32
}

// Reset forgets volatile state: nothing but the number of ticks.
func (n *node) Reset() { *n = node{self: n.self, cluster: n.cluster} }

// Start loads the durable state.
func (n *node) Start(c *sim.Context[Message]) {
	n.durable = sim.Durable[durable](c)
	n.ticks = 0
	n.wait(c)
}

func (n *node) leader(view int32) lockstep.Node {
	return lockstep.Node(int(view)%n.cluster.Nodes + 1)
}

func (n *node) quorum() int { return n.cluster.quorum() }

// wait keeps the timer running while the node waits for progress.
func (n *node) wait(c *sim.Context[Message]) {
	if len(n.wanted) > 0 || n.waiting {
		c.SetTimeout(1)
	} else {
		c.StopTimeout()
	}
}

// Timeout is a tick.
func (n *node) Timeout(c *sim.Context[Message]) {
	n.context = c
	n.ticks++
	if n.ticks >= n.cluster.Timeout<<min(n.asked, 6) {
		n.changeView(n.view + 1)
	}
	n.wait(c)
}

// Request forwards a client's request to all nodes.
func (n *node) Request(c *sim.Context[Message], _ int32, text string) {
	n.context = c
	n.send(Message{Kind: Request, Request: text})
	n.want(text)
	n.wait(c)
}

// Receive handles a message with a valid signature.
func (n *node) Receive(c *sim.Context[Message], from lockstep.Node, m Message) {
	n.context = c
	if m.Signature != sign(from, m) {
		return
	}
	n.handle(from, m)
	n.wait(c)
}

func (n *node) handle(from lockstep.Node, m Message) {
	switch m.Kind {
	case Request:
		n.want(m.Request)
	case ViewChange:
		n.changeAsked(Change{Node: from, View: m.View, Prepared: m.Prepared, Sign: m.Signature})
	case NewView:
		n.newView(from, m)
	default:
		if m.Index < 1 || m.Index > longest || m.View < n.view {
			return
		}
		if m.View > n.view || n.waiting {
			n.early = append(n.early, early{from, m})
			return
		}
		if m.Kind == PrePrepare {
			n.propose(from, m)
		} else {
			n.vote(from, m)
		}
	}
}

// send signs a message and sends it to all other nodes.
func (n *node) send(m Message) Message {
	m = signed(n.self, m)
	for i := range n.cluster.Nodes {
		if to := lockstep.Node(i + 1); to != n.self {
			n.context.Send(to, m)
		}
	}
	return m
}

// want records a client's request; the leader proposes it.
func (n *node) want(request string) {
	known := slices.Contains(n.wanted, request) || slices.ContainsFunc(n.log[:], func(d *Decision) bool {
		return d != nil && d.Request == request
	})
	if known || !slices.Contains(n.cluster.Clients(), request) {
		return
	}
	n.wanted = append(n.wanted, request)
	n.lead()
}

// lead proposes the pending requests if the node is leader.
func (n *node) lead() {
	if n.waiting || n.leader(n.view) != n.self {
		return
	}
	for _, request := range n.wanted {
		if slices.ContainsFunc(n.slots[:], func(s slot) bool { return s.taken && s.request == request }) {
			continue
		}
		for i := int32(1); i <= longest; i++ {
			if !n.slots[i].taken {
				n.send(Message{Kind: PrePrepare, View: n.view, Index: i, Request: request})
				n.accept(i, request)
				break
			}
		}
	}
}

// propose handles the leader's proposal, the first for its index.
func (n *node) propose(from lockstep.Node, m Message) {
	if from == n.leader(n.view) && !n.slots[m.Index].taken && slices.Contains(n.cluster.Clients(), m.Request) {
		n.accept(m.Index, m.Request)
	}
}

// accept prepares a request at an index.
func (n *node) accept(index int32, request string) {
	n.slots[index] = slot{taken: true, request: request}
	n.vote(n.self, n.send(Message{Kind: Prepare, View: n.view, Index: index, Request: request}))
}

// vote handles a Prepare or a Commit, which may arrive before its proposal.
func (n *node) vote(from lockstep.Node, m Message) {
	v := vote{commit: m.Kind == Commit, node: from, view: m.View, index: m.Index, request: m.Request, sign: m.Signature}
	if !slices.Contains(n.votes, v) {
		n.votes = append(n.votes, v)
	}
	n.conclude(m.Index)
}

// conclude commits prepared requests and decides committed ones.
func (n *node) conclude(index int32) {
	s := &n.slots[index]
	if !s.taken {
		return
	}
	if by := n.count(false, index, s.request); !s.committed && len(by) >= n.quorum() {
		s.committed = true
		n.prepared[index] = &Certificate{View: n.view, Index: index, Request: s.request, Signed: by}
		n.vote(n.self, n.send(Message{Kind: Commit, View: n.view, Index: index, Request: s.request}))
		return
	}
	if s.committed && len(n.count(true, index, s.request)) >= n.quorum() {
		n.decide(index, s.request)
	}
}

// count lists the voters for a request at an index in the current view.
func (n *node) count(commit bool, index int32, request string) (by []Signature) {
	for _, v := range n.votes {
		if v.commit == commit && v.view == n.view && v.index == index && v.request == request {
			by = append(by, Signature{v.node, v.sign})
		}
	}
	return by
}

// decide appends a request to the log. It also reports a different request at the same index: the spec checks that.
func (n *node) decide(index int32, request string) {
	if d := n.log[index]; d != nil && d.Request == request {
		return
	}
	n.log[index] = &Decision{View: n.view, Index: index, Request: request}
	n.wanted = slices.DeleteFunc(n.wanted, func(w string) bool { return w == request })
	n.ticks, n.asked = 0, 0
	n.context.Emit(Decided, n.log[index])
}

// String summarizes the state.
func (n *node) String() string {
	s := fmt.Sprintf("view=%d", n.view)
	if n.waiting {
		s += " waiting"
	}
	for _, d := range n.log {
		if d != nil {
			s += fmt.Sprintf(" %d:%s", d.Index, orDash(d.Request))
		}
	}
	return s
}
