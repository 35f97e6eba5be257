package remote

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockstep-go/lockstep/remote/wire"
)

// Stats count what passed between engine and replicas. They may be read at any time.
type Stats struct {
	// Orders and Reports were sent and taken.
	Orders, Reports atomic.Int64
	// Stale reports belonged to an earlier run and were refused.
	Stale atomic.Int64
	// Refused calls had the wrong token, node or session.
	Refused atomic.Int64
}

// session is one life of a replica: from its hello to the end of its calls.
type session struct {
	number uint32
	hello  wire.Hello
	inbox  chan *wire.Report // bounded, so that one who floods waits
	over   chan struct{}
	end    func(why string)

	// due is when the order under way must be done, in nanoseconds; 0: there is none. A timer for
	// each order would wake a thread each time, which costs more than the order.
	due atomic.Int64

	mutex    sync.Mutex // guards the stream, which must not be written to after the end
	send     func(*wire.Order) error
	deadline func(time.Time) error
	why      string
	reported bool // it has its call of Reports
	orders   uint32
}

// inboxSize is how many reports of a replica wait to be taken.
const inboxSize = 64

func newSession(number uint32, hello wire.Hello) *session {
	s := &session{number: number, hello: hello, inbox: make(chan *wire.Report, inboxSize), over: make(chan struct{})}
	var once sync.Once
	s.end = func(why string) {
		once.Do(func() {
			s.mutex.Lock()
			s.why, s.send = why, nil
			s.mutex.Unlock()
			close(s.over)
		})
	}
	return s
}

// order tells the replica to do something and returns the order's number.
func (s *session) order(o *wire.Order, patience time.Duration) (uint32, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.send == nil {
		return 0, fmt.Errorf("%s", s.why)
	}
	s.orders++
	o.Number = s.orders
	if o.Kind != wire.Welcome { // what is done at once, and by itself
		s.due.Store(time.Now().Add(patience).UnixNano())
	}
	return o.Number, s.send(o)
}

// expire ends the session if its order is not done in time, even if nobody reads it.
func (s *session) expire(now time.Time, patience time.Duration) {
	if due := s.due.Load(); due != 0 && now.UnixNano() > due {
		_ = s.deadline(now)
		s.end(fmt.Sprintf("it was not quiet within %s", patience))
	}
}
