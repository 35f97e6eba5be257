package lockstep

import (
	"fmt"
	"slices"
)

// network is the book of a run's messages.
type network struct {
	messages []Message // by ID-1
	status   []status  // likewise
	flying   []ID      // in flight and free for the strategy, ascending; a window of flyBase
	flyBase  []ID
	aside    int     // messages that are held, or behind those
	cut      []Nodes // by sender: the receivers that its messages do not reach

	nodes int
	links []link // by sender and receiver, where links are FIFO
}

// status is where a message is.
type status uint8

const (
	inFlight status = iota
	held            // in flight, but in the hands of the scenario
	behind          // in flight, but behind a held one on a FIFO link
	delivered
	lost
)

// link is the queue of a FIFO link.
type link struct {
	queue []ID // in the order of sending, those that are gone included
	first int  // where those that are not gone begin
	held  int  // messages of it in the hands of the scenario
}

func newNetwork(info *Info) network {
	n := network{cut: make([]Nodes, info.Nodes+1), nodes: info.Nodes}
	if info.FIFO {
		n.links = make([]link, (info.Nodes+1)*(info.Nodes+1))
	}
	return n
}

func (n *network) reset() {
	n.messages, n.status, n.flying = n.messages[:0], n.status[:0], n.flyBase[:0]
	n.aside = 0
	clear(n.cut)
	for i := range n.links {
		l := &n.links[i]
		l.queue, l.first, l.held = l.queue[:0], 0, 0
	}
}

// Sent are the messages that the last step sent, lost ones included.
func (r *Run) Sent() []Message { return r.messages[r.sent:] }

// Messages are all messages sent so far, in order: the message with number i is at i-1.
func (r *Run) Messages() []Message { return r.messages }

// Message is the envelope of a message.
func (r *Run) Message(id ID) *Message { return &r.messages[id-1] }

// InFlight lists the messages that a strategy may deliver or drop, oldest first.
func (r *Run) InFlight() []ID { return r.flying }

// IsInFlight reports whether a message is in flight and free for the strategy.
func (r *Run) IsInFlight(id ID) bool {
	i := uint(id) - 1 // huge where the number is not positive
	return i < uint(len(r.status)) && r.status[i] == inFlight
}

// IsHeld reports whether a message is in flight but not free for the strategy: it is in the
// hands of the scenario, or behind such a message on a FIFO link.
func (r *Run) IsHeld(id ID) bool {
	return r.exists(id) && (r.status[id-1] == held || r.status[id-1] == behind)
}

// Deliverable reports whether a message in flight may be delivered now: its receiver
// is up and, where links are FIFO, no older message is in flight on its link.
func (r *Run) Deliverable(id ID) bool {
	return r.up == r.all && r.links == nil || r.arrives(id)
}

func (r *Run) arrives(id ID) bool { return r.up.Has(r.messages[id-1].To) && r.Head(id) == id }

// Head is the oldest message in flight on the link of the message given, which is the
// message itself where links are not FIFO.
func (r *Run) Head(id ID) ID {
	if r.links == nil {
		return id
	}
	l := r.link(&r.messages[id-1])
	for r.status[l.queue[l.first]-1] >= delivered {
		l.first++
	}
	return l.queue[l.first]
}

// Cut is the set of nodes that messages from n do not reach.
func (r *Run) Cut(n Node) Nodes { return r.cut[n] }

func (n *network) exists(id ID) bool { return id >= 1 && int(id) <= len(n.status) }

func (n *network) link(m *Message) *link { return &n.links[int(m.From)*(n.nodes+1)+int(m.To)] }

// send puts a message on its way. It takes the fields one by one: a Message is too large
// for registers, and building one only to copy it costs as much as the rest.
func (r *Run) send(from, to Node, kind string, tag Tag, at Time, body ID) ID {
	if to < 1 || int(to) > r.nodes || int(from) > r.nodes {
		panic(fmt.Sprintf("lockstep: the system sent a message from node %d to node %d of %d", from, to, r.nodes))
	}
	r.mixSent(from, to, kind, tag)
	return r.post(from, to, kind, tag, at, body)
}

// broadcast sends the same to every node. Where nothing can keep the messages back, which is
// the rule, they are entered into the books together.
func (r *Run) broadcast(from Node, kind string, tag Tag, body ID) {
	if int(from) > r.nodes {
		panic(fmt.Sprintf("lockstep: the system sent a message from node %d of %d", from, r.nodes))
	}
	r.mixSent(from, toAll, kind, tag)
	if r.cut[from] != 0 || r.links != nil {
		for to := range r.nodes {
			r.post(from, Node(to+1), kind, tag, 0, body)
		}
		return
	}
	first, end := len(r.messages), len(r.messages)+r.nodes
	if end > cap(r.messages) || end > cap(r.status) {
		r.messages, r.status = slices.Grow(r.messages, r.nodes), slices.Grow(r.status, r.nodes)
	}
	r.messages, r.status = r.messages[:end], r.status[:end]
	messages, status, flying := r.messages[first:], r.status[first:], r.extend(r.nodes)
	for i := range messages {
		id := ID(first + i + 1)
		m := &messages[i] // field by field, see send
		m.ID, m.Body, m.Copy, m.From, m.To, m.Type, m.Tag, m.At = id, body, 0, from, Node(i+1), kind, tag, 0
		status[i], flying[i] = inFlight, id
	}
}

// toAll stands for the receivers of a broadcast in the digest.
const toAll Node = 255

// mixSent folds the sending of a message into the run's digest.
func (r *Run) mixSent(from, to Node, kind string, tag Tag) {
	r.mix(uint64(from)<<40 ^ uint64(to)<<32 ^ uint64(uint32(tag.Phase)<<8^uint32(tag.Round)) ^ hash(kind))
}

// post enters a message into the books.
func (r *Run) post(from, to Node, kind string, tag Tag, at Time, body ID) ID {
	id := ID(len(r.messages) + 1)
	r.messages = append(r.messages, Message{ID: id, Body: body, From: from, To: to, Type: kind, Tag: tag, At: at})
	if r.cut[from].Has(to) && from != to {
		r.status = append(r.status, lost)
		r.lose(from, to)
		return id
	}
	if r.links != nil {
		l := r.link(&r.messages[id-1])
		l.queue = append(l.queue, id)
		if l.held > 0 {
			r.status = append(r.status, behind)
			r.aside++
			return id
		}
	}
	r.status = append(r.status, inFlight)
	r.push(id)
	return id
}

// hold takes a message from the strategy.
func (n *network) hold(id ID) {
	n.unfly(id)
	n.status[id-1] = held
	n.aside++
	if n.links != nil {
		n.link(&n.messages[id-1]).held++
		n.relink(id)
	}
}

// release gives a held message back.
func (n *network) release(id ID) {
	n.aside--
	n.fly(id)
	if n.links != nil {
		n.link(&n.messages[id-1]).held--
		n.relink(id)
	}
}

// takeOut removes a message from the network for good.
func (n *network) takeOut(id ID, to status) {
	was := n.status[id-1]
	n.status[id-1] = to
	if was == inFlight {
		n.unfly(id)
		return
	}
	n.aside--
	if n.links != nil && was == held {
		n.link(&n.messages[id-1]).held--
		n.relink(id)
	}
}

// relink settles what is behind a held message on the FIFO link of the message given, and
// what no longer is.
func (n *network) relink(id ID) {
	l := n.link(&n.messages[id-1])
	blocked := false
	for _, other := range l.queue[l.first:] {
		switch s := n.status[other-1]; {
		case s == held:
			blocked = true
		case s == inFlight && blocked:
			n.unfly(other)
			n.status[other-1] = behind
			n.aside++
		case s == behind && !blocked:
			n.aside--
			n.fly(other)
		}
	}
}

// push appends to the window of messages in flight.
func (n *network) push(id ID) { n.extend(1)[0] = id }

// extend makes the window of messages in flight longer by k and returns the new part.
func (n *network) extend(k int) []ID {
	end := len(n.flying)
	if end+k > cap(n.flying) {
		n.makeRoom(k)
	}
	n.flying = n.flying[:end+k]
	return n.flying[end:]
}

// makeRoom moves the window back to the start of its array. Where it would fill more than
// half of it, the array grows, so that a window which wanders is not moved at every step.
func (n *network) makeRoom(k int) {
	if need := len(n.flying) + k; 2*need > cap(n.flyBase) {
		n.flyBase = make([]ID, 0, 2*need)
	}
	n.flying = append(n.flyBase[:0], n.flying...)
}

// fly makes a message free for the strategy, in its place by age.
func (n *network) fly(id ID) {
	n.status[id-1] = inFlight
	if k := len(n.flying); k == 0 || n.flying[k-1] < id {
		n.push(id)
		return
	}
	n.push(0)
	at, _ := slices.BinarySearch(n.flying[:len(n.flying)-1], id)
	copy(n.flying[at+1:], n.flying[at:])
	n.flying[at] = id
}

// unfly takes a message out of those in flight. Lock-step strategies and fair delivery
// take the oldest, which costs nothing.
func (n *network) unfly(id ID) {
	if n.flying[0] == id {
		n.flying = n.flying[1:]
	} else {
		n.pull(id)
	}
}

// pull takes a message out of the middle of those in flight.
func (n *network) pull(id ID) {
	at := len(n.flying) - 1
	if at < 16 { // a few are gone through faster one by one
		for n.flying[at] != id {
			at--
		}
	} else {
		at, _ = slices.BinarySearch(n.flying, id)
	}
	n.flying = n.flying[:at+copy(n.flying[at:], n.flying[at+1:])]
}

// anyCut reports whether some link is cut.
func (n *network) anyCut() bool {
	for _, c := range n.cut {
		if c != 0 {
			return true
		}
	}
	return false
}
