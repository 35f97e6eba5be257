// Package rpc provides request and response calls on top of messages, for nodes of a bubble. A request is one
// message of the engine and its answer another, so that each can be lost, late or cut off.
//
// [Calls] are the calls of one incarnation of a node. A program's request travels in a [Message], or in a struct that
// embeds one. The receiver passes each message to Take. A message that Take does not accept is a request: the receiver
// serves it and calls Answer, at any time. All calls have the same timeout. If a goroutine waits for each call, use
// Ask, which sends and waits. A call with a function Delivered needs no such goroutine.
//
// [Sequence] restores the order in which messages were sent, for programs that expect a stream.
package rpc

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/trace"
)

// The errors of calls that end without an answer.
var (
	ErrTimeout = errors.New("call timed out")
	ErrClosed  = errors.New("calls have ended")
)

// Message is a request or an answer.
type Message struct {
	// Body is the content of the request or answer.
	Body any
	// Err is the error of an answer, as text.
	Err string

	incarnation int   // incarnation of the requesting node
	call        *Call // receives the answer; nil: no answer is expected
	use         uint64
	answer      bool
}

// Incarnation is the number of the requesting node's incarnation.
func (m *Message) Incarnation() int { return m.incarnation }

// Carried is the message itself. A struct that embeds a Message is thereby a Carrier.
func (m *Message) Carried() *Message { return m }

// Carrier is the body of a message of the engine that is a request or an answer.
type Carrier interface{ Carried() *Message }

// Call is a request that waits for its answer or its timeout. A Call with only Delivered set may be passed to Send.
type Call struct {
	// Delivered is called once, with the answer or with an error. It runs on the goroutine that delivers them, and must
	// not wait. It replaces Wait.
	Delivered func(answer *Message, err error)

	calls  *Calls
	answer chan result // receives one result
	use    uint64      // counts the calls that have used this memory
	over   bool
	until  time.Time
}

type result struct {
	answer *Message
	err    error
}

// Calls sends the requests of one incarnation of a node, and matches answers to them.
type Calls struct {
	node    *bubble.Node
	timeout time.Duration
	closed  chan struct{}

	mutex   sync.Mutex
	over    bool        // the calls are closed
	waiting []*Call     // calls that wait for their answers, oldest first
	timer   *time.Timer // timeout of the oldest
	armed   bool        // the timer is set
	free    []*Call     // to be reused
}

// New returns the Calls of a node. Each call times out after the given timeout. Close ends all calls.
func New(n *bubble.Node, timeout time.Duration) *Calls {
	return &Calls{node: n, timeout: timeout, closed: make(chan struct{})}
}

// Ask sends a request and waits for its answer.
func (c *Calls) Ask(to lockstep.Node, kind string, request Carrier) (*Message, error) {
	return c.Begin(to, kind, request).Wait()
}

// Begin sends a request. Its timeout starts with the Wait for its answer.
func (c *Calls) Begin(to lockstep.Node, kind string, request Carrier) *Call {
	a := c.fresh()
	c.Send(to, kind, request, a)
	return a
}

// fresh returns a call, a used one if there is one.
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

// Send sends a request whose answer goes to the call a; nil means that no answer is expected. Its timeout starts with
// Await.
func (c *Calls) Send(to lockstep.Node, kind string, request Carrier, a *Call) {
	m := request.Carried()
	m.incarnation, m.call = c.node.Incarnation(), a
	if a != nil {
		a.calls, m.use = c, a.use
	}
	c.node.Send(to, kind, trace.Tag{}, request)
}

// Answer sends the answer to a request.
func (c *Calls) Answer(to lockstep.Node, kind string, request *Message, answer Carrier) {
	m := answer.Carried()
	m.incarnation, m.call, m.use, m.answer = request.incarnation, request.call, request.use, true
	c.node.Send(to, kind, trace.Tag{}, answer)
}

// Take processes an answer, and reports whether the message is one. It also accepts and discards answers that no call
// waits for: duplicates, and answers for an ended incarnation.
func (c *Calls) Take(arrived Carrier) bool {
	m := arrived.Carried()
	if !m.answer {
		return false
	}
	if m.incarnation == c.node.Incarnation() && m.call != nil && c.ends(m.call, m.use) {
		m.call.deliver(m, nil)
	}
	return true
}

// ends ends the wait for an answer, and reports whether it had not ended before.
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

// deliver passes on the result of a call.
func (a *Call) deliver(m *Message, err error) {
	if a.Delivered != nil {
		a.Delivered(m, err)
		return
	}
	a.answer <- result{m, err}
}

// Wait waits for the answer to a call made by Begin, at most as long as the timeout. Call it once.
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

// Await starts the timeout of a call. It returns false if the calls were closed. All calls have the same timeout, so
// one timer for the oldest suffices.
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

// arm sets the timer. The caller holds the lock.
func (c *Calls) arm(wait time.Duration) {
	c.armed = true
	if c.timer == nil {
		c.timer = time.AfterFunc(wait, c.giveUp)
	} else {
		c.timer.Reset(wait)
	}
}

// giveUp ends the calls that have timed out.
func (c *Calls) giveUp() {
	for _, a := range c.late() {
		a.deliver(nil, ErrTimeout)
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

// Closed returns a channel that is closed by Close.
func (c *Calls) Closed() <-chan struct{} { return c.closed }

// Close ends all waiting calls, and makes later ones fail.
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
		a.deliver(nil, ErrClosed)
	}
}
