package process

import (
	"context"
	"math"
	"time"
)

// heights bounds how far servers progress until the limit rises. The network's mutex guards it.
type heights struct {
	limit, seen int64
	changed     chan struct{} // closed when the limit changes
	above       chan struct{} // closed when a packet above the limit arrives
}

// rise sets the limit.
func (h *heights) rise(limit int64) {
	if h.changed != nil {
		close(h.changed)
	}
	h.limit, h.changed, h.above = limit, make(chan struct{}), make(chan struct{})
}

// Rise raises the limit to the greatest height of any packet so far (see [Packet]). Higher packets wait at the head of
// their connection until it rises again. The servers therefore proceed in rounds, each of which ends with a higher
// packet.
func (n *Network) Rise() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.packets.heights.rise(n.packets.heights.seen)
}

// Unbound lets packets of all heights pass, and forgets the heights seen so far.
func (n *Network) Unbound() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.packets.heights.rise(math.MaxInt64)
	n.packets.heights.seen = 0
}

// Risen waits until a packet above the limit waits, or for at most the timeout, and reports whether there is one.
func (n *Network) Risen(ctx context.Context, timeout time.Duration) (bool, error) {
	n.mutex.Lock()
	above := n.packets.heights.above
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

// below makes a packet wait while it is above the limit, and reports false if its connection ends meanwhile. The caller
// holds the mutex, which is released during the wait.
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
