package remote

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/lockstep-go/lockstep/remote/wire"
)

// server handles the calls of the replicas of one deployment.
type server struct {
	system   *System
	http     http.Server
	listener net.Listener
	served   sync.WaitGroup

	mutex    sync.Mutex
	sessions uint32
	seats    []*session // by node - 1; nil if the node is not connected
	came     chan struct{}
	over     chan struct{}
}

func newServer(system *System) (*server, error) {
	listener, err := net.Listen("tcp", cmp.Or(system.Listen, "127.0.0.1:0"))
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	s := &server{
		system:   system,
		listener: listener,
		seats:    make([]*session, system.Nodes),
		came:     make(chan struct{}, 1),
		over:     make(chan struct{}),
	}
	mux := http.NewServeMux()
	// Reports are small and many: compression costs more than it saves.
	options := []connect.HandlerOption{
		connect.WithReadMaxBytes(system.Limits.bytes()),
		connect.WithCompression("gzip", nil, nil),
	}
	for _, o := range wire.Codecs() {
		options = append(options, o)
	}
	mux.Handle(wire.OrdersProcedure, connect.NewServerStreamHandler(wire.OrdersProcedure, s.orders, options...))
	mux.Handle(wire.ReportsProcedure, connect.NewClientStreamHandler(wire.ReportsProcedure, s.reports, options...))
	mux.HandleFunc(wire.LinePath, s.upgrade)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s.http = http.Server{Handler: s.guarded(mux), Protocols: protocols, ErrorLog: log.New(io.Discard, "", 0),
		ReadHeaderTimeout: system.Limits.timeout(), MaxHeaderBytes: 64 << 10}
	s.served.Go(func() { _ = s.http.Serve(listener) })
	s.served.Go(s.watch)
	return s, nil
}

// watch ends sessions whose orders are not done in time.
func (s *server) watch() {
	timeout := s.system.Limits.timeout()
	ticker := time.NewTicker(max(timeout/10, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-s.over:
			return
		case now := <-ticker.C:
			s.mutex.Lock()
			seats := slices.Clone(s.seats)
			s.mutex.Unlock()
			for _, t := range seats {
				if t != nil {
					t.expire(now, timeout)
				}
			}
		}
	}
}

// url is the address to which replicas report.
func (s *server) url() string { return "http://" + s.listener.Addr().String() }

func (s *server) close() error {
	s.mutex.Lock()
	seats := append([]*session(nil), s.seats...)
	s.mutex.Unlock()
	for _, t := range seats {
		if t != nil {
			t.end("the campaign ended")
		}
	}
	close(s.over)
	err := s.http.Close()
	s.served.Wait()
	return err
}

// deadlineKey is the context key of the function that sets deadlines of a request.
type deadlineKey struct{}

// guarded refuses every request without the token of the deployment.
func (s *server) guarded(next http.Handler) http.Handler {
	want := []byte("Bearer " + s.system.Token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if given := r.Header.Get("Authorization"); subtle.ConstantTimeCompare([]byte(given), want) != 1 {
			problem := "the token is wrong"
			if given == "" {
				problem = "the token is missing"
			}
			s.refused()
			http.Error(w,
				problem+": send the header Authorization: Bearer TOKEN with the value of the variable LOCKSTEP_TOKEN",
				http.StatusUnauthorized)
			return
		}
		control := http.NewResponseController(w)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), deadlineKey{}, control)))
	})
}

func (s *server) refused() {
	if s.system.Stats != nil {
		s.system.Stats.Refused.Add(1)
	}
}

// orders begins a session and serves it until it ends.
func (s *server) orders(ctx context.Context, r *connect.Request[wire.Hello],
	stream *connect.ServerStream[wire.Order]) error {
	c := newCalls(ctx, stream)
	t, err := s.enter(*r.Msg, c)
	if err != nil {
		s.refused()
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	defer t.end("it hung up")
	if err := c.order(s.welcome(t)); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-t.over:
	}
	return nil
}

// welcome returns the first order.
func (s *server) welcome(t *session) *wire.Order {
	return &wire.Order{Kind: wire.Welcome, Number: 1, Session: t.number, Nodes: uint32(s.system.Nodes)}
}

// enter registers a replica for its node.
func (s *server) enter(hello wire.Hello, c channel) (*session, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if hello.Node < 1 || int(hello.Node) > len(s.seats) {
		return nil, fmt.Errorf("node %d; 1 to %d are possible", hello.Node, len(s.seats))
	}
	seat := &s.seats[hello.Node-1]
	if *seat != nil && (*seat).channel.gone() {
		(*seat).end("it hung up") // it closed the connection before the first order
	}
	if *seat != nil && !(*seat).ended() {
		return nil, fmt.Errorf("node %d is connected already", hello.Node)
	}
	s.sessions++
	*seat = newSession(s.sessions, hello, c)
	return *seat, nil
}

// reports receives a replica's reports.
func (s *server) reports(ctx context.Context,
	stream *connect.ClientStream[wire.Report]) (*connect.Response[wire.Bye], error) {
	if !stream.Receive() {
		return nil, orError(stream.Err(), "a call of Reports begins with a report that names the session")
	}
	t := s.claim(stream.Msg().Session)
	if t == nil {
		s.refused()
		return nil, connect.NewError(connect.CodeFailedPrecondition,
			fmt.Errorf("session %d does not exist, or has a call of Reports already", stream.Msg().Session))
	}
	c := t.channel.(*calls)
	for first := true; first || stream.Receive(); first = false {
		select {
		case c.inbox <- stream.Msg():
		case <-t.over:
			return connect.NewResponse(&wire.Bye{}), nil
		case <-ctx.Done():
		}
	}
	why := "it closed its reports"
	if err := stream.Err(); err != nil && !errors.Is(err, io.EOF) {
		why = "its reports broke off: " + err.Error()
	}
	t.end(why)
	return connect.NewResponse(&wire.Bye{}), nil
}

func orError(err error, text string) error {
	if err != nil {
		return err
	}
	return connect.NewError(connect.CodeInvalidArgument, errors.New(text))
}

// claim finds the session that a call of Reports belongs to. The session is then complete.
func (s *server) claim(number uint32) *session {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, t := range s.seats {
		if t == nil || t.number != number || t.ready {
			continue
		}
		if _, ok := t.channel.(*calls); ok {
			s.readyLocked(t)
			return t
		}
	}
	return nil
}

// ready marks a session as ready for orders.
func (s *server) ready(t *session) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.readyLocked(t)
}

func (s *server) readyLocked(t *session) {
	t.ready = true
	select {
	case s.came <- struct{}{}:
	default:
	}
}

// seat returns the session of a node that is ready for orders.
func (s *server) seat(node int) *session {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if t := s.seats[node]; t != nil && t.ready && !t.ended() && !t.channel.gone() {
		return t
	}
	return nil
}

// await waits until a node is connected, or failed is closed.
func (s *server) await(ctx context.Context, node int, failed <-chan struct{}) (*session, error) {
	timeout := time.NewTimer(s.system.Limits.timeout())
	defer timeout.Stop()
	for {
		if t := s.seat(node); t != nil {
			return t, nil
		}
		select {
		case <-s.came:
		case <-failed:
			return nil, errors.New("it ended before it connected")
		case <-timeout.C:
			return nil, fmt.Errorf("it did not connect within %s", s.system.Limits.timeout())
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
