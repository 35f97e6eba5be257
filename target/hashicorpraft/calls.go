package hashicorpraft

import (
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// call is a request that a node has sent, until it is answered or given up. The answer goes to a
// goroutine that waits for it, or to the pipeline that the call belongs to.
type call struct {
	answer   chan *packet // one packet
	until    time.Time
	pipeline *pipeline
	got      *packet // the answer, of a call of a pipeline
}

// What a call is told instead of an answer: that none came in time, and that the transport was closed.
var late, none packet

// tell ends the waiting for the answer. What comes later is ignored. The caller has the lock.
func (c *call) tell(p *packet) {
	switch {
	case c.pipeline == nil:
		select {
		case c.answer <- p:
		default:
		}
	case c.got == nil:
		c.got = p
		c.pipeline.goOn()
	}
}

// into gives an answer to the one who asked.
func into[R any](p *packet, resp *R) error {
	switch p {
	case &late:
		return errTimeout
	case &none:
		return errClosed
	}
	if r, ok := p.body.(*R); ok && r != nil {
		*resp = *r
	}
	if p.err != "" {
		return errors.New(p.err)
	}
	return nil
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
	sent := &struct {
		packet packet
		args   Q
	}{args: *args}
	sent.packet.body = &sent.args
	c := t.newCall()
	t.send(to, kind, &sent.packet, c)
	return take(t, c, resp)
}

// take waits for the answer to a call, as long as a call may take.
func take[R any](t *transport, c *call, resp *R) error {
	t.mutex.Lock()
	over := !t.await(c)
	t.mutex.Unlock()
	if over {
		return errClosed
	}
	p := <-c.answer
	if p != &late && p != &none {
		t.end(c)
	}
	return into(p, resp)
}

// await sees to it that the waiting for an answer ends. All calls may take equally long, so that one
// timer, for the oldest, does for all. The caller has the lock.
func (t *transport) await(c *call) bool {
	if t.over {
		return false
	}
	c.until = time.Now().Add(t.timeout)
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
	for len(t.calls) > 0 {
		c := t.calls[0]
		if left := time.Until(c.until); left > 0 {
			t.arm(left)
			return
		}
		t.calls = slices.Delete(t.calls, 0, 1)
		c.tell(&late)
	}
}

// end takes an answered call back. Nobody will answer it again.
func (t *transport) end(c *call) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.forget(c)
	t.ended = append(t.ended, c)
}

// forget does not wait for an answer any more. The caller has the lock.
func (t *transport) forget(c *call) {
	if i := slices.Index(t.calls, c); i >= 0 {
		t.calls = slices.Delete(t.calls, i, i+1)
	}
}
