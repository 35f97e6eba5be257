package bubble

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
)

// Links is the fault model of the links between nodes, beside what a strategy does with messages: a message reaches
// the strategy after the latency of its link. The settling stage adds no faults.
type Links struct {
	// Latency is how long a message takes. Messages overtake each other, as the strategy may let them, unless the
	// cluster is FIFO. The data of a connection keeps its order.
	Latency Delay
	// LatencySpread is the largest factor by which the latency of a link is longer. Each link in one direction draws
	// its own factor at the start of a run. 0 and 1 mean that all links are alike.
	LatencySpread int

	// The other fields need [Sockets].

	// Bandwidth is the number of bytes that a link in one direction transports in a second; 0 means no limit.
	Bandwidth int
	// PacketLoss is the largest share of packets that a link in one direction loses. Each link draws its own share at
	// the start of a run. TCP sends a lost packet again, so it is late. A lost datagram is gone.
	PacketLoss float64
	// Resets is the share of writes on connections with which the connection is reset at both ends. All data in flight
	// is lost.
	Resets float64
	// HalfOpen is the share of writes on connections from which on the network silently discards everything of the
	// connection, in both directions, as a firewall does that forgot it. Both ends learn that from their timers.
	HalfOpen float64
	// SlowReads is the share of reads from connections that take up to SlowReadTime although data is there. Meanwhile
	// the data fills the buffers, and then the other end waits in its writes.
	SlowReads    float64
	SlowReadTime time.Duration
	// LookupErrors is the share of lookups of host names that fail, half of them at once (the server misbehaves) and
	// half after a timeout of 10 s.
	LookupErrors float64
}

// The events that links report.
const (
	// ConnectionReset reports that the network reset a connection, HalfOpened that it discards its data from now on.
	// Their value is the name of the connection.
	ConnectionReset = "connection-reset"
	HalfOpened      = "half-open"
)

// mostSpread is the largest factor between latencies of links.
const mostSpread = 1000

func (l *Links) check(sockets bool) error {
	if l == nil {
		return nil
	}
	if err := l.Latency.check("the latency of Links"); err != nil {
		return err
	}
	for _, share := range []float64{l.PacketLoss, l.Resets, l.HalfOpen, l.SlowReads, l.LookupErrors} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("a share of Links is %v, allowed are 0..1", share)
		}
	}
	switch {
	case l.LatencySpread < 0 || l.LatencySpread > mostSpread || l.Bandwidth < 0 || l.SlowReadTime < 0:
		return fmt.Errorf(
			"the LatencySpread, Bandwidth and SlowReadTime of Links are %d, %d and %v: none may be negative, and the "+
				"spread at most %d",
			l.LatencySpread, l.Bandwidth, l.SlowReadTime, mostSpread)
	case (l.SlowReads > 0) != (l.SlowReadTime > 0):
		return fmt.Errorf("SlowReads is %v and SlowReadTime %v, which are of use together alone", l.SlowReads, l.SlowReadTime)
	case !sockets && *l != (Links{Latency: l.Latency, LatencySpread: l.LatencySpread}):
		return fmt.Errorf("links with more than Latency and LatencySpread need a cluster with Sockets")
	}
	return nil
}

// links are the links of a run.
type links struct {
	Links
	fifo   bool
	source []*Source // by sender
	link   [65][65]link
}

// link is the state of a link in one direction.
type link struct {
	factor time.Duration
	loss   float64
	free   time.Duration // when it has transported everything
	last   time.Duration // when the last message arrives
}

// linkStream is the stream of a run's seed for links, plus the sender.
const linkStream = 1 << 34

// lay makes the links of a run.
func (d *deployment) lay() {
	if d.Links == nil {
		return
	}
	l := &links{Links: *d.Links, fifo: d.messages.FIFO, source: make([]*Source, d.Nodes+1)}
	for from := range d.Nodes + 1 {
		l.source[from] = d.lot.chance(lockstep.Node(from), linkStream+uint64(from))
		for to := range d.Nodes + 1 {
			at := &l.link[from][to]
			if at.factor = 1; from > 0 && to > 0 && from != to {
				if l.LatencySpread > 1 {
					at.factor += time.Duration(d.choose(l.LatencySpread))
				}
				if l.PacketLoss > 0 {
					at.loss = l.PacketLoss * float64(d.choose(parts+1)) / parts
				}
			}
		}
	}
	d.world.links = l
}

// retransmission is the time after which TCP sends a lost packet again. It doubles with each loss.
const retransmission = 200 * time.Millisecond

// mostLosses is how often one packet is lost at most.
const mostLosses = 8

// transmit puts a message on its link. It is lost if the link loses it.
func (w *World) transmit(s sending, size int) {
	l := w.links
	if l == nil {
		w.arrive(s)
		return
	}
	at, now := &l.link[s.from][s.to], w.Now()
	arrival := now
	if !w.Settling() {
		c := l.source[s.from]
		for lost := range mostLosses {
			if !c.strikes(at.loss) {
				break
			} else if s.kind == "datagram" || s.kind == "unreachable" {
				return
			}
			arrival += retransmission << lost
		}
		if l.Bandwidth > 0 {
			at.free = max(at.free, now) + time.Duration(size)*time.Second/time.Duration(l.Bandwidth)
			arrival += at.free - now
		}
		arrival += at.factor * l.Latency.draw(c)
	}
	if l.fifo && at.last > now { // timers of one moment have no order
		arrival = max(arrival, at.last+1)
	}
	at.last = arrival
	if arrival <= now {
		w.arrive(s)
		return
	}
	defer asEngine()()
	time.AfterFunc(arrival-now, func() { w.arrive(s) })
}

// arrive gives a message to the engine.
func (w *World) arrive(s sending) {
	w.mutex.Lock()
	w.sent = append(w.sent, s)
	w.mutex.Unlock()
	w.happened()
}
