package lockstep

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// network is the state of a run's messages.
type network struct {
	messages []trace.Message // by ID-1
	flying   []trace.ID      // in flight and free for the strategy, ascending, from landed on
	landed   int
	aside    int // messages that are held or behind held ones
	kinds    places
	tag      trace.Tag // of the last message
	sameTag  trace.ID  // all messages from this one on have that tag
	cut      trace.Links

	nodes int
	links []link // by sender and receiver, if links are FIFO
}

// link is the queue of a FIFO link.
type link struct {
	queue []trace.ID // in the order of sending, including delivered and lost messages
	first int        // index of the first message that is neither delivered nor lost
	held  int        // its messages held by the scenario
}

func newNetwork(info *Info) network {
	// flying has spare capacity, so that shifts are rare.
	n := network{
		cut:    trace.NewLinks(info.Nodes),
		nodes:  info.Nodes,
		flying: make([]trace.ID, 0, 256),
	}
	if info.FIFO {
		n.links = make([]link, (info.Nodes+1)*(info.Nodes+1))
	}
	return n
}

func (n *network) reset() {
	n.messages, n.flying, n.landed = n.messages[:0], n.flying[:0], 0
	n.aside, n.tag, n.sameTag = 0, trace.Tag{}, 1
	clear(n.cut)
	for i := range n.links {
		l := &n.links[i]
		l.queue, l.first, l.held = l.queue[:0], 0, 0
	}
}

// Sent lists the messages that the last step sent, including lost ones.
func (r *Run) Sent() []trace.Message { return r.messages[r.sent:] }

// Messages lists all messages sent so far, in order: the message with number i is at i-1.
func (r *Run) Messages() []trace.Message { return r.messages }

// Message is the envelope of a message.
func (r *Run) Message(id trace.ID) *trace.Message { return &r.messages[id-1] }

// SameTag is the number of the first message of the latest series with equal tags: all messages from this one on carry
// the tag of the last one. Lock-step strategies use it to see at once that all messages in flight belong to one round.
// Before any message is sent, it is the number of the next one.
func (r *Run) SameTag() trace.ID { return r.sameTag }

// FreeMessages lists the messages in flight that are not held ([Run.IsHeld]), oldest first. A strategy may drop any of
// them, and deliver those that are [Run.Deliverable].
func (r *Run) FreeMessages() []trace.ID { return r.flying[r.landed:] }

// IsFree reports whether a message is in flight and not held ([Run.IsHeld]), so that [Run.FreeMessages] has it.
func (r *Run) IsFree(id trace.ID) bool {
	i := uint(id) - 1 // huge if the number is not positive
	return i < uint(len(r.messages)) && r.messages[i].Fate == trace.InFlight
}

// IsHeld reports whether a message is in flight but kept from the strategy. The scenario holds it, or holds an earlier
// message on the same FIFO link.
func (r *Run) IsHeld(id trace.ID) bool {
	return r.onItsWay(id) && r.messages[id-1].Fate != trace.InFlight
}

// Deliverable reports whether a free message may be delivered now. Its receiver must be up. If links are FIFO, no older
// message may be in flight on its link.
func (r *Run) Deliverable(id trace.ID) bool {
	return r.calm || r.arrives(id)
}

func (r *Run) arrives(id trace.ID) bool {
	return r.up.Has(r.messages[id-1].To) && r.Head(id) == id && !r.overtakes(id)
}

// Head is the oldest message in flight on the given message's link, free or held. If links are not FIFO, it is the
// given message itself.
func (r *Run) Head(id trace.ID) trace.ID {
	if r.links == nil {
		return id
	}
	l := r.link(&r.messages[id-1])
	for !r.messages[l.queue[l.first]-1].Fate.OnItsWay() {
		l.first++
	}
	return l.queue[l.first]
}

// Cut is the set of nodes to which messages from n are lost, because a Cut step cut the link.
func (r *Run) Cut(n Node) Nodes { return r.cut[n] }

// onItsWay reports whether the message exists and is neither delivered nor lost.
func (n *network) onItsWay(id trace.ID) bool {
	return id >= 1 && int(id) <= len(n.messages) && n.messages[id-1].Fate.OnItsWay()
}

func (n *network) link(m *trace.Message) *link { return &n.links[int(m.From)*(n.nodes+1)+int(m.To)] }

// misaddressed panics over a system that sends from or to a node that does not exist.
//
//go:noinline
func (r *Run) misaddressed(from, to Node) {
	panic(fmt.Sprintf("lockstep: the system sent a message from node %d to node %d of %d", from, to, r.nodes))
}

// toAll as receiver means all nodes, in a broadcast.
const toAll Node = 255

// send folds a message into the run's digest and enters it into the run's state. It takes and writes the fields one
// by one. A Message is too large for registers, and a processor stalls when it copies a Message that it has just
// built.
func (r *Run) send(from, to Node, kind string, tag trace.Tag, at trace.Time, body trace.ID) trace.ID {
	if int(from) > r.nodes || to < 1 || int(to) > r.nodes {
		r.misaddressed(from, to)
	}
	if len(r.messages) == cap(r.messages) || len(r.flying) == cap(r.flying) {
		r.grow(1)
	}
	k := r.kinds.of(kind)
	if !k.is(kind) {
		k.learn(kind)
	}
	r.announce(from, to, k, tag)
	r.messages = r.messages[:len(r.messages)+1]
	id := trace.ID(len(r.messages))
	m := &r.messages[id-1]
	m.ID, m.Body, m.Copy, m.From, m.To, m.Fate, m.Type, m.Tag, m.At =
		id, body, 0, from, to, trace.InFlight, kind, tag, at
	if r.cut[from] == 0 && r.links == nil || r.goes(m) {
		r.flying = r.flying[:len(r.flying)+1]
		r.flying[len(r.flying)-1] = id
	}
	return id
}

// announce folds the sending of a message into the run's digest, and records its tag.
func (r *Run) announce(from, to Node, kind *place, tag trace.Tag) {
	r.mix(uint64(from)<<40 ^ uint64(to)<<32 ^ uint64(uint32(tag.Phase)<<8^uint32(tag.Round)) ^ kind.hash)
	if tag != r.tag {
		r.tag, r.sameTag = tag, trace.ID(len(r.messages)+1)
	}
}

// goes sets the fate of a message that a cut or a FIFO link may keep back. It reports whether the message is in
// flight.
func (r *Run) goes(m *trace.Message) bool {
	if r.cut[m.From].Has(m.To) {
		m.Fate = trace.Lost
		r.lose(m.From, m.To)
	} else if r.links != nil {
		l := r.link(m)
		l.queue = append(l.queue, m.ID)
		if l.held > 0 {
			m.Fate = trace.Behind
			r.aside++
		}
	}
	return m.Fate == trace.InFlight
}

// sendAll sends a message to every node. Usually nothing can keep the messages back; then they are entered together.
// In the digest they are one.
func (r *Run) sendAll(from Node, kind string, tag trace.Tag, body trace.ID) {
	k := r.kinds.of(kind)
	if !k.is(kind) {
		k.learn(kind)
	}
	r.announce(from, toAll, k, tag)
	if r.cut[from] != 0 || r.links != nil {
		digest := r.digest
		for to := range r.nodes {
			r.send(from, Node(to+1), kind, tag, 0, body)
		}
		r.digest = digest
		return
	}
	sent, flown := len(r.messages), len(r.flying)
	if sent+r.nodes > cap(r.messages) || flown+r.nodes > cap(r.flying) {
		flown = r.grow(r.nodes)
	}
	r.messages, r.flying = r.messages[:sent+r.nodes], r.flying[:flown+r.nodes]
	messages, flying := r.messages[sent:], r.flying[flown:]
	for i := range messages {
		m := &messages[i]
		id := trace.ID(sent + i + 1)
		m.ID, m.Body, m.Copy, m.From, m.To, m.Fate, m.Type, m.Tag, m.At =
			id, body, 0, from, Node(i+1), trace.InFlight, kind, tag, 0
		flying[i] = id
	}
}

// grow reserves capacity for k more messages in flight, and returns the length of their list.
func (n *network) grow(k int) int {
	n.messages = slices.Grow(n.messages, k)
	n.shift()
	n.flying = slices.Grow(n.flying, k)
	return len(n.flying)
}

// hold takes a message away from the strategy.
func (n *network) hold(id trace.ID) {
	n.unfly(id)
	n.messages[id-1].Fate = trace.Held
	n.aside++
	if n.links != nil {
		n.link(&n.messages[id-1]).held++
		n.relink(id)
	}
}

// release gives a held message back.
func (n *network) release(id trace.ID) {
	n.aside--
	n.fly(id)
	if n.links != nil {
		n.link(&n.messages[id-1]).held--
		n.relink(id)
	}
}

// takeOut removes a message from the network permanently.
func (n *network) takeOut(id trace.ID, to trace.Fate) {
	m := &n.messages[id-1]
	was := m.Fate
	m.Fate = to
	if was == trace.InFlight {
		n.unfly(id)
		return
	}
	n.aside--
	if n.links != nil && was == trace.Held {
		n.link(m).held--
		n.relink(id)
	}
}

// relink updates the messages on the FIFO link of the given message: those behind a held message, and those no longer
// behind one.
func (n *network) relink(id trace.ID) {
	l := n.link(&n.messages[id-1])
	blocked := false
	for _, other := range l.queue[l.first:] {
		switch m := &n.messages[other-1]; {
		case m.Fate == trace.Held:
			blocked = true
		case m.Fate == trace.InFlight && blocked:
			n.unfly(other)
			m.Fate = trace.Behind
			n.aside++
		case m.Fate == trace.Behind && !blocked:
			n.aside--
			n.fly(other)
		}
	}
}

// push appends to the messages in flight.
func (n *network) push(id trace.ID) {
	if len(n.flying) == cap(n.flying) {
		n.shift()
	}
	n.flying = append(n.flying, id)
}

// shift moves the messages in flight to the start of their list if most of the list is unused.
func (n *network) shift() {
	if 2*n.landed > len(n.flying) {
		n.flying, n.landed = n.flying[:copy(n.flying, n.flying[n.landed:])], 0
	}
}

// fly makes a message free for the strategy, at its place by age.
func (n *network) fly(id trace.ID) {
	n.messages[id-1].Fate = trace.InFlight
	n.push(id)
	flying := n.flying[n.landed:]
	at, _ := slices.BinarySearch(flying[:len(flying)-1], id)
	copy(flying[at+1:], flying[at:])
	flying[at] = id
}

// unfly takes a message out of those in flight. Lock-step strategies and fair delivery take the oldest message, which
// costs nothing.
func (n *network) unfly(id trace.ID) {
	if n.flying[n.landed] == id {
		n.landed++
	} else {
		n.pull(id)
	}
}

// pull takes a message out of the middle of those in flight. Older messages move up; in a long list, younger ones
// move down instead.
func (n *network) pull(id trace.ID) {
	flying := n.flying[n.landed:]
	if len(flying) > 32 {
		at, _ := slices.BinarySearch(flying, id)
		n.flying = n.flying[:n.landed+at+copy(flying[at:], flying[at+1:])]
		return
	}
	older := flying[0]
	for i := 1; older != id; i++ {
		flying[i], older = older, flying[i]
	}
	n.landed++
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
