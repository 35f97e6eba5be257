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

// Packet describes a message that a [Decoder] found on a connection.
type Packet struct {
	// Type is the type of the engine's message. A packet without a type, such as a heartbeat, passes without a decision
	// of the engine.
	Type string
	// Tag is the packet's phase and round, if the protocol has them.
	Tag trace.Tag
	// Progress is a number in the packet that grows as the sender makes progress, such as the length of its log. 0
	// means unknown; such a packet is never above a progress limit. See Network.RaiseLimit.
	Progress int64
	// Text is a short description of the packet's content.
	Text string
}

// Decoder splits the stream in one direction of a connection into packets.
type Decoder interface {
	// Next returns the packet at the beginning of data, and its length in bytes; 0 means that data is incomplete. The
	// caller then passes the same bytes with more appended. It advances once they are consumed. An error means that the
	// data violates the protocol, which ends the connection.
	Next(data []byte) (Packet, int, error)
}

// Protocol creates the two decoders of one connection: for the stream that the dialer sends, and for the stream that
// the listener sends. A link calls it for each new connection. Nil means that a direction has no packets: its data
// passes unchanged.
type Protocol func() (dialer, listener Decoder)

// WaitingPacket is a packet that waits at its link until Deliver or Drop decides about it.
type WaitingPacket struct {
	// Number identifies the packet in its network.
	Number   int
	From, To lockstep.Node
	Packet
}

// packets holds the waiting packets of a network. The network's mutex guards them.
type packets struct {
	control bool
	waiting map[int]*waiting
	count   int
	arrived []WaitingPacket // and were not reported yet
	lost    []int           // likewise
	last    time.Time
	wrong   error // the first decoding error
	limit   limit
}

type waiting struct {
	pair *pair
	goes chan struct{} // closed when the packet may pass, or is lost alone
	lost bool          // alone: its connection continues
	data []byte        // of a packet that is detached
	back bool          // a response of the server that was dialed
}

// Decode makes the link split its stream into packets. Call it before the first connection to the link.
func (l *Link) Decode(p Protocol) { l.protocol = p }

// SetUnordered declares that packets of the link are independent of each other, because the receiver expects no order
// and matches responses by number. A waiting packet then lets later packets pass, and Drop loses a packet alone. A
// packet is still lost with its connection. Call SetUnordered before the first connection to the link.
func (l *Link) SetUnordered() { l.unordered = true }

// SetDetached separates packets from the connection on which they came, as long as the network is controlled. Each
// packet waits until the end of the run, and each call of Deliver writes it on the newest connection of the link. No
// packet is lost with a connection. It is for servers that accept a message repeatedly and on another connection; New
// of a System with Datagrams calls it on every link. Call SetDetached before the first connection to the link.
func (l *Link) SetDetached() { l.detached = true }

// SetControlled turns control over packets on or off. While it is on, a packet that has a type waits at the head of its
// connection until Deliver or Drop decides about it. Later packets wait behind it, and Poll does not return them yet.
// Turning control off releases all packets.
func (n *Network) SetControlled(on bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.packets.control = on
	if !on {
		for number := range n.packets.waiting {
			n.release(number)
		}
	}
}

// Poll returns what happened to packets under control since its last call: the packets that began to wait, in their
// order, and the numbers of packets that were lost because their connection ended. An error reports the first
// connection whose data a decoder refused.
func (n *Network) Poll() (arrived []WaitingPacket, lost []int, err error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	p := &n.packets
	arrived, lost, err = p.arrived, p.lost, p.wrong
	p.arrived, p.lost, p.wrong = nil, nil, nil
	return arrived, lost, err
}

// Deliver lets a waiting packet pass, or writes a detached one. It reports false if the packet no longer waits, or if
// it is detached and there is no connection to write it on.
func (n *Network) Deliver(number int) bool {
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

// receiver returns the connection for a detached packet, or nil. The caller holds the mutex.
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

// Data returns the bytes of a detached packet as they were on the wire. It returns nil for other packets.
func (n *Network) Data(number int) []byte {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if w := n.packets.waiting[number]; w != nil {
		return w.data
	}
	return nil
}

// Forge creates a detached packet that no node sent, and returns its number. It waits until Deliver writes it. A link
// between the nodes must exist.
func (n *Network) Forge(from, to lockstep.Node, data []byte) (int, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for _, l := range n.links {
		if l.from == from && l.to == to || l.from == to && l.to == from {
			n.packets.count++
			n.packets.waiting[n.packets.count] = &waiting{
				pair: &pair{link: l},
				goes: make(chan struct{}),
				data: data,
				back: l.to == from,
			}
			return n.packets.count, nil
		}
	}
	return 0, fmt.Errorf("process: no link between nodes %d and %d", from, to)
}

// Drop loses a waiting packet as a network does: it resets the connection, and everything behind the packet is lost,
// too. On an unordered link, and in a network whose breakage is Swallows, the packet is lost alone. A detached packet
// keeps waiting. Drop reports false if the packet no longer waits.
func (n *Network) Drop(number int) bool {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	w := n.packets.waiting[number]
	switch {
	case w == nil:
		return false
	case w.data != nil:
		return true // it keeps waiting
	case w.pair.link.unordered || n.breakage == Swallows:
		w.lost = true
		return n.release(number)
	default:
		w.pair.reset()
		return true
	}
}

// Waiting returns the number of packets that wait for Deliver or Drop.
func (n *Network) Waiting() int {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return len(n.packets.waiting)
}

// release lets a packet pass. The caller holds the mutex.
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

// AwaitIdle waits until, for the given time, no decoder has found a packet and no waiting packet has left.
func (n *Network) AwaitIdle(ctx context.Context, silence time.Duration) error {
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

// hold registers a packet that waits for a decision, or returns nil if it need not wait.
func (p *pair) hold(from, to lockstep.Node, packet Packet, data []byte) (number int, w *waiting) {
	n := p.link.network
	n.mutex.Lock()
	defer n.mutex.Unlock()
	q := &n.packets
	q.last = time.Now()
	if packet.Type == "" || from == 0 || to == 0 || !p.belowLimit(packet.Progress) || !q.control {
		return 0, nil
	}
	q.count++
	w = &waiting{pair: p, goes: make(chan struct{}), back: from == p.link.to}
	if p.link.detached {
		w.data = slices.Clone(data)
	}
	q.waiting[q.count] = w
	q.arrived = append(q.arrived, WaitingPacket{Number: q.count, From: from, To: to, Packet: packet})
	return q.count, w
}

// await waits until a packet may pass. It reports false if the packet was lost, alone or because its connection ended.
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

// sieve carries its input packet by packet.
type sieve struct {
	*pair
	decoder  Decoder
	to       *net.TCPConn
	from, at lockstep.Node // the sender and the receiver
	rest     []byte        // an incomplete packet
}

// maxPacket bounds the size of an incomplete packet.
const maxPacket = 16 << 20

// feed appends input, and carries the packets that are now complete. It reports false at the end of the connection.
func (s *sieve) feed(data []byte, came time.Time) bool {
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

// carry carries a packet when it may pass, and reports false at the end of the connection. A packet that is independent
// of later ones waits aside.
func (s *sieve) carry(packet Packet, data []byte, came time.Time) bool {
	number, w := s.hold(s.from, s.at, packet, data)
	switch {
	case w != nil && w.data != nil:
		return true
	case w != nil && s.link.unordered:
		data = slices.Clone(data)
		s.link.network.closed.Go(func() {
			if s.await(number, w) && s.wait(s.from, s.at, came) {
				s.write(data)
			}
		})
		return true
	case w != nil && !s.await(number, w):
		return w.lost // alone
	case packet.Type != "" && s.link.network.swallows(s.from, s.at):
		return true
	case !s.wait(s.from, s.at, came):
		return false
	default:
		return s.write(data)
	}
}

// write writes whole packets, and ends the connection on an error.
func (s *sieve) write(data []byte) bool {
	if _, err := s.to.Write(data); err != nil {
		s.breaks(s.at, s.from)
		return false
	}
	return true
}

// confused ends a connection that violates the protocol.
func (s *sieve) confused(err error) {
	n := s.link.network
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.packets.wrong == nil {
		n.packets.wrong = fmt.Errorf("process: what node %d sends to %d: %w", s.from, s.at, err)
	}
	s.reset()
}
