package netrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// registration is what a replica reports about itself.
type registration struct {
	ID    string         `json:"id"`
	Ready bool           `json:"ready"`
	Info  map[string]any `json:"info"`
	Addr  string         `json:"addr"`
}

// message is a message between replicas.
type message struct {
	From      string `json:"from"`
	To        string `json:"to"`
	Data      []byte `json:"data"`
	Type      string `json:"type"`
	ID        string `json:"id"`
	Intercept bool   `json:"intercept"`
	Repr      string `json:"repr"`
}

// event is something that happened at a replica.
type event struct {
	Type    string            `json:"type"`
	Replica string            `json:"replica"`
	Params  map[string]string `json:"params"`
}

// The types of event that the protocol itself has.
const (
	messageSend    = "MessageSend"
	messageReceive = "MessageReceive"
	timeoutStart   = "TimeoutStart"
	timeoutEnd     = "TimeoutEnd"
)

// timeout notifies a replica that a timer fires.
type timeout struct {
	Type     string `json:"type"`
	Duration string `json:"duration"`
	Replica  string `json:"replica"`
}

// directive orders a replica to start or stop.
type directive struct {
	Action string `json:"action"`
}

// report is a single report of a replica.
type report struct {
	node    int // from 0
	message *message
	event   *event
}

// server receives the posts of replicas.
type server struct {
	ids      []string
	http     http.Server
	listener net.Listener
	served   sync.WaitGroup
	inbox    chan report
	over     chan struct{}

	mutex    sync.Mutex
	replicas []registration
	live     []bool        // reports of this replica count
	came     chan struct{} // a replica has registered
	stale    int
}

// Limits of posts.
const (
	mostBytes = 4 << 20 // of one request
	mostType  = 100     // of the type of a message or event
	mostWait  = 10_000  // reports that wait for processing
)

func newServer(address string, ids []string) (*server, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("netrix: %w", err)
	}
	s := &server{ids: ids, listener: listener, inbox: make(chan report, mostWait), over: make(chan struct{}),
		replicas: make([]registration, len(ids)), live: make([]bool, len(ids)), came: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /replica", s.register)
	mux.HandleFunc("POST /message", s.message)
	mux.HandleFunc("POST /event", s.event)
	mux.HandleFunc("POST /state", s.event)
	mux.HandleFunc("POST /log", func(w http.ResponseWriter, r *http.Request) { answer(w, nil) })
	s.http = http.Server{
		Handler:        mux,
		ErrorLog:       log.New(io.Discard, "", 0),
		ReadTimeout:    30 * time.Second,
		MaxHeaderBytes: 64 << 10,
	}
	s.served.Go(func() { _ = s.http.Serve(listener) })
	return s, nil
}

func (s *server) close() error {
	close(s.over)
	err := s.http.Close()
	s.served.Wait()
	return err
}

func (s *server) address() string { return s.listener.Addr().String() }

// read reads the body of a request.
func read(r *http.Request, into any) error {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, mostBytes))
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// answer responds whether a post was accepted.
func answer(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
		return
	}
	_, _ = io.WriteString(w, `{"status":"ok"}`)
}

// index returns the index of a replica, or -1.
func (s *server) index(id string) int { return slices.Index(s.ids, id) }

func (s *server) register(w http.ResponseWriter, r *http.Request) {
	var g registration
	if err := read(r, &g); err != nil {
		answer(w, err)
		return
	}
	i := s.index(g.ID)
	if i < 0 {
		answer(w, fmt.Errorf("replica %q is not one of %q", g.ID, s.ids))
		return
	}
	s.mutex.Lock()
	s.replicas[i] = g
	s.mutex.Unlock()
	select {
	case s.came <- struct{}{}:
	default:
	}
	answer(w, nil)
}

func (s *server) message(w http.ResponseWriter, r *http.Request) {
	var m message
	if err := read(r, &m); err != nil {
		answer(w, err)
		return
	}
	i := s.index(m.From)
	switch {
	case i < 0 || s.index(m.To) < 0:
		answer(w, fmt.Errorf("a message from %q to %q; replicas are %q", m.From, m.To, s.ids))
	case m.Type == "" || len(m.Type) > mostType:
		answer(w, errors.New("a message whose type has not 1 to 100 bytes"))
	default:
		answer(w, s.put(report{node: i, message: &m}))
	}
}

func (s *server) event(w http.ResponseWriter, r *http.Request) {
	var e event
	if err := read(r, &e); err != nil {
		answer(w, err)
		return
	}
	i := s.index(e.Replica)
	switch {
	case i < 0:
		answer(w, fmt.Errorf("replica %q is not one of %q", e.Replica, s.ids))
	case e.Type == "" || len(e.Type) > mostType:
		answer(w, errors.New("an event whose type has not 1 to 100 bytes"))
	default:
		answer(w, s.put(report{node: i, event: &e}))
	}
}

// put queues a report, unless it belongs to a previous run.
func (s *server) put(r report) error {
	s.mutex.Lock()
	if !s.live[r.node] {
		s.stale++
		s.mutex.Unlock()
		return nil
	}
	s.mutex.Unlock()
	select {
	case s.inbox <- r:
		return nil
	case <-s.over:
		return errors.New("the campaign is over")
	default:
		return fmt.Errorf("more than %d reports wait", mostWait)
	}
}

// hear sets whether reports of a replica count.
func (s *server) hear(i int, live bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.live[i] = live
	if !live {
		s.replicas[i].Ready = false
	}
}

func (s *server) replica(i int) registration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.replicas[i]
}
