package bftsmart

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/lockstep-go/lockstep"
)

// proxy stands between two replicas, of which the higher connects to the lower. The stream
// begins with the number of the one who connects and an exchange of keys, which pass; then it
// is frames: four bytes of length, a message, and a byte that says that it is not authenticated.
type proxy struct {
	high, low lockstep.Node
	port      int // where the higher connects
	target    int // the port of the lower
	take      func(frame) (taken bool)
	work      sync.WaitGroup

	mutex    sync.Mutex
	listener net.Listener // nil while the lower does not listen
	pair     *pair        // the newest
}

// pair is a connection between two replicas, in two pieces.
type pair struct {
	high, low net.Conn
	keys      int // parts of the exchange that have not passed
}

// open listens. A proxy that listens while its target does not would be no network: BFT-SMaRt
// takes a connection that is made and then lost for a replica that is there.
func (p *proxy) open() error {
	listener, err := net.Listen("tcp", local(p.port))
	if err != nil {
		return fmt.Errorf("bftsmart: %w", err)
	}
	p.mutex.Lock()
	p.listener = listener
	p.mutex.Unlock()
	p.work.Go(func() { p.accept(listener) })
	return nil
}

// shut stops listening; connections stay.
func (p *proxy) shut() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
}

// hangUp ends the connection, so that the two make a new one.
func (p *proxy) hangUp() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.pair != nil {
		_ = p.pair.high.Close()
		_ = p.pair.low.Close()
		p.pair = nil
	}
}

func (p *proxy) accept(listener net.Listener) {
	for {
		high, err := listener.Accept()
		if err != nil {
			return
		}
		low, err := net.Dial("tcp", local(p.target))
		if err != nil {
			high.Close()
			continue
		}
		c := &pair{high: high, low: low, keys: 2 * keyParts}
		p.mutex.Lock()
		p.pair = c
		p.mutex.Unlock()
		p.work.Go(func() { p.pump(c, high, low, frame{from: p.high, to: p.low}, 1) })
		p.work.Go(func() { p.pump(c, low, high, frame{from: p.low, to: p.high}, 0) })
	}
}

// keyParts is what each side sends to exchange keys: a key and its signature.
const keyParts = 2

// pump takes frames off a connection, after the numbers and the exchange of keys. What one end says
// goes to the other as long as that is there: an end that is gone is no reason to hang up on the other.
func (p *proxy) pump(c *pair, from, to net.Conn, f frame, numbers int) {
	defer from.Close()
	in := bufio.NewReader(from)
	if _, err := io.CopyN(to, in, int64(4*numbers)); err != nil {
		return
	}
	for parts := keyParts; ; parts-- {
		body, err := part(in, parts <= 0)
		if err != nil {
			return
		}
		f.body = body
		if parts <= 0 && !passes(body) && p.take(f) {
			continue
		}
		if err := p.write(c, to, f.body, parts <= 0); err != nil {
			return
		}
	}
}

// part reads a part of the exchange of keys, or a message with the byte that follows it.
func part(in *bufio.Reader, message bool) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	size := int(int32(binary.BigEndian.Uint32(head[:])))
	if size < 0 || size > largest {
		return nil, fmt.Errorf("bftsmart: a frame of %d bytes", size)
	}
	rest := size
	if message {
		rest++
	}
	body := make([]byte, rest)
	_, err := io.ReadFull(in, body)
	return body[:size], err
}

// largest is the size of a frame that is believed.
const largest = 16 << 20

// write writes what part has read.
func (p *proxy) write(c *pair, to net.Conn, body []byte, message bool) error {
	wire := append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if message {
		wire = append(wire, 0)
	} else {
		c.keys--
	}
	_, err := to.Write(wire)
	return err
}

// passes tells whether a message is of state transfer, which is left alone.
func passes(body []byte) bool {
	name, _, _, err := object(body)
	return err != nil || strings.HasPrefix(name, "bftsmart.statemanagement.")
}

// forward hands a message over, if there is a connection on which keys were exchanged.
func (p *proxy) forward(f frame) (there bool, err error) {
	p.mutex.Lock()
	c := p.pair
	if c == nil || c.keys > 0 {
		p.mutex.Unlock()
		return false, nil
	}
	p.mutex.Unlock()
	to := c.low
	if f.to == p.high {
		to = c.high
	}
	return true, p.write(c, to, f.body, true)
}

func (p *proxy) close() {
	p.shut()
	p.hangUp()
	p.work.Wait()
}
