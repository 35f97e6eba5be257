//go:build lockstep_overlay

package textbook_test

import (
	"fmt"
	"net"
	"net/rpc"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/examples/textbook"
	"github.com/lockstep-go/lockstep/strategy"
)

// The second way tests the unmodified program, by net/rpc over TCP.
func bySockets(careful bool) bubble.Cluster {
	return bubble.Cluster{
		Name:     "textbook",
		Nodes:    3,
		Network:  bubble.Sockets{},
		Requests: requests(),
		Start: func(n *bubble.Node) error {
			l, err := net.Listen("tcp", ":9000")
			if err != nil {
				return err
			}
			n.OnStop(func() { _ = l.Close() })
			s := server(n, careful, (&dialer{clients: map[int]*rpc.Client{}}).dial)
			n.OnStop(s.Stop)
			r := rpc.NewServer()
			if err := r.RegisterName("Server", s); err != nil {
				return err
			}
			s.Start()
			for {
				c, err := l.Accept()
				if err != nil {
					return nil
				}
				go r.ServeConn(c)
			}
		},
	}
}

// dialer keeps a connection to each peer.
type dialer struct {
	mutex   sync.Mutex
	clients map[int]*rpc.Client
}

func (d *dialer) dial(peer int) (textbook.Peer, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if c := d.clients[peer]; c != nil {
		return connected{d, peer, c}, nil
	}
	c, err := net.DialTimeout("tcp", fmt.Sprintf("10.0.0.%d:9000", peer), time.Second)
	if err != nil {
		return nil, err
	}
	d.clients[peer] = rpc.NewClient(c)
	return connected{d, peer, d.clients[peer]}, nil
}

// connected is a connection that is discarded when it breaks.
type connected struct {
	*dialer
	peer   int
	client *rpc.Client
}

// Call makes a call.
func (c connected) Call(method string, args, reply any) error {
	err := c.client.Call(method, args, reply)
	if err != nil {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if c.clients[c.peer] == c.client {
			delete(c.clients, c.peer)
			_ = c.client.Close()
		}
	}
	return err
}

// uneven is the strategy that finds the bug the second way. A connection preserves order, so that a reply arrives very
// late only if some latencies are much longer than others.
var uneven = strategy.Delay{Near: strategy.Heavy, NearMean: 1, Steps: 1500}

func TestBySockets(t *testing.T) { find(t, bySockets, uneven, 1000) }
