//go:build lockstep_overlay

package redsynctest

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis9 "github.com/redis/go-redis/v9"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/spec"
)

// The types of event of a client: it has acquired the lock, it believes that it still holds the lock, it has released
// the lock.
const (
	eventHeld     = "held"
	eventWork     = "work"
	eventReleased = "released"
)

// Nodes up to servers are Redis servers, the others are clients.
const servers, nodes = 3, 6

// expiry is the time after which a server forgets a lock.
const expiry = 4 * time.Second

// step is how often a client checks the clock while it works.
const step = 250 * time.Millisecond

// options are what the tests vary.
type options struct {
	early bool // a server that has lost its locks in a crash answers before those may have expired
	drift int  // of clocks, in millionths; redsync's default allows 1%
}

// cluster is a deployment of redsync with its defaults, apart from the expiry.
func cluster(o options) bubble.Cluster {
	return bubble.Cluster{Name: "redsync", Nodes: nodes, Network: bubble.Sockets{Split: 0.1}, Pace: step,
		Faults: bubble.Faults{MaxDrift: o.drift},
		Start: func(n *bubble.Node) error {
			if n.Self() <= servers {
				return serve(n, o)
			}
			return lock(n)
		}}
}

func init() { goredis9.SetLogger(silent{}) }

// silent is a logger that discards everything.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// serve runs a Redis server, whose keys expire by the clock of its node. As Redlock demands, a server that has lost
// its keys stays away until they have expired.
func serve(n *bubble.Node, o options) error {
	if n.Incarnation() > 1 && !o.early {
		select {
		case <-time.After(expiry + expiry/10):
		case <-n.Context().Done():
			return nil
		}
	}
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	n.OnStop(m.Close)
	return m.StartAddr(":6379")
}

// lock runs a client: it acquires the lock, works with it, sometimes extends it, and releases it.
func lock(n *bubble.Node) error {
	var pools []redis.Pool
	for s := 1; s <= servers; s++ {
		c := goredis9.NewClient(&goredis9.Options{Addr: fmt.Sprintf("10.0.0.%d:6379", s)})
		n.OnStop(func() { _ = c.Close() })
		pools = append(pools, goredis.NewPool(c))
	}
	service := redsync.New(pools...)
	for n.Alive() {
		m := service.NewMutex("lock", redsync.WithExpiry(expiry))
		if err := m.LockContext(n.Context()); err != nil {
			continue // it has waited between its attempts
		}
		n.Emit(eventHeld, nil)
		for work := n.Source().IntN(40); work > 0 && n.Alive() && time.Now().Before(m.Until()); work-- {
			n.Emit(eventWork, nil)
			if n.Source().IntN(20) == 0 {
				_, _ = m.ExtendContext(n.Context()) // if it fails, the lock expires
			}
			time.Sleep(step)
		}
		n.Emit(eventReleased, nil)
		_, _ = m.UnlockContext(n.Context())
	}
	return nil
}

// exclusion is the mutual exclusion spec: no client works with a lock that another client has acquired since.
func exclusion() lockstep.Spec {
	return spec.New("exclusion", func(lockstep.Info) *holders { return &holders{} })
}

// holders records the last client that acquired the lock.
type holders struct {
	last    lockstep.Node
	checked int
}

func (h *holders) Reset() { *h = holders{} }

// End returns nil: only events are checked.
func (*holders) End(*lockstep.Run) *lockstep.Finding { return nil }

func (h *holders) Checked() int { return h.checked }

func (h *holders) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch e.Type {
	case eventHeld:
		h.last = e.Node
	case eventWork:
		h.checked++
		if h.last != e.Node {
			text := fmt.Sprintf("client %d works with the lock, which client %d has got since", e.Node, h.last)
			return &lockstep.Finding{Text: text}
		}
	}
	return nil
}
