// Package client makes a Go program a replica in the engine's hands.
//
// The program is asked through the functions of [Handlers] and answers with the calls of
// [Client]. A function returns when what it was asked to do is done; where other goroutines
// work on it, they say so with Busy.
package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/lockstep-go/lockstep/remote/wire"
)

// The variables of the environment that tell a replica where to report to and who it is.
const (
	URLVariable   = "LOCKSTEP_URL"
	NodeVariable  = "LOCKSTEP_NODE"
	TokenVariable = "LOCKSTEP_TOKEN"
)

// Options tell a replica where to report to and who it is.
type Options struct {
	URL   string
	Node  int
	Token string
	Info  map[string]string // anything worth telling the other replicas, such as a public key
}

// FromEnvironment are the options that Lockstep gives to the replicas that it starts.
func FromEnvironment() (Options, error) {
	o := Options{URL: os.Getenv(URLVariable), Token: os.Getenv(TokenVariable)}
	if o.URL == "" {
		return o, fmt.Errorf("client: %s is not set: the program is not run by Lockstep", URLVariable)
	}
	node, err := strconv.Atoi(os.Getenv(NodeVariable))
	if err != nil {
		return o, fmt.Errorf("client: %s: %w", NodeVariable, err)
	}
	o.Node = node
	return o, nil
}

// Handlers are what a replica does when it is told to. Each may be nil.
type Handlers struct {
	// Reset begins a run: forget everything, what is on disk, too. Start follows.
	Reset func(seed uint64)
	// Start starts the replica, at the beginning of a run and after a crash.
	Start func()
	// Stop is a crash: forget everything that would not survive one.
	Stop func()
	// Deliver takes a message.
	Deliver func(from int, kind string, body []byte)
	// Fire takes the firing of a timer.
	Fire func(timer string)
	// Request takes a client's request.
	Request func(id int, text string)
}

// Message is one to another replica, or to oneself.
type Message struct {
	To   int
	Type string
	Body []byte
	// Phase and Round are the tag, where the protocol has rounds.
	Phase, Round int
	// Text is the content in words, where Texts wants it.
	Text string
}

// Client is a replica's hold on the world. Its calls may come from any goroutine.
type Client struct {
	options  Options
	handlers Handlers
	busy     sync.WaitGroup

	mutex    sync.Mutex
	report   wire.Report // what has not been told yet
	nodes    int
	texts    bool
	now      uint64
	replicas []wire.Hello
}

// Connect makes a client; Run begins its work.
func Connect(options Options) *Client { return &Client{options: options} }

// Run takes orders until the context ends, the engine hangs up or something breaks. That the
// engine hangs up is how a campaign ends: it is no error.
func (c *Client) Run(ctx context.Context, handlers Handlers) error {
	c.handlers = handlers
	line, err := c.dial(ctx)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	defer line.Close()
	stop := context.AfterFunc(ctx, func() { _ = line.Close() })
	defer stop()
	for {
		var o wire.Order
		if err := line.Read(&o); err != nil {
			if ctx.Err() != nil || hungUp(err) {
				return nil
			}
			return fmt.Errorf("client: %w", err)
		}
		if err := c.obey(&o, line); err != nil {
			if ctx.Err() != nil || hungUp(err) {
				return nil
			}
			return fmt.Errorf("client: %w", err)
		}
	}
}

// hungUp tells whether the engine has ended the connection.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// dial makes a line to the engine: a request that says who is here and asks for the connection.
func (c *Client) dial(ctx context.Context) (*wire.Line, error) {
	hello := wire.Marshal(&wire.Hello{Node: uint32(c.options.Node), Info: c.options.Info})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.options.URL+wire.LinePath, bytes.NewReader(hello))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", wire.LineProtocol)
	if c.options.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.options.Token)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", r.URL.Host)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	if err := greet(conn, in, r); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return wire.NewLine(conn.(*net.TCPConn), in, math.MaxInt32), nil
}

// greet makes the request and takes the answer.
func greet(conn net.Conn, in *bufio.Reader, r *http.Request) error {
	if err := r.Write(conn); err != nil {
		return err
	}
	answer, err := http.ReadResponse(in, r)
	if err != nil {
		return err
	}
	defer answer.Body.Close() // which is empty where the connection is ours from here on
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	return fmt.Errorf("%s: %s", answer.Status, bytes.TrimSpace(text))
}

// obey does what an order says and reports it.
func (c *Client) obey(o *wire.Order, line *wire.Line) error {
	c.mutex.Lock()
	c.report.Run, c.now = o.Run, uint64(o.Now)
	switch o.Kind {
	case wire.Welcome:
		c.report.Session, c.nodes = o.Session, int(o.Nodes)
	case wire.Reset:
		c.texts, c.replicas = o.Texts, o.Replicas
	case wire.Start:
		c.texts = o.Texts
	}
	c.mutex.Unlock()
	c.handle(o)
	c.busy.Wait()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.report.Done = o.Number
	if err := line.Write(&c.report); err != nil {
		return err
	}
	c.report = wire.Report{Effects: c.report.Effects[:0]}
	return nil
}

// handle calls the function that an order is for.
func (c *Client) handle(o *wire.Order) {
	h := &c.handlers
	switch o.Kind {
	case wire.Reset:
		if h.Reset != nil {
			h.Reset(uint64(o.Seed))
		}
		if h.Start != nil {
			h.Start()
		}
	case wire.Start:
		if h.Start != nil {
			h.Start()
		}
	case wire.Stop:
		if h.Stop != nil {
			h.Stop()
		}
	case wire.Deliver:
		if h.Deliver != nil {
			h.Deliver(int(o.From), o.Type, o.Body)
		}
	case wire.Fire:
		if h.Fire != nil {
			h.Fire(o.Type)
		}
	case wire.Request:
		if h.Request != nil {
			h.Request(int(o.Request), o.Text)
		}
	}
}

// Busy tells that a goroutine works on what the replica was told, until done is called. It must
// be called before the function of Handlers returns, or by a goroutine that is busy already.
func (c *Client) Busy() (done func()) {
	c.busy.Add(1)
	return c.busy.Done
}

// Node is the replica's number, from 1, and Nodes how many there are.
func (c *Client) Node() int { return c.options.Node }

// Nodes is the number of replicas.
func (c *Client) Nodes() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.nodes
}

// Texts tells whether messages and states are wanted in words.
func (c *Client) Texts() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.texts
}

// Now is the time of the run.
func (c *Client) Now() uint64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now
}

// Info is what another replica told of itself.
func (c *Client) Info(node int) map[string]string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, h := range c.replicas {
		if int(h.Node) == node {
			return h.Info
		}
	}
	return nil
}

// Send sends a message.
func (c *Client) Send(m Message) {
	c.effect(wire.Effect{Kind: wire.Send, To: uint32(m.To), Type: m.Type, Body: m.Body,
		Phase: uint32(m.Phase), Round: uint32(m.Round), Text: m.Text})
}

// Broadcast sends a message to every replica, the sender included.
func (c *Client) Broadcast(m Message) {
	for n := range c.Nodes() {
		m.To = n + 1
		c.Send(m)
	}
}

// Timer starts a timer; one of the same name is replaced.
func (c *Client) Timer(name string, after uint64) {
	c.effect(wire.Effect{Kind: wire.Timer, Type: name, After: wire.Long(after)})
}

// Cancel stops a timer.
func (c *Client) Cancel(name string) { c.effect(wire.Effect{Kind: wire.Cancel, Type: name}) }

// Event reports something observable.
func (c *Client) Event(kind, text string) {
	c.effect(wire.Effect{Kind: wire.Event, Type: kind, Text: text})
}

// State puts the replica's state into a few words.
func (c *Client) State(text string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.report.State = text
}

// Role names the part that the replica plays.
func (c *Client) Role(role string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.report.Role = role
}

func (c *Client) effect(e wire.Effect) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.report.Effects = append(c.report.Effects, e)
}
