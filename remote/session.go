package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockstep-go/lockstep/remote/wire"
)

// Stats counts the traffic between engine and replicas. It is safe for concurrent use.
type Stats struct {
	// Orders were sent, and Reports received.
	Orders, Reports atomic.Int64
	// Stale reports belonged to an earlier run and were refused.
	Stale atomic.Int64
	// Refused calls had the wrong token, node or session.
	Refused atomic.Int64
}

// channel carries orders to a replica and reports back.
type channel interface {
	// order writes an order.
	order(*wire.Order) error
	// report waits for the next report, until the channel is closed or the context ends. The report is valid until the
	// next call.
	report(context.Context) (*wire.Report, error)
	// gone reports whether the replica is known to have closed the connection.
	gone() bool
	// close closes the channel, and unblocks order and report.
	close()
}

// session is one incarnation of a replica: from its hello to the end of its calls.
type session struct {
	number  uint32
	hello   wire.Hello
	channel channel
	ready   bool   // ready for orders; guarded by the server's mutex
	orders  uint32 // the first is the welcome
	over    chan struct{}
	why     string // the reason why it is over
	once    sync.Once

	// due is the deadline of the current order, in nanoseconds; 0: there is no order. A timer for each order would wake
	// a thread each time, which costs more than the order.
	due atomic.Int64
}

func newSession(number uint32, hello wire.Hello, c channel) *session {
	return &session{number: number, hello: hello, channel: c, orders: 1, over: make(chan struct{})}
}

// end ends the session; the first reason counts.
func (s *session) end(why string) {
	s.once.Do(func() {
		s.why = why
		close(s.over)
		s.channel.close()
	})
}

func (s *session) ended() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// order sends an order to the replica and returns the order's number.
func (s *session) order(o *wire.Order, timeout time.Duration) (uint32, error) {
	if s.ended() {
		return 0, errors.New(s.why)
	}
	s.orders++
	o.Number = s.orders
	s.due.Store(time.Now().Add(timeout).UnixNano())
	return o.Number, s.channel.order(o)
}

// report returns the next report, or an error with the reason of the session's end.
func (s *session) report(ctx context.Context) (*wire.Report, error) {
	r, err := s.channel.report(ctx)
	if err == nil || ctx.Err() != nil {
		return r, err
	}
	s.end("it hung up")
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return nil, errors.New(s.why)
	}
	return nil, fmt.Errorf("its reports broke off: %w", err)
}

// expire ends the session if its order is not done in time, even if no goroutine reads it.
func (s *session) expire(now time.Time, timeout time.Duration) {
	if due := s.due.Load(); due != 0 && now.UnixNano() > due {
		s.end(fmt.Sprintf("it was not done within %s", timeout))
	}
}
