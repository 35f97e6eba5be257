package bftsmart

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lockstep-go/lockstep"
)

// proxy stands between two replicas, of which the higher connects to the lower. The stream
// begins with the number of the one who connects and an exchange of keys, which pass; then it
// is frames: four bytes of length, a message, and a byte that says that it is not authenticated.
type proxy struct {
	high, low lockstep.Node
	target    int // the port of the lower
	listener  net.Listener
	inbox     chan<- frame
	begun     atomic.Bool // until then everything passes
	over      chan struct{}
	work      sync.WaitGroup

	mutex       sync.Mutex
	high2, low2 net.Conn // the newest connections to the two
}

func newProxy(port, target int, high, low lockstep.Node, inbox chan<- frame) (*proxy, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("bftsmart: %w", err)
	}
	p := &proxy{high: high, low: low, target: target, listener: listener, inbox: inbox, over: make(chan struct{})}
	p.work.Go(p.accept)
	return p, nil
}

func (p *proxy) accept() {
	for {
		high, err := p.listener.Accept()
		if err != nil {
			return
		}
		low, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.target))
		if err != nil {
			high.Close()
			continue
		}
		p.mutex.Lock()
		p.high2, p.low2 = high, low
		p.mutex.Unlock()
		p.work.Go(func() { p.pump(high, low, p.high, p.low, 1) })
		p.work.Go(func() { p.pump(low, high, p.low, p.high, 0) })
	}
}

// pump takes frames off a connection, after the numbers and the two parts of the key exchange.
func (p *proxy) pump(from, to net.Conn, sender, receiver lockstep.Node, numbers int) {
	defer from.Close()
	defer to.Close()
	in := bufio.NewReader(from)
	if _, err := io.CopyN(to, in, int64(4*numbers)); err != nil {
		return
	}
	for parts := 2; ; parts-- {
		head := make([]byte, 4)
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		size := int(binary.BigEndian.Uint32(head))
		if parts <= 0 {
			size++ // for the last byte
		}
		if size < 0 || size > largest {
			return
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		if parts > 0 || !p.begun.Load() || passes(body) {
			if _, err := to.Write(append(head, body...)); err != nil {
				return
			}
			continue
		}
		select {
		case p.inbox <- frame{sender, receiver, body[:size-1]}:
		case <-p.over:
			return
		}
	}
}

// largest is the size of a frame that is believed.
const largest = 16 << 20

// passes tells whether a message is of state transfer, which is left alone.
func passes(body []byte) bool {
	name, _, _, err := object(body)
	return err != nil || strings.HasPrefix(name, "bftsmart.statemanagement.")
}

// forward hands a message over, if it is between the two.
func (p *proxy) forward(f frame) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var to net.Conn
	switch {
	case f.from == p.high && f.to == p.low:
		to = p.low2
	case f.from == p.low && f.to == p.high:
		to = p.high2
	default:
		return nil
	}
	if to == nil {
		return errors.New("there is none")
	}
	wire := append(binary.BigEndian.AppendUint32(nil, uint32(len(f.body))), f.body...)
	_, err := to.Write(append(wire, 0))
	return err
}

func (p *proxy) close() {
	close(p.over)
	_ = p.listener.Close()
	p.mutex.Lock()
	for _, c := range []net.Conn{p.high2, p.low2} {
		if c != nil {
			_ = c.Close()
		}
	}
	p.mutex.Unlock()
	p.work.Wait()
}
