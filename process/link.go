package process

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
)

// Greeting carries the beginning of a connection, where some of it must be said in other words, or is no message yet: near is the one
// who dialed, and far the server. What follows is carried as it is.
type Greeting func(near, far io.ReadWriter) error

// Link is a proxy. It keeps the order of what it carries, and loses nothing but whole
// connections.
type Link struct {
	network  *Network
	from, to lockstep.Node
	listen   string
	target   *net.TCPAddr
	greet    Greeting
	protocol Protocol
	loose    bool // packets are independent of each other
	detached bool // and of their connections

	beside   *net.TCPAddr  // the link is open, too, while the server listens there
	patience time.Duration // for a server that does not listen yet

	// The network's mutex guards these.
	alive    bool // the server listens
	ended    bool
	refused  error // why it could not be listened, the last time
	listener net.Listener
	pairs    map[*pair]bool
	newest   *pair // of those whose greeting is over
}

// Early lets the link be dialled before its server listens at the target, while it listens at another address of its own:
// a connection waits for the server, and is reset after so long. It is for servers that
// dial each other in the moment in which one begins to listen, and pause for long where they are refused.
func (l *Link) Early(beside string, patience time.Duration) error {
	address, err := loopback(beside)
	if err != nil {
		return err
	}
	l.network.mutex.Lock()
	defer l.network.mutex.Unlock()
	l.beside, l.patience = address, patience
	return nil
}

// obey opens or closes the listener, and closes connections that cannot be. The network's mutex
// is held.
func (l *Link) obey() {
	want := l.alive && !l.ended && !l.network.severed(l.from, l.to) // nothing is cut between nobody and a node
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

// Listens reports whether the link can be dialled, and why not where it should.
func (l *Link) Listens() (bool, error) {
	l.network.mutex.Lock()
	defer l.network.mutex.Unlock()
	return l.listener != nil, l.refused
}

// Connections is the number of connections that the link carries.
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
	var said, answered Decoder
	if l.protocol != nil {
		said, answered = l.protocol()
	}
	var both sync.WaitGroup
	both.Go(func() { p.flow(near, far, p.from, l.to, said) })
	both.Go(func() { p.flow(far, near, l.to, p.from, answered) })
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
		if time.Since(begin) >= p.link.patience {
			return nil
		}
		select {
		case <-p.done:
			return nil
		case <-time.After(redial):
		}
	}
}

// dialler is the node at the other end of a connection, or 0 where it is none.
func (n *Network) dialler(conn *net.TCPConn) lockstep.Node {
	pid := owner(conn.RemoteAddr().(*net.TCPAddr), conn.LocalAddr().(*net.TCPAddr), func(pid int) bool { return n.owner(pid) != 0 })
	return n.owner(pid)
}

// pair is a connection through a link: the one who dialled is near.
type pair struct {
	link *Link
	from lockstep.Node // 0: nobody that we know, who is never cut off
	near *net.TCPConn

	once sync.Once
	done chan struct{} // closed when the pair is reset
	far  *net.TCPConn  // the network's mutex guards it
}

// enter notes the pair at its link, unless its ends are cut off from each other.
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

// join notes the far end.
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

// greeted notes that the greeting is over.
func (p *pair) greeted() {
	p.link.network.mutex.Lock()
	defer p.link.network.mutex.Unlock()
	p.link.newest = p
}

// leave closes a connection that has ended in both directions. What was carried still arrives.
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

// reset ends the connection at once, at both ends. The network's mutex is held, or the pair is
// only the caller's.
func (p *pair) reset() {
	p.once.Do(func() {
		close(p.done)
		reset(p.near)
		if p.far != nil {
			reset(p.far)
		}
	})
}

// reset closes a connection so that the other end sees it broken.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// wait waits while a direction stands still, and until a time; it reports false when the pair
// was reset meanwhile.
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

// chunk is what was read at once, and when.
type chunk struct {
	bytes []byte
	came  time.Time
}

// Bounds of what is on its way in one direction of a connection.
const (
	chunkBytes = 32 << 10
	chunks     = 32
)

// flow carries one direction until it ends. The end is carried like anything else.
func (p *pair) flow(from, to *net.TCPConn, sender, receiver lockstep.Node, decoder Decoder) {
	queue := make(chan chunk, chunks)
	free := make(chan []byte, chunks)
	p.link.network.closed.Go(func() { p.read(from, queue, free, sender, receiver) })
	packets := &sieve{pair: p, decoder: decoder, to: to, from: sender, at: receiver}
	for c := range queue {
		if !p.wait(sender, receiver, c.came) {
			continue // drain, so that the reader ends
		}
		if c.bytes == nil { // it ended there
			_ = to.CloseWrite()
			return
		}
		if decoder != nil {
			if !packets.take(c.bytes, c.came) {
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

// read puts what comes into the queue. Where it ends in good order, a chunk without bytes says
// so; where it breaks, the pair breaks.
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

// breaks ends the pair when the news that it broke at one end can arrive at the other: what says so is a packet, too, which stands
// still under a cut that stalls.
func (p *pair) breaks(from, to lockstep.Node) {
	if p.wait(from, to, time.Now()) {
		p.end()
	}
}

// end resets the pair, where the network's mutex is not held.
func (p *pair) end() {
	p.link.network.mutex.Lock()
	defer p.link.network.mutex.Unlock()
	p.reset()
}
