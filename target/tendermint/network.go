package tendermint

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
)

// network is the connections of a run. Any two running validators have one, or will have one.
type network struct {
	cluster Cluster
	world   *bubble.World

	mutex        sync.Mutex
	incarnations []*replica // by node - 1; nil while it is down
	links        map[[2]lockstep.Node]*link

	noting sync.Mutex
	sent   map[way][]*Message // in order; nil: lost silently
}

// way is a channel of a connection in one direction.
type way struct {
	from, to lockstep.Node
	conn     int
	channel  byte
}

// number numbers a message when the engine learns of it. A forged message takes the number of the one that it
// replaces.
func (n *network) number(from, to lockstep.Node, m *Message) {
	w := way{from, to, m.Conn, m.Channel}
	n.noting.Lock()
	defer n.noting.Unlock()
	if m.forged {
		if m.Seq >= 0 && m.Seq < len(n.sent[w]) {
			n.sent[w][m.Seq] = m
		}
		return
	}
	m.Seq = len(n.sent[w])
	n.sent[w] = append(n.sent[w], m)
}

// upTo are the messages of a way from one on to another, except those lost silently.
func (n *network) upTo(w way, first, last int) (list []*Message) {
	n.noting.Lock()
	defer n.noting.Unlock()
	for _, m := range n.sent[w][min(first, len(n.sent[w])):min(last+1, len(n.sent[w]))] {
		if m != nil {
			list = append(list, m)
		}
	}
	return list
}

// link is the link between two nodes.
type link struct {
	conn int // counts the connections on it
	up   bool
}

func newNetwork(c Cluster, w *bubble.World) *network {
	return &network{
		cluster:      c,
		world:        w,
		incarnations: make([]*replica, c.Nodes),
		links:        map[[2]lockstep.Node]*link{},
		sent:         map[way][]*Message{},
	}
}

// order notifies a validator about one of its connections.
type order struct {
	with lockstep.Node
	conn int
	up   bool
}

func (n *network) link(a, b lockstep.Node) *link {
	at := [2]lockstep.Node{min(a, b), max(a, b)}
	if n.links[at] == nil {
		n.links[at] = &link{}
	}
	return n.links[at]
}

// join connects a validator that has started with all others, after a pause: a real connection takes a few exchanges.
func (n *network) join(r *replica) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if !r.node.Alive() {
		return
	}
	self := r.node.Self()
	n.part(r) // of an incarnation that froze in its crash, without a report
	n.incarnations[self-1] = r
	for _, other := range r.node.Others() {
		time.AfterFunc(n.cluster.Pause+apart(int(7*self+other)), func() {
			n.mutex.Lock()
			defer n.mutex.Unlock()
			if n.incarnations[self-1] == r {
				n.connect(self, other)
			}
		})
	}
}

// leave breaks all connections of a stopped validator.
func (n *network) leave(r *replica) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.incarnations[r.node.Self()-1] == r {
		n.part(r)
	}
}

// part removes an incarnation and all its connections.
func (n *network) part(r *replica) {
	self := r.node.Self()
	n.incarnations[self-1] = nil
	for _, other := range r.node.Others() {
		if l := n.link(self, other); l.up {
			l.up = false
			n.order(other, order{with: self, conn: l.conn})
		}
	}
}

// connect makes a connection, if both ends are up and there is none.
func (n *network) connect(a, b lockstep.Node) {
	l := n.link(a, b)
	if l.up || !n.alive(a) || !n.alive(b) {
		return
	}
	l.conn++
	l.up = true
	n.order(a, order{with: b, conn: l.conn, up: true})
	n.order(b, order{with: a, conn: l.conn, up: true})
}

// broke reports a broken connection, and restores it after a pause.
func (n *network) broke(a, b lockstep.Node, conn int) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	l := n.link(a, b)
	if !l.up || l.conn != conn {
		return
	}
	l.up = false
	n.order(a, order{with: b, conn: conn})
	n.order(b, order{with: a, conn: conn})
	time.AfterFunc(n.cluster.Pause+apart(int(7*a+b)), func() {
		n.mutex.Lock()
		defer n.mutex.Unlock()
		n.connect(a, b)
	})
}

// alive reports whether a validator is up.
func (n *network) alive(at lockstep.Node) bool {
	r := n.incarnations[at-1]
	return r != nil && r.node.Alive()
}

// order sends an order to a running validator.
func (n *network) order(to lockstep.Node, o order) {
	if n.alive(to) {
		n.incarnations[to-1].orders <- o
	}
}

// peer is one end of a connection: the library's representation of another validator.
type peer struct {
	baseService
	replica *replica
	with    lockstep.Node
	conn    int

	mutex         sync.Mutex
	values        map[string]any
	taken         [lanes]int // messages of each channel
	early         map[int]*Message
	removalFailed atomic.Bool
}

func newPeer(r *replica, o order) *peer {
	p := &peer{replica: r, with: o.with, conn: o.conn, values: map[string]any{}, early: map[int]*Message{}}
	p.baseService = *newBaseService(r.log, "peer", p)
	return p
}

func (p *peer) FlushStop()              { _ = p.Stop() }
func (p *peer) ID() peerID              { return peerID(fmt.Sprintf("%040x", int(p.with))) }
func (p *peer) RemoteIP() net.IP        { return net.IPv4(10, 0, 0, byte(p.with)) }
func (p *peer) RemoteAddr() net.Addr    { return &net.TCPAddr{IP: p.RemoteIP(), Port: 26656} }
func (p *peer) IsOutbound() bool        { return true }
func (p *peer) IsPersistent() bool      { return false } // the network handles it
func (p *peer) NodeInfo() nodeInfo      { return nil }
func (p *peer) Status() connStatus      { return connStatus{} }
func (p *peer) SocketAddr() *netAddress { return nil }

// CloseConn is called by the library when it drops a peer.
func (p *peer) CloseConn() error {
	p.replica.network.broke(p.replica.node.Self(), p.with, p.conn)
	return nil
}

// Set stores the data that reactors attach to the peer.
func (p *peer) Set(key string, value any) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.values[key] = value
}

// Get returns that data.
func (p *peer) Get(key string) any {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.values[key]
}

// send sends a message.
func (p *peer) send(channel byte, raw []byte) bool {
	if !p.IsRunning() {
		return false
	}
	m := describe(channel, raw)
	m.Conn = p.conn
	p.replica.node.Send(p.with, m.Kind, m.Tag(), m)
	return true
}

// next accepts an arrived message, and returns those whose turn has come.
func (p *peer) next(m *Message) []*Message {
	at := m.lane()
	if p.replica.network.cluster.Order == Free || at >= firstUnordered {
		return []*Message{m}
	}
	if m.Seq < p.taken[at] { // a duplicate, which a connection does not have, or a message that a later one has brought
		return nil
	}
	if at == stateLane {
		list := p.replica.network.upTo(way{p.with, p.replica.node.Self(), p.conn, m.Channel}, p.taken[at], m.Seq)
		p.taken[at] = m.Seq + 1
		return list
	}
	p.early[lanes*m.Seq+at] = m
	return p.turn(at)
}

// turn are the messages of a channel whose turn it is.
func (p *peer) turn(at int) (list []*Message) {
	for {
		m, ok := p.early[lanes*p.taken[at]+at]
		if !ok {
			return list
		}
		delete(p.early, lanes*p.taken[at]+at)
		p.taken[at]++
		if m.Raw != nil {
			list = append(list, m)
		}
	}
}

// evidenceChannel is the channel of evidence, in addition to the four channels of the consensus.
const evidenceChannel = 0x38

// lanes is the number of channels. On the channel of states, which validators report about themselves, a message
// brings all earlier ones with it. On the channel of proposals it waits for them, so that scenarios can withhold a
// proposal. Messages from firstUnordered on are processed in the order of arrival: votes, which gossip sends in a
// random order, and evidence.
const (
	lanes          = 5
	stateLane      = 0
	firstUnordered = 2
)

// lane is the number of the channel that the message travels on.
func (m *Message) lane() int {
	if m.Channel == evidenceChannel {
		return lanes - 1
	}
	return int(m.Channel & 3)
}

// skip releases the messages that wait for a silently lost one.
func (n *network) skip(from, to lockstep.Node, m *Message) {
	if m.lane() == stateLane {
		n.noting.Lock()
		defer n.noting.Unlock()
		if w := (way{from, to, m.Conn, m.Channel}); m.Seq < len(n.sent[w]) {
			n.sent[w][m.Seq] = nil
		}
		return
	}
	n.mutex.Lock()
	r := n.incarnations[to-1]
	n.mutex.Unlock()
	if r != nil {
		lost := *m
		lost.Raw = nil
		r.node.Go(func() { r.receive(from, &lost) })
	}
}
