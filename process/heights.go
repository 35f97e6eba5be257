package process

import (
	"context"
	"math"
	"time"
)

// heights bound how far servers come while nobody lets them go on. The network's mutex guards them.
type heights struct {
	limit, seen int64
	changed     chan struct{} // closed when the limit changes
	above       chan struct{} // closed when a packet above the limit has come
}

// rise sets the limit.
func (h *heights) rise(limit int64) {
	if h.changed != nil {
		close(h.changed)
	}
	h.limit, h.changed, h.above = limit, make(chan struct{}), make(chan struct{})
}

// Rise makes the greatest height that a packet had so far the limit: those that are higher wait, from now on, at the head of their
// connection. So everything that servers do is in rounds, the border of which is a higher packet.
func (n *Network) Rise() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.packets.heights.rise(n.packets.heights.seen)
}

// Unbound lets packets of all heights go on, and forgets which there were.
func (n *Network) Unbound() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.packets.heights.rise(math.MaxInt64)
	n.packets.heights.seen = 0
}

// Risen waits until a packet waits that is above the limit, at most for so long, and reports whether there is one.
func (n *Network) Risen(ctx context.Context, patience time.Duration) (bool, error) {
	n.mutex.Lock()
	above := n.packets.heights.above
	n.mutex.Unlock()
	timer := time.NewTimer(patience)
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

// below lets a packet wait while it is above the limit, and reports false where its connection ended meanwhile. The mutex is held, but not
// while it waits.
func (p *pair) below(height int64) bool {
	n := p.link.network
	h := &n.packets.heights
	if h.seen <= h.limit && height > h.limit {
		close(h.above)
	}
	h.seen = max(h.seen, height)
	for height > h.limit {
		changed := h.changed
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
