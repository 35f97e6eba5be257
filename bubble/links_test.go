//go:build lockstep_overlay

package bubble_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/trace"
)

// linked runs a server on node 1 and a client on node 2 with faults of links, and requires that both succeed and that
// runs are deterministic.
func linked(t *testing.T, links bubble.Links, server func(net.Conn) error, client func(*bubble.Node) error) {
	t.Helper()
	const runs = 20
	done := 0
	cluster := bubble.Cluster{
		Name: "links", Nodes: 2, Network: bubble.Sockets{}, Links: &links, Pace: time.Hour,
		Start: func(n *bubble.Node) error {
			if n.Self() == 2 {
				time.Sleep(time.Millisecond)
				err := client(n)
				n.Emit("done", nil)
				return err
			}
			l, err := listen(n, ":7")
			if err != nil {
				return err
			}
			c, err := l.Accept()
			if err == nil {
				err = server(c)
				n.Emit("done", nil)
			}
			if n.Context().Err() != nil {
				return nil
			}
			return err
		},
	}
	plan := lockstep.Plan{System: cluster, Strategy: fair, Spec: tallying(&done, "done"), Runs: runs, Seed: 5}
	if f := explore(t, plan).First(); f != nil {
		t.Fatalf("%s\n%s", f.Finding, f.Finding.Stack)
	}
	if done < runs {
		t.Errorf("%d programs were done", done)
	}
	if r, err := bubble.Repetition(t.Context(), plan, runs); err != nil || r.Same != runs {
		t.Errorf("%d of %d runs repeated, the first that did not is %d, %v", r.Same, runs, r.First, err)
	}
}

// echoing answers everything.
func echoing(c net.Conn) error {
	_, err := io.Copy(c, c)
	return err
}

// roundTrips measures round trips of one byte.
func roundTrips(n *bubble.Node, times int) (shortest, longest time.Duration, err error) {
	c, err := net.Dial("tcp", "node1:7")
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = c.Close() }()
	shortest = time.Hour
	for range times {
		at := n.World().Now()
		if _, err := c.Write([]byte{1}); err != nil {
			return 0, 0, err
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			return 0, 0, err
		}
		took := n.World().Now() - at
		shortest, longest = min(shortest, took), max(longest, took)
	}
	return shortest, longest, nil
}

// A message takes the latency of its link, and each direction of a link is slower by its own factor.
func TestLatency(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		links             bubble.Links
		least, most, wide time.Duration // of all round trips; the longest of all runs takes at least wide
	}{
		{bubble.Links{}, 0, 0, 0},
		{bubble.Links{Latency: bubble.Delay{Min: 10 * ms, Max: 20 * ms}}, 20 * ms, 40 * ms, 35 * ms},
		{bubble.Links{Latency: bubble.Delay{Min: 10 * ms, Max: 10 * ms}, LatencySpread: 5}, 20 * ms, 100 * ms, 60 * ms},
		{bubble.Links{PacketLoss: 0.5}, 0, time.Hour, 400 * ms},
	} {
		all := time.Duration(0)
		linked(t, c.links, echoing, func(n *bubble.Node) error {
			shortest, longest, err := roundTrips(n, 20)
			if all = max(all, longest); err != nil || shortest < c.least || longest > c.most {
				return fmt.Errorf("%+v: round trips take %v to %v (%w)", c.links, shortest, longest, err)
			}
			return nil
		})
		if all < c.wide {
			t.Errorf("%+v: the longest round trip takes %v, want %v", c.links, all, c.wide)
		}
	}
}

// A link transports so many bytes in a second.
func TestBandwidth(t *testing.T) {
	var began time.Duration
	linked(t, bubble.Links{Bandwidth: 10_000}, func(c net.Conn) error {
		n, err := io.Copy(io.Discard, c)
		if n != 100_000 {
			return fmt.Errorf("%d bytes (%w)", n, err)
		}
		_, err = c.Write([]byte{1})
		return err
	}, func(n *bubble.Node) error {
		c, err := net.Dial("tcp", "node1:7")
		if err != nil {
			return err
		}
		began = n.World().Now()
		for range 100 {
			if _, err := c.Write(make([]byte, 1000)); err != nil {
				return err
			}
		}
		_ = c.(*net.TCPConn).CloseWrite()
		_, err = io.ReadFull(c, make([]byte, 1))
		// with headers of 66 bytes, for each write, the close and the answer
		if took := n.World().Now() - began; took < 10_660*time.Millisecond || took > 10_700*time.Millisecond {
			return fmt.Errorf("100,000 bytes took %v", took)
		}
		return err
	})
}

// ends requires that a read fails with an error after a time.
func ends(c net.Conn, now func() time.Duration, with error, after time.Duration) error {
	at := now()
	_, err := c.Read(make([]byte, 1))
	if took := now() - at; !errors.Is(err, with) || took != after {
		return fmt.Errorf("a read ends after %v with %v, want %v with %v", took, err, after, with)
	}
	return nil
}

// A connection that the network resets breaks at both ends, and the data in flight is lost.
func TestResets(t *testing.T) {
	var world *bubble.World
	linked(t, bubble.Links{Resets: 1}, func(c net.Conn) error {
		return ends(c, world.Now, syscall.ECONNRESET, time.Millisecond)
	}, func(n *bubble.Node) error {
		world = n.World()
		c, err := net.Dial("tcp", "node1:7")
		if err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
		if _, err := c.Write([]byte{1}); err != nil {
			return err
		}
		return ends(c, n.World().Now, syscall.ECONNRESET, 0)
	})
}

// The ends of a connection that the network forgot learn that from their timers alone: by keep-alive probes, or by
// retransmissions where data is in flight.
func TestHalfOpenLink(t *testing.T) {
	var world *bubble.World
	linked(t, bubble.Links{HalfOpen: 1}, func(c net.Conn) error {
		return ends(c, world.Now, syscall.ETIMEDOUT, 151*time.Second)
	}, func(n *bubble.Node) error {
		world = n.World()
		c, err := net.Dial("tcp", "node1:7")
		if err != nil {
			return err
		}
		time.Sleep(time.Second)
		if _, err := c.Write([]byte{1}); err != nil {
			return err
		}
		return ends(c, n.World().Now, syscall.ETIMEDOUT, 924600*time.Millisecond)
	})
}

// A program that is slow to read makes the other end wait in its writes when the buffers are full.
func TestSlowReads(t *testing.T) {
	for _, c := range []struct {
		share float64
		waits bool
	}{{1, true}, {0, false}} {
		links := bubble.Links{SlowReads: c.share}
		if c.waits {
			links.SlowReadTime = time.Minute
		}
		longest := time.Duration(0)
		linked(t, links, func(c net.Conn) error {
			for buffer := make([]byte, 1<<20); ; {
				if _, err := c.Read(buffer); err != nil {
					return nil
				}
			}
		}, func(n *bubble.Node) error {
			c, err := net.Dial("tcp", "node1:7")
			if err != nil {
				return err
			}
			began := n.World().Now()
			for range 24 {
				if _, err := c.Write(make([]byte, 1<<18)); err != nil {
					return err
				}
			}
			longest = max(longest, n.World().Now()-began)
			return c.Close()
		})
		if waited := longest > 10*time.Second; waited != c.waits {
			t.Errorf("share %v: writes took %v", c.share, longest)
		}
	}
}

// A lookup of a host name fails as if no server answered, or one that misbehaves. Addresses need no lookup.
func TestLookupErrors(t *testing.T) {
	timeouts, refusals := 0, 0
	linked(t, bubble.Links{LookupErrors: 1}, echoing, func(n *bubble.Node) error {
		at := n.World().Now()
		_, err := net.Dial("tcp", "node1:7")
		var wrong *net.DNSError
		if !errors.As(err, &wrong) || !wrong.IsTemporary || wrong.IsTimeout != (n.World().Now()-at == 10*time.Second) {
			return fmt.Errorf("after %v: %v", n.World().Now()-at, err)
		}
		if _, err := net.LookupHost("node1"); !errors.As(err, &wrong) {
			return fmt.Errorf("a lookup ends with %w", err)
		}
		if wrong.IsTimeout {
			timeouts++
		} else {
			refusals++
		}
		_, err = net.LookupHost("localhost")
		c, wrongToo := net.Dial("tcp", "10.0.0.1:7")
		if err := errors.Join(err, wrongToo); err != nil {
			return err
		}
		return c.Close()
	})
	if timeouts == 0 || refusals == 0 {
		t.Errorf("%d lookups timed out, %d were refused", timeouts, refusals)
	}
}

// A link loses datagrams for good, and each direction its own share.
func TestLostDatagrams(t *testing.T) {
	got := map[int]int{}
	cluster := bubble.Cluster{
		Name: "datagrams", Nodes: 2, Network: bubble.Sockets{}, Links: &bubble.Links{PacketLoss: 1}, Pace: time.Hour,
		Start: func(n *bubble.Node) error {
			c, err := net.ListenPacket("udp", ":9")
			if err != nil {
				return err
			}
			n.OnStop(func() { _ = c.Close() })
			if n.Self() == 1 {
				buffer, k := make([]byte, 10), 0
				n.OnStop(func() { got[k]++ })
				for ; ; k++ {
					if _, _, err := c.ReadFrom(buffer); err != nil {
						return nil
					}
				}
			}
			for range 64 {
				time.Sleep(time.Millisecond)
				to := &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 9}
				if _, err := c.WriteTo([]byte{1}, to); err != nil {
					return err
				}
			}
			return nil
		},
	}
	explore(t, lockstep.Plan{System: cluster, Strategy: fair, Runs: 40, Seed: 1})
	low, high := 0, 0
	for k, runs := range got {
		if k < 20 {
			low += runs
		} else if k > 44 {
			high += runs
		}
	}
	if len(got) < 10 || low < 4 || high < 4 {
		t.Errorf("datagrams that arrived, and in how many runs: %v", got)
	}
}

// Messages of programs without sockets have a latency, too. They overtake each other unless the cluster is FIFO.
func TestMessageLatency(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		overtaken, late := 0, 0
		cluster := bubble.Cluster{
			Name: "latency", Nodes: 2, Pace: time.Hour, Network: bubble.Messages{FIFO: fifo},
			Links: &bubble.Links{Latency: bubble.Delay{Max: 10 * time.Millisecond, Tail: 0.1, Longest: time.Second}},
			Start: func(n *bubble.Node) error {
				last := -1
				n.Receive(func(_ lockstep.Node, body any) {
					sent := body.([2]int)
					if sent[0] < last {
						overtaken++
					}
					last = max(last, sent[0])
					if n.World().Now()-time.Duration(sent[1]) > 10*time.Millisecond {
						late++
					}
				})
				for i := range 50 {
					if n.Self() == 1 {
						n.Send(2, "m", trace.Tag{}, [2]int{i, int(n.World().Now())})
					}
					time.Sleep(time.Millisecond)
				}
				return nil
			},
		}
		explore(t, lockstep.Plan{System: cluster, Strategy: fair, Runs: 20, Seed: 1})
		if (overtaken == 0) != fifo || late < 30 {
			t.Errorf("FIFO %v: %d messages were overtaken, %d late", fifo, overtaken, late)
		}
	}
}

// Wrong settings of links are refused.
func TestLinksChecked(t *testing.T) {
	for _, c := range []struct {
		links bubble.Links
		wrong string
	}{
		{bubble.Links{Resets: 2}, "allowed are 0..1"},
		{bubble.Links{Latency: bubble.Delay{Min: 2, Max: 1}}, "the latency of Links is 2ns..1ns"},
		{bubble.Links{SlowReads: 1}, "of use together alone"},
		{bubble.Links{LatencySpread: -1}, "none may be negative"},
	} {
		cluster := bubble.Cluster{Name: "c", Nodes: 1, Network: bubble.Sockets{}, Links: &c.links, Start: echo}
		if _, err := cluster.Describe(); err == nil || !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%+v: %v, want %q", c.links, err, c.wrong)
		}
	}
}
