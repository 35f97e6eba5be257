package process

import (
	"context"
	"math"
	"time"
)

// limit bounds how far servers progress until it is raised. The network's mutex guards it.
type limit struct {
	most, seen int64
	changed    chan struct{} // closed when the limit changes
	above      chan struct{} // closed when a packet above the limit arrives
}

// set sets the limit.
func (l *limit) set(most int64) {
	if l.changed != nil {
		close(l.changed)
	}
	l.most, l.changed, l.above = most, make(chan struct{}), make(chan struct{})
}

// RaiseLimit sets the progress limit to the greatest [Packet].Progress of any packet so far. A packet with more
// progress waits at the head of its connection until the next RaiseLimit or ClearLimit. So the servers proceed in
// rounds: a round ends when a packet has to wait, and RaiseLimit begins the next one. The limit holds for all typed
// packets between nodes, whether the network is controlled or not.
func (n *Network) RaiseLimit() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.packets.limit.set(n.packets.limit.seen)
}

// ClearLimit removes the progress limit, and forgets the progress that packets had so far.
func (n *Network) ClearLimit() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.packets.limit.set(math.MaxInt64)
	n.packets.limit.seen = 0
}

// AwaitAboveLimit waits until some packet waits because of the progress limit, which it reports by true. It returns
// false after the timeout.
func (n *Network) AwaitAboveLimit(ctx context.Context, timeout time.Duration) (bool, error) {
	n.mutex.Lock()
	above := n.packets.limit.above
	n.mutex.Unlock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-above:
		return true, nil
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// belowLimit makes a packet wait while it is above the limit, and reports false if its connection ends meanwhile. The
// caller holds the mutex, which is released during the wait.
func (p *pair) belowLimit(progress int64) bool {
	n := p.link.network
	l := &n.packets.limit
	if l.seen <= l.most && progress > l.most {
		close(l.above)
	}
	l.seen = max(l.seen, progress)
	for progress > l.most {
		changed := l.changed
		n.mutex.Unlock()
		var ended bool
		select {
		case <-changed:
		case <-p.done:
			ended = true
		}
		n.mutex.Lock()
		if ended {
			return false
		}
	}
	return true
}
