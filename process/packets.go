package process

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Packet is a message as it stands on a connection.
type Packet struct {
	// Type names it. A packet without a type is carried without asking, as heartbeats are.
	Type string
	// Tag is its phase and round, where the protocol has them.
	Tag trace.Tag
	// Height is how far things have come by what its sender says, as the length of a log: see Network.Rise. 0: it does not say.
	Height int64
	// Text is what is in it, in a few words.
	Text string
}

// Decoder cuts what travels in one direction of a connection into packets.
type Decoder interface {
	// Next is the packet at the beginning of data, and its length in bytes; 0 means that more must
	// come. It is asked again about the same bytes with more behind them, and moves on when they were taken. An
	// error means that this is not the protocol, which ends the connection.
	Next(data []byte) (Packet, int, error)
}

// Protocol makes the decoders of a connection: of what is said by the one who dialled, and of the
// answers. A direction without a decoder is carried as it is.
type Protocol func() (said, answered Decoder)

// Held is a packet that waits at its link for a word.
type Held struct {
	// Number is its own in its network.
	Number   int
	From, To lockstep.Node
	Packet
}

// packets are those of a network that wait. The network's mutex guards them.
type packets struct {
	control bool
	waiting map[int]*waiting
	count   int
	came    []Held // and were not told yet
	lost    []int  // likewise
	last    time.Time
	wrong   error // what a decoder did not understand, the first time
	heights heights
}

type waiting struct {
	pair *pair
	goes chan struct{} // closed when it may go on, or is lost alone
	lost bool          // alone: its connection lives on
	data []byte        // of a packet that is detached
	back bool          // it is an answer of the server that was dialed
}

// Decode lets what the link carries be cut into packets. It must be called before the link is
// dialled.
func (l *Link) Decode(p Protocol) { l.protocol = p }

// Loose says that packets of the link are independent of each other, as they are where the receiver keeps no order and answers are told by their
// numbers: one that waits lets those behind it pass, and one that is lost takes nothing with it. It must be called before the link is dialled.
func (l *Link) Loose() { l.loose = true }

// Detach takes packets that are under Control off their connection for good: each waits until the end of the run, and Carry writes it on the
// newest connection, as often as it is called. Nothing is lost with a connection. It is for servers that take a message again, or on another
// connection, and must be called before the link is dialed.
func (l *Link) Detach() { l.detached = true }

// Control takes packets that have a type into somebody's hands, from now on, or lets all of them go on. They wait
// at the head of their connection: what was sent behind them waits, too, and is not seen yet.
func (n *Network) Control(on bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.packets.control = on
	if !on {
		for number := range n.packets.waiting {
			n.release(number)
		}
	}
}

// Sent are the packets that have come to wait since it was last asked, in their order, and the numbers of those that were
// lost with their connection since then. An error tells of a connection that no decoder understood.
func (n *Network) Sent() (came []Held, lost []int, err error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	p := &n.packets
	came, lost, err = p.came, p.lost, p.wrong
	p.came, p.lost, p.wrong = nil, nil, nil
	return came, lost, err
}

// Carry lets a packet go on. It reports false where it does not wait any more, or is detached and there is no connection.
func (n *Network) Carry(number int) bool {
	n.mutex.Lock()
	if w := n.packets.waiting[number]; w != nil && w.data != nil {
		to := w.receiver()
		n.mutex.Unlock()
		if to == nil {
			return false
		}
		_, err := to.Write(w.data)
		return err == nil
	}
	defer n.mutex.Unlock()
	return n.release(number)
}

// receiver is the connection on which a detached packet travels, or nil. The mutex is held.
func (w *waiting) receiver() *net.TCPConn {
	p := w.pair.link.newest
	if p == nil || p.ended() {
		return nil
	}
	if w.back {
		return p.near
	}
	return p.far
}

// Data is what a detached packet consists of, as it stood on the wire.
func (n *Network) Data(number int) []byte {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if w := n.packets.waiting[number]; w != nil {
		return w.data
	}
	return nil
}

// Forge makes a detached packet that nobody sent, and returns its number. There must be a link between the nodes.
func (n *Network) Forge(from, to lockstep.Node, data []byte) (int, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for _, l := range n.links {
		if l.from == from && l.to == to || l.from == to && l.to == from {
			n.packets.count++
			n.packets.waiting[n.packets.count] = &waiting{pair: &pair{link: l}, goes: make(chan struct{}), data: data, back: l.to == from}
			return n.packets.count, nil
		}
	}
	return 0, fmt.Errorf("process: no link between nodes %d and %d", from, to)
}

// Break loses a packet as a network does: with its connection, and all that is behind it. Of a link that is Loose
// it is lost alone.
func (n *Network) Break(number int) bool {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	w := n.packets.waiting[number]
	switch {
	case w == nil:
		return false
	case w.data != nil:
		return true // it stays where it is
	case w.pair.link.loose:
		w.lost = true
		return n.release(number)
	default:
		w.pair.reset()
		return true
	}
}

// Waiting is the number of packets that wait for a word.
func (n *Network) Waiting() int {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return len(n.packets.waiting)
}

// release lets a packet go on. The mutex is held.
func (n *Network) release(number int) bool {
	w := n.packets.waiting[number]
	if w == nil {
		return false
	}
	delete(n.packets.waiting, number)
	n.packets.last = time.Now()
	close(w.goes)
	return true
}

// Quiet waits until no packet has come or gone for so long.
func (n *Network) Quiet(ctx context.Context, silence time.Duration) error {
	begin := time.Now()
	for {
		n.mutex.Lock()
		last := n.packets.last
		n.mutex.Unlock()
		if last.Before(begin) {
			last = begin
		}
		left := silence - time.Since(last)
		if left <= 0 {
			return nil
		}
		if err := Sleep(ctx, left); err != nil {
			return err
		}
	}
}

// hold notes a packet that is to wait for a word, or returns nil where it need not.
func (p *pair) hold(from, to lockstep.Node, packet Packet, data []byte) (number int, w *waiting) {
	n := p.link.network
	n.mutex.Lock()
	defer n.mutex.Unlock()
	q := &n.packets
	q.last = time.Now()
	if packet.Type == "" || from == 0 || to == 0 || !p.below(packet.Height) || !q.control {
		return 0, nil
	}
	q.count++
	w = &waiting{pair: p, goes: make(chan struct{}), back: from == p.link.to}
	if p.link.detached {
		w.data = slices.Clone(data)
	}
	q.waiting[q.count] = w
	q.came = append(q.came, Held{Number: q.count, From: from, To: to, Packet: packet})
	return q.count, w
}

// await waits until a packet is told to go on, and reports false where it was lost, alone or because its connection
// ended meanwhile.
func (p *pair) await(number int, w *waiting) bool {
	select {
	case <-w.goes:
		return !w.lost
	case <-p.done:
	}
	n := p.link.network
	n.mutex.Lock()
	defer n.mutex.Unlock()
	q := &n.packets
	if q.waiting[number] == nil {
		return !w.lost // both happened
	}
	delete(q.waiting, number)
	q.lost = append(q.lost, number)
	q.last = time.Now()
	return false
}

// sieve carries what it is given packet by packet.
type sieve struct {
	*pair
	decoder  Decoder
	to       *net.TCPConn
	from, at lockstep.Node // the sender and the receiver
	rest     []byte        // that is no whole packet yet
}

// maxPacket bounds what may wait for the rest of a packet.
const maxPacket = 16 << 20

// take takes what has come, and carries the packets that are whole now. It reports false at the
// end of the connection.
func (s *sieve) take(data []byte, came time.Time) bool {
	s.rest = append(s.rest, data...)
	done := 0
	for done < len(s.rest) {
		packet, length, err := s.decoder.Next(s.rest[done:])
		if err == nil && (length < 0 || length > len(s.rest)-done) {
			err = fmt.Errorf("a decoder takes %d of %d bytes", length, len(s.rest)-done)
		}
		if err == nil && length == 0 && len(s.rest)-done > maxPacket {
			err = fmt.Errorf("a packet of more than %d bytes", maxPacket)
		}
		switch {
		case err != nil:
			s.confused(err)
			return false
		case length == 0:
			s.rest = slices.Delete(s.rest, 0, done)
			return true
		}
		if !s.carry(packet, s.rest[done:done+length], came) {
			return false
		}
		done += length
	}
	s.rest = s.rest[:0]
	return true
}

// carry carries a packet when it may go on, and reports false at the end of the connection. One that is independent of
// those behind it is put aside meanwhile.
func (s *sieve) carry(packet Packet, data []byte, came time.Time) bool {
	number, w := s.hold(s.from, s.at, packet, data)
	switch {
	case w != nil && w.data != nil:
		return true
	case w != nil && s.link.loose:
		data = slices.Clone(data)
		s.link.network.closed.Go(func() {
			if s.await(number, w) && s.wait(s.from, s.at, came) {
				s.write(data)
			}
		})
		return true
	case w != nil && !s.await(number, w) || !s.wait(s.from, s.at, came):
		return false
	default:
		return s.write(data)
	}
}

// write writes whole packets, and ends the connection where it cannot.
func (s *sieve) write(data []byte) bool {
	if _, err := s.to.Write(data); err != nil {
		s.breaks(s.at, s.from)
		return false
	}
	return true
}

// confused ends a connection that is not in the protocol.
func (s *sieve) confused(err error) {
	n := s.link.network
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.packets.wrong == nil {
		n.packets.wrong = fmt.Errorf("process: what node %d sends to %d: %w", s.from, s.at, err)
	}
	s.reset()
}
