// Package client turns a Go program into a replica that the engine controls.
//
// The engine calls the functions of [Handlers], and the program responds with the calls of [Client]. A function returns
// when its work is done. If other goroutines continue the work, they declare that with Busy.
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

// The environment variables that give a replica the engine's address and its identity.
const (
	URLVariable   = "LOCKSTEP_URL"
	NodeVariable  = "LOCKSTEP_NODE"
	TokenVariable = "LOCKSTEP_TOKEN"
)

// Options give a replica the engine's address and its identity.
type Options struct {
	URL   string
	Node  int
	Token string
	Info  map[string]string // data for the other replicas, such as a public key
}

// FromEnvironment returns the options that Lockstep passes to the replicas that it starts.
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

// Handlers are the replica's reactions to orders. Each may be nil.
type Handlers struct {
	// Reset begins a run: discard all state, including the disk. Start follows.
	Reset func(seed uint64)
	// Start starts the replica, at the beginning of a run and after a crash.
	Start func()
	// Stop is a crash: discard all state that would not survive one.
	Stop func()
	// Deliver handles a message.
	Deliver func(from int, kind string, body []byte)
	// Fire handles the firing of a timer.
	Fire func(timer string)
	// Request handles a client's request.
	Request func(id int, text string)
}

// Message is a message to another replica, or to the sender itself.
type Message struct {
	To   int
	Type string
	Body []byte
	// Phase and Round are the tag, if the protocol has rounds.
	Phase, Round int
	// Text is the content as text, if Texts reports true.
	Text string
}

// Client is a replica's connection to the engine. Its calls are safe for concurrent use.
type Client struct {
	options  Options
	handlers Handlers
	busy     sync.WaitGroup

	mutex    sync.Mutex
	report   wire.Report // effects not yet reported
	nodes    int
	texts    bool
	now      uint64
	replicas []wire.Hello
}

// Connect creates a client; Run begins its work.
func Connect(options Options) *Client { return &Client{options: options} }

// Run processes orders until the context ends, the engine closes the connection or an error occurs. The engine closes
// the connection at the end of a campaign, which is no error.
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

// hungUp reports whether the engine has closed the connection.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// dial opens a line to the engine: a request that identifies the replica and upgrades the connection.
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

// greet sends the request and reads the response.
func greet(conn net.Conn, in *bufio.Reader, r *http.Request) error {
	if err := r.Write(conn); err != nil {
		return err
	}
	answer, err := http.ReadResponse(in, r)
	if err != nil {
		return err
	}
	defer answer.Body.Close() // empty if the connection was upgraded
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	return fmt.Errorf("%s: %s", answer.Status, bytes.TrimSpace(text))
}

// obey executes an order and reports the result.
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

// handle calls the handler of an order.
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

// Busy declares that a goroutine works on an order until done is called. Call it before the function of Handlers
// returns, or from a goroutine that is already busy.
func (c *Client) Busy() (done func()) {
	c.busy.Add(1)
	return c.busy.Done
}

// Node returns the replica's number, from 1.
func (c *Client) Node() int { return c.options.Node }

// Nodes returns the number of replicas.
func (c *Client) Nodes() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.nodes
}

// Texts reports whether the engine wants messages and states as text.
func (c *Client) Texts() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.texts
}

// Now returns the time of the run.
func (c *Client) Now() uint64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now
}

// Info returns the information that another replica published about itself.
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

// Broadcast sends a message to every replica, including the sender.
func (c *Client) Broadcast(m Message) {
	for n := range c.Nodes() {
		m.To = n + 1
		c.Send(m)
	}
}

// Timer starts a timer; it replaces one of the same name.
func (c *Client) Timer(name string, after uint64) {
	c.effect(wire.Effect{Kind: wire.Timer, Type: name, After: wire.Long(after)})
}

// Cancel stops a timer.
func (c *Client) Cancel(name string) { c.effect(wire.Effect{Kind: wire.Cancel, Type: name}) }

// Event reports something observable.
func (c *Client) Event(kind, text string) {
	c.effect(wire.Effect{Kind: wire.Event, Type: kind, Text: text})
}

// State reports a short description of the replica's state.
func (c *Client) State(text string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.report.State = text
}

// Role reports the role of the replica.
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
