package hashicorpraft

import (
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// call is a request that a node has sent, until it is answered or given up.
type call struct {
	answer chan *packet // one packet
	until  time.Time
}

// What a call is told instead of an answer: that none came in time, and that the transport was closed.
var late, none packet

// tell ends the waiting for the answer. What comes later is ignored.
func (c *call) tell(p *packet) {
	select {
	case c.answer <- p:
	default:
	}
}

// newCall is a call, an old one where there is one.
func (t *transport) newCall() *call {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	k := len(t.ended) - 1
	if k < 0 {
		return &call{answer: make(chan *packet, 1)}
	}
	c := t.ended[k]
	t.ended = t.ended[:k]
	return c
}

// do makes a call and takes its answer.
func do[Q, R any](t *transport, to raft.ServerAddress, kind string, args *Q, resp *R) error {
	copied := *args
	return take(t, t.send(to, kind, &packet{body: &copied}), resp)
}

// take waits for the answer to a call, as long as a call may take.
func take[R any](t *transport, c *call, resp *R) error {
	if !t.await(c) {
		return errClosed
	}
	p := <-c.answer
	switch p {
	case &late:
		return errTimeout
	case &none:
		return errClosed
	}
	t.end(c)
	if r, ok := p.body.(*R); ok && r != nil {
		*resp = *r
	}
	if p.err != "" {
		return errors.New(p.err)
	}
	return nil
}

// await sees to it that the waiting for an answer ends. All calls may take equally long, so that one
// timer, for the oldest, does for all.
func (t *transport) await(c *call) bool {
	c.until = time.Now().Add(t.timeout)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	select {
	case <-t.closed:
		return false
	default:
	}
	t.calls = append(t.calls, c)
	if !t.armed {
		t.arm(t.timeout)
	}
	return true
}

// arm sets the timer. The caller has the lock.
func (t *transport) arm(wait time.Duration) {
	t.armed = true
	if t.timer == nil {
		t.timer = time.AfterFunc(wait, t.giveUp)
	} else {
		t.timer.Reset(wait)
	}
}

// giveUp ends the calls whose time is over.
func (t *transport) giveUp() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.armed = false
	for i, c := range t.calls {
		if left := time.Until(c.until); left > 0 {
			t.calls = slices.Delete(t.calls, 0, i)
			t.arm(left)
			return
		}
		c.tell(&late)
	}
	t.calls = t.calls[:0]
}

// end takes an answered call back. Nobody will answer it again.
func (t *transport) end(c *call) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if i := slices.Index(t.calls, c); i >= 0 {
		t.calls = slices.Delete(t.calls, i, i+1)
	}
	t.ended = append(t.ended, c)
}
