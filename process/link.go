package process

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
)

// Handshake relays the beginning of a connection between the dialer and the server, and may rewrite it. Servers need
// one if their first bytes are no packets, such as an authentication, or name an address that the link must replace by
// that of a proxy. The link calls it once for each connection. When it returns nil, the link forwards all further data
// unchanged, and gives it to the decoders if there are any; they do not see the handshake. An error ends the
// connection.
type Handshake func(dialer, server io.ReadWriter) error

// Link is a proxy between a node that dials and a server. By default, everything that it carries stays in order, and it
// loses only whole connections: a dropped packet takes its connection with it, and everything behind it.
//
// Two methods, called before the first connection, declare that packets depend less on each other:
//
//	                      by default      SetUnordered        SetDetached
//	a waiting packet      holds up        lets later packets  lets later packets
//	                      later packets   pass                pass
//	a dropped packet      ends its        is lost alone       keeps waiting
//	                      connection
//	the connection ends   the packet      the packet          the packet stays
//	                      is lost         is lost
//	Deliver writes it on  its connection  its connection      the newest connection,
//	                                                          each time again
//	it is for             any protocol    numbered requests   servers that accept a message
//	                                      and responses       repeatedly and on any connection
//
// System.Datagrams needs SetDetached on all links.
type Link struct {
	network   *Network
	from, to  lockstep.Node
	listen    string
	target    *net.TCPAddr
	greet     Handshake
	protocol  Protocol
	unordered bool // packets are independent of each other
	detached  bool // and of their connections

	beside  *net.TCPAddr  // the link is also open while the server listens there
	timeout time.Duration // timeout for a server that does not listen yet

	// The network's mutex guards these.
	alive    bool // the server listens
	ended    bool
	refused  error // the error of the last attempt to listen
	listener net.Listener
	pairs    map[*pair]bool
	newest   *pair // of those whose greeting is complete
}

// AcceptEarly lets the link accept connections although its server does not listen at the link's target yet. It is for
// servers with several ports that open one after the other, and whose peers back off for long after a refusal. While
// the server listens at the address beside, such as its first port, the link accepts. It dials the target until that
// succeeds, and resets the connection after the timeout. Without AcceptEarly, a link refuses connections until its
// server listens at the target.
func (l *Link) AcceptEarly(beside string, timeout time.Duration) error {
	address, err := loopback(beside)
	if err != nil {
		return err
	}
	l.network.mutex.Lock()
	defer l.network.mutex.Unlock()
	l.beside, l.timeout = address, timeout
	return nil
}

// obey opens or closes the listener, and closes connections that must not exist. The caller holds the network's mutex.
func (l *Link) obey() {
	want := l.alive && !l.ended && !l.network.severed(l.from, l.to) // no cut concerns a dialer that is no node
	switch {
	case want && l.listener == nil:
		if l.listener, l.refused = net.Listen("tcp", l.listen); l.refused == nil {
			listener := l.listener
			l.network.closed.Go(func() { l.accept(listener) })
		} else {
			l.listener = nil
		}
	case !want && l.listener != nil:
		_ = l.listener.Close()
		l.listener = nil
	}
	for p := range l.pairs {
		if l.ended || l.network.severed(p.from, l.to) {
			p.reset()
		}
	}
}

// Listens reports whether the link accepts connections. The error is the reason if it should and cannot, such as an
// address in use.
func (l *Link) Listens() (bool, error) {
	l.network.mutex.Lock()
	defer l.network.mutex.Unlock()
	return l.listener != nil, l.refused
}

// Connections returns the number of connections that the link carries.
func (l *Link) Connections() int {
	l.network.mutex.Lock()
	defer l.network.mutex.Unlock()
	return len(l.pairs)
}

func (l *Link) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		l.network.closed.Go(func() { l.carry(conn.(*net.TCPConn)) })
	}
}

// carry carries one connection to its end.
func (l *Link) carry(near *net.TCPConn) {
	p := &pair{link: l, near: near, from: l.from, done: make(chan struct{})}
	if p.from == 0 {
		p.from = l.network.dialler(near)
	}
	if !p.enter() {
		reset(near)
		return
	}
	defer p.leave()
	if !p.wait(p.from, l.to, time.Time{}) { // the first packet would not arrive either
		return
	}
	far := p.dial()
	if far == nil {
		p.breaks(l.to, p.from)
		return
	}
	if !p.join(far) {
		reset(far)
		return
	}
	if l.greet != nil {
		if err := l.greet(near, far); err != nil {
			p.end()
			return
		}
	}
	p.greeted()
	var dialer, listener Decoder
	if l.protocol != nil {
		dialer, listener = l.protocol()
	}
	var both sync.WaitGroup
	both.Go(func() { p.flow(near, far, p.from, l.to, dialer) })
	both.Go(func() { p.flow(far, near, l.to, p.from, listener) })
	both.Wait()
}

// redial is the pause between attempts to reach a server that does not listen yet.
const redial = 5 * time.Millisecond

// dial dials the server, or returns nil.
func (p *pair) dial() *net.TCPConn {
	for begin := time.Now(); ; {
		far, err := net.DialTCP("tcp", nil, p.link.target)
		if err == nil {
			return far
		}
		if time.Since(begin) >= p.link.timeout {
			return nil
		}
		select {
		case <-p.done:
			return nil
		case <-time.After(redial):
		}
	}
}

// dialler returns the node at the other end of a connection, or 0 if that end is no node.
func (n *Network) dialler(conn *net.TCPConn) lockstep.Node {
	pid := owner(conn.RemoteAddr().(*net.TCPAddr), conn.LocalAddr().(*net.TCPAddr),
		func(pid int) bool { return n.owner(pid) != 0 })
	return n.owner(pid)
}

// pair is a connection through a link: near is the side that dialed.
type pair struct {
	link *Link
	from lockstep.Node // 0: an unknown dialer, which is never cut off
	near *net.TCPConn

	once sync.Once
	done chan struct{} // closed when the pair is reset
	far  *net.TCPConn  // guarded by the network's mutex
}

// enter registers the pair with its link, unless its ends are cut off from each other.
func (p *pair) enter() bool {
	n := p.link.network
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if p.link.ended || n.severed(p.from, p.link.to) {
		return false
	}
	p.link.pairs[p] = true
	return true
}

// join registers the far end.
func (p *pair) join(far *net.TCPConn) bool {
	p.link.network.mutex.Lock()
	defer p.link.network.mutex.Unlock()
	if p.ended() {
		return false
	}
	p.far = far
	return true
}

// ended reports whether the pair was reset.
func (p *pair) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// greeted records that the greeting is complete.
func (p *pair) greeted() {
	p.link.network.mutex.Lock()
	defer p.link.network.mutex.Unlock()
	p.link.newest = p
}

// leave closes a connection that has ended in both directions. Data in transit still arrives.
func (p *pair) leave() {
	p.link.network.mutex.Lock()
	defer p.link.network.mutex.Unlock()
	delete(p.link.pairs, p)
	p.once.Do(func() {
		close(p.done)
		_ = p.near.Close()
		if p.far != nil {
			_ = p.far.Close()
		}
	})
}

// reset ends the connection at once, at both ends. The caller holds the network's mutex, or is the only user of the
// pair.
func (p *pair) reset() {
	p.once.Do(func() {
		close(p.done)
		reset(p.near)
		if p.far != nil {
			reset(p.far)
		}
	})
}

// reset closes a connection so that the other end sees a reset.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// wait waits while a direction is stalled, and until the delay after came is over. It reports false if the pair is
// reset meanwhile.
func (p *pair) wait(from, to lockstep.Node, came time.Time) bool {
	for {
		still, delay, changed := p.link.network.state(from, to)
		var until <-chan time.Time
		if !still {
			left := time.Duration(0)
			if delay > 0 && !came.IsZero() {
				left = delay - time.Since(came)
			}
			if left <= 0 {
				return true
			}
			timer := time.NewTimer(left)
			defer timer.Stop()
			until = timer.C
		}
		select {
		case <-p.done:
			return false
		case <-changed:
		case <-until:
		}
	}
}

// chunk is the data of one read, and its time.
type chunk struct {
	bytes []byte
	came  time.Time
}

// Bounds on the data in transit in one direction of a connection.
const (
	chunkBytes = 32 << 10
	chunks     = 32
)

// flow carries one direction until it ends. The end is carried like data.
func (p *pair) flow(from, to *net.TCPConn, sender, receiver lockstep.Node, decoder Decoder) {
	queue := make(chan chunk, chunks)
	free := make(chan []byte, chunks)
	p.link.network.closed.Go(func() { p.read(from, queue, free, sender, receiver) })
	packets := &sieve{pair: p, decoder: decoder, to: to, from: sender, at: receiver}
	for c := range queue {
		if !p.wait(sender, receiver, c.came) {
			continue // drain, so that the reader ends
		}
		if c.bytes == nil { // the stream ended there
			_ = to.CloseWrite()
			return
		}
		if decoder != nil {
			if !packets.feed(c.bytes, c.came) {
				continue
			}
		} else if _, err := to.Write(c.bytes); err != nil {
			p.breaks(receiver, sender)
		}
		select {
		case free <- c.bytes[:chunkBytes]:
		default:
		}
	}
}

// read puts incoming data into the queue. An orderly end of the stream is a chunk without bytes; an error breaks the
// pair.
func (p *pair) read(from *net.TCPConn, queue chan<- chunk, free <-chan []byte, sender, receiver lockstep.Node) {
	defer close(queue)
	for {
		var buffer []byte
		select {
		case buffer = <-free:
		default:
			buffer = make([]byte, chunkBytes)
		}
		n, err := from.Read(buffer)
		if n > 0 {
			queue <- chunk{buffer[:n], time.Now()}
		}
		switch {
		case errors.Is(err, io.EOF):
			queue <- chunk{came: time.Now()}
			return
		case err != nil:
			p.breaks(sender, receiver)
			return
		}
	}
}

// breaks ends the pair when a reset at one end can arrive at the other. A reset is a packet, too, and is stalled by a
// cut that stalls.
func (p *pair) breaks(from, to lockstep.Node) {
	if p.wait(from, to, time.Now()) {
		p.end()
	}
}

// end resets the pair, if the caller does not hold the network's mutex.
func (p *pair) end() {
	p.link.network.mutex.Lock()
	defer p.link.network.mutex.Unlock()
	p.reset()
}
