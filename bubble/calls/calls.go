// Package calls makes calls of messages, for nodes of a bubble whose program calls others: a request is one message of the engine
// and its answer another, so that each can be lost, late or cut off.
//
// [Calls] are those of one life of a node. A program's request travels in a [Message], or in a struct with one in it. Who
// gets a message hands it to Take; what that does not take is a request, to be served and answered by Answer, at any time. All calls may take
// equally long. Where a goroutine waits for each, Ask does both; a call with a function Told needs none.
//
// [Turns] puts messages back into the order in which they were sent, for programs that expect a stream.
package calls

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/trace"
)

// What a call ends with instead of an answer.
var (
	ErrTimeout = errors.New("call timed out")
	ErrClosed  = errors.New("calls have ended")
)

// Message is a request or an answer.
type Message struct {
	// Body is what is asked or answered.
	Body any
	// Err is the error of an answer, in words.
	Err string

	life   int   // of the one who asks
	call   *Call // takes the answer; nil: there is none
	use    uint64
	answer bool
}

// Life is that of the node which asks.
func (m *Message) Life() int { return m.life }

// Carried is the message itself. A struct that has one in it is a Carrier by this.
func (m *Message) Carried() *Message { return m }

// Carrier is the body of a message of the engine that is a request or an answer.
type Carrier interface{ Carried() *Message }

// Call is one until it is answered or given up. Its zero value, with a function, may be sent.
type Call struct {
	// Told is called once, with the answer or with an error, by the one who brings it, and must not wait. It is for those who do not Wait.
	Told func(answer *Message, err error)

	calls  *Calls
	answer chan result // one
	use    uint64      // which one it is, of those that have used this memory
	over   bool
	until  time.Time
}

type result struct {
	answer *Message
	err    error
}

// Calls are those of one life of a node.
type Calls struct {
	node    *bubble.Node
	timeout time.Duration
	closed  chan struct{}

	mutex   sync.Mutex
	over    bool        // they are closed
	waiting []*Call     // for their answers, the oldest first
	timer   *time.Timer // for the oldest
	armed   bool        // it is set
	free    []*Call     // to be used again
}

// New makes the calls of a node, each of which may take so long. Close ends them.
func New(n *bubble.Node, timeout time.Duration) *Calls {
	return &Calls{node: n, timeout: timeout, closed: make(chan struct{})}
}

// Ask sends a request and waits for its answer.
func (c *Calls) Ask(to lockstep.Node, kind string, request Carrier) (*Message, error) {
	return c.Begin(to, kind, request).Wait()
}

// Begin sends a request. Its time runs from the Wait for its answer.
func (c *Calls) Begin(to lockstep.Node, kind string, request Carrier) *Call {
	a := c.fresh()
	c.Send(to, kind, request, a)
	return a
}

// fresh is a call, an old one where there is one.
func (c *Calls) fresh() *Call {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	k := len(c.free) - 1
	if k < 0 {
		return &Call{answer: make(chan result, 1)}
	}
	a := c.free[k]
	c.free = c.free[:k]
	a.use++
	a.over = false
	return a
}

// Send sends a request whose answer is told to a call; nil means that there is none. Its time runs from Await.
func (c *Calls) Send(to lockstep.Node, kind string, request Carrier, a *Call) {
	m := request.Carried()
	m.life, m.call = c.node.Life(), a
	if a != nil {
		a.calls, m.use = c, a.use
	}
	c.node.Send(to, kind, trace.Tag{}, request)
}

// Answer sends the answer to a request.
func (c *Calls) Answer(to lockstep.Node, kind string, request *Message, answer Carrier) {
	m := answer.Carried()
	m.life, m.call, m.use, m.answer = request.life, request.call, request.use, true
	c.node.Send(to, kind, trace.Tag{}, answer)
}

// Take takes an answer, and reports whether it is one. An answer that nobody waits for any more is taken, too: one that came twice, or
// to a life that has ended.
func (c *Calls) Take(arrived Carrier) bool {
	m := arrived.Carried()
	if !m.answer {
		return false
	}
	if m.life == c.node.Life() && m.call != nil && c.ends(m.call, m.use) {
		m.call.tell(m, nil)
	}
	return true
}

// ends ends the waiting for an answer, unless that has ended.
func (c *Calls) ends(a *Call, use uint64) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if a.over || a.use != use {
		return false
	}
	a.over = true
	if i := slices.Index(c.waiting, a); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	}
	return true
}

// tell tells what came of a call.
func (a *Call) tell(m *Message, err error) {
	if a.Told != nil {
		a.Told(m, err)
		return
	}
	a.answer <- result{m, err}
}

// Wait waits for the answer to a call that was begun, as long as a call may take. It is done once.
func (a *Call) Wait() (*Message, error) {
	c := a.calls
	if !c.Await(a) {
		return nil, ErrClosed
	}
	r := <-a.answer
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.free = append(c.free, a)
	return r.answer, r.err
}

// Await lets the time of a call run, and reports whether it does: not if all calls have been closed. All may take equally long, so that one timer, for the
// oldest, does for all.
func (c *Calls) Await(a *Call) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.over {
		return false
	}
	if !a.over {
		a.until = time.Now().Add(c.timeout)
		c.waiting = append(c.waiting, a)
	}
	if !c.armed {
		c.arm(c.timeout)
	}
	return true
}

// arm sets the timer. The caller has the lock.
func (c *Calls) arm(wait time.Duration) {
	c.armed = true
	if c.timer == nil {
		c.timer = time.AfterFunc(wait, c.giveUp)
	} else {
		c.timer.Reset(wait)
	}
}

// giveUp ends the calls whose time is over.
func (c *Calls) giveUp() {
	for _, a := range c.late() {
		a.tell(nil, ErrTimeout)
	}
}

func (c *Calls) late() (late []*Call) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.armed = false
	for len(c.waiting) > 0 {
		a := c.waiting[0]
		if left := time.Until(a.until); left > 0 {
			c.arm(left)
			break
		}
		c.waiting = slices.Delete(c.waiting, 0, 1)
		a.over = true
		late = append(late, a)
	}
	return late
}

// Closed is closed when the calls are.
func (c *Calls) Closed() <-chan struct{} { return c.closed }

// Close ends all calls that wait, and lets none wait any more.
func (c *Calls) Close() {
	c.mutex.Lock()
	if c.over {
		c.mutex.Unlock()
		return
	}
	c.over = true
	close(c.closed)
	waiting := c.waiting
	c.waiting = nil
	for _, a := range waiting {
		a.over = true
	}
	c.mutex.Unlock()
	for _, a := range waiting {
		a.tell(nil, ErrClosed)
	}
}
