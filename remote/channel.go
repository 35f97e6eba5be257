package remote

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/lockstep-go/lockstep/remote/wire"
)

// calls is the channel of a replica with two calls, Orders and Reports.
type calls struct {
	inbox    chan *wire.Report // bounded, so that a replica that floods must wait
	over     chan struct{}
	deadline func(time.Time) error // for writes

	mutex  sync.Mutex // guards the stream, which must not be written to after its handler has returned
	stream *connect.ServerStream[wire.Order]
}

// inboxSize is how many reports of a replica can wait for processing.
const inboxSize = 64

func newCalls(ctx context.Context, stream *connect.ServerStream[wire.Order]) *calls {
	control, _ := ctx.Value(deadlineKey{}).(*http.ResponseController)
	return &calls{
		inbox:    make(chan *wire.Report, inboxSize),
		over:     make(chan struct{}),
		deadline: control.SetWriteDeadline,
		stream:   stream,
	}
}

func (c *calls) order(o *wire.Order) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.stream == nil {
		return net.ErrClosed
	}
	return c.stream.Send(o)
}

func (c *calls) report(ctx context.Context) (*wire.Report, error) {
	select {
	case r := <-c.inbox:
		return r, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.over:
	}
	select {
	case r := <-c.inbox: // it came before the end
		return r, nil
	default:
		return nil, net.ErrClosed
	}
}

func (c *calls) gone() bool { return false } // its session would be over

func (c *calls) close() {
	_ = c.deadline(time.Now())
	c.mutex.Lock()
	c.stream = nil
	c.mutex.Unlock()
	close(c.over)
}

// line is the channel of a replica with its own connection. The engine's goroutine writes and reads it, without a
// handoff to other goroutines.
type line struct {
	*wire.Line
	last wire.Report

	ctx  context.Context // ends the wait for a report
	stop func() bool
}

func (l *line) order(o *wire.Order) error { return l.Write(o) }

func (l *line) report(ctx context.Context) (*wire.Report, error) {
	if l.ctx != ctx { // the same in all steps of a run
		if l.stop != nil {
			l.stop()
		}
		l.ctx, l.stop = ctx, context.AfterFunc(ctx, l.close)
	}
	l.last = wire.Report{Effects: l.last.Effects[:0]}
	if err := l.Read(&l.last); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return &l.last, nil
}

func (l *line) gone() bool { return l.Gone() }

func (l *line) close() { _ = l.Close() }

// upgrade reads a hello and turns its connection into a line with a session.
func (s *server) upgrade(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.Header.Get("Upgrade") != wire.LineProtocol || r.ProtoMajor != 1 {
		s.refuse(w, http.StatusUpgradeRequired,
			fmt.Errorf("a line begins with POST, HTTP/1.1, Connection: Upgrade and Upgrade: %s", wire.LineProtocol))
		return
	}
	var hello wire.Hello
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.system.Limits.bytes())))
	if err == nil {
		err = wire.Unmarshal(body, &hello)
	}
	if err != nil {
		s.refuse(w, http.StatusBadRequest, fmt.Errorf("no hello: %w", err))
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, err)
		return
	}
	l := &line{Line: wire.NewLine(conn.(*net.TCPConn), buffered.Reader, s.system.Limits.bytes())}
	if s.system.together() {
		if err := l.Block(); err != nil {
			l.close()
			return
		}
	}
	t, err := s.enter(hello, l)
	if err != nil {
		s.refused()
		_, _ = fmt.Fprintf(conn,
			"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n%s\n", err)
		l.close()
		return
	}
	_, err = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n",
		wire.LineProtocol)
	if err == nil {
		err = l.order(s.welcome(t))
	}
	if err != nil {
		t.end("it hung up")
		return
	}
	s.ready(t)
}

// refuse rejects a request that cannot be served.
func (s *server) refuse(w http.ResponseWriter, status int, err error) {
	s.refused()
	http.Error(w, err.Error(), status)
}
