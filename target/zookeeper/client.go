package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// client is a client, which is connected to one server at a time. Its session survives while the server is down.
type client struct {
	number int
	conn   *zk.Conn
	ctx    context.Context // ends with the client, which outlives the step that created it
	quit   context.CancelFunc
	gone   sync.WaitGroup
	tried  bool                      // the server was dialed, and no session resulted yet
	since  atomic.Pointer[time.Time] // when the serving server first refused a session; nil: it does not

	mutex  sync.Mutex
	server string
	wire   net.Conn // the connection dialed last
}

// sessionTimeout is longer than a server is down in any run.
const sessionTimeout = 5 * time.Minute

// newClient creates a client, which dials as soon as its server serves.
func newClient(number int, server string) (*client, error) {
	c := &client{number: number, server: server}
	c.ctx, c.quit = context.WithCancel(context.Background())
	conn, _, err := zk.Connect([]string{server}, sessionTimeout, zk.WithHostProvider(c), zk.WithDialer(c.dial),
		zk.WithLogger(silent{}), zk.WithLogInfo(false), zk.WithEventCallback(func(zk.Event) {}))
	c.conn = conn
	return c, err
}

// at returns the address of the server.
func (c *client) at() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.server
}

// move connects the client to another server, with the same session.
func (c *client) move(server string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.server = server
	c.since.Store(nil)
	if c.wire != nil {
		_ = c.wire.Close()
	}
}

type silent struct{}

// Printf discards the library's messages: the state of the connection is known.
func (silent) Printf(string, ...any) {}

// Init does nothing. Init, Len, Next and Connected present a single server that may be dialed at any time. Without
// them, the library pauses for a second between attempts.
func (c *client) Init([]string) error { return nil }

// Len returns the number of servers.
func (c *client) Len() int { return 1 }

// Next returns the server, and whether the library should check if it was closed.
func (c *client) Next() (string, bool) {
	select {
	case <-c.ctx.Done():
		return c.at(), true
	default:
		return c.at(), false
	}
}

// Connected is called when there is a session.
func (c *client) Connected() {
	c.tried = false
	c.since.Store(nil)
}

// dial waits until the server serves, and dials it. If the server accepts the connection and refuses the session, the
// library calls dial again at once.
func (c *client) dial(network, _ string, timeout time.Duration) (net.Conn, error) {
	if c.tried && !c.pause() {
		return nil, errClosed
	}
	for mode(c.ctx, c.at()) == "" {
		c.tried = false
		c.since.Store(nil)
		if !c.pause() {
			return nil, errClosed
		}
	}
	if now := time.Now(); c.tried {
		c.since.CompareAndSwap(nil, &now)
	}
	c.tried = true
	c.mutex.Lock()
	defer c.mutex.Unlock()
	wire, err := net.DialTimeout(network, c.server, timeout)
	c.wire = wire
	return wire, err
}

var errClosed = errors.New("the client was closed")

// pause pauses between attempts, and reports false if the client was closed.
func (c *client) pause() bool {
	select {
	case <-c.ctx.Done():
		return false
	case <-time.After(asking):
		return true
	}
}

// asking is the interval of checks whether a server serves.
const asking = 20 * time.Millisecond

// refused returns how long the server has served and refused the client's session.
func (c *client) refused() time.Duration {
	if since := c.since.Load(); since != nil {
		return time.Since(*since)
	}
	return 0
}

// connected reports whether the client has its session.
func (c *client) connected() bool { return c.conn.State() == zk.StateHasSession }

// close ends the client, whether its server is up or not. It does not wait: if the server is gone, the library's
// shutdown is slow.
func (c *client) close() {
	c.quit()
	c.gone.Go(c.conn.Close)
}

// mode requests a server's mode: leader, follower, standalone, or nothing while it does not serve.
func mode(ctx context.Context, server string) string {
	is, _ := status(ctx, server)
	return is
}

// status requests a server's mode, and the last transaction that it has seen.
func status(ctx context.Context, server string) (mode string, last Zxid) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", server)
	if err != nil {
		return "", 0
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return "", 0
	}
	answer, _ := io.ReadAll(io.LimitReader(conn, 4096))
	for line := range strings.Lines(string(answer)) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ": "); name {
		case "Mode":
			mode = value
		case "Zxid":
			last = zxid(value)
		}
	}
	return mode, last
}

func keyName(k int) string { return fmt.Sprintf("/k%d", k) }

// create creates all keys at once, with 0.
func (c *client) create() error {
	var ops []any
	for k := range Keys {
		ops = append(ops, &zk.CreateRequest{Path: keyName(k), Data: []byte("0"), Acl: zk.WorldACL(zk.PermAll)})
	}
	_, err := c.conn.Multi(ops...)
	return err
}

// read reads a key.
func (c *client) read(key int) (int, error) {
	data, _, err := c.conn.Get(keyName(key))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(data))
}

// write writes a key.
func (c *client) write(key, value int) error {
	_, err := c.conn.Set(keyName(key), []byte(strconv.Itoa(value)), -1)
	return err
}

// readAll reads all keys. Requests without a session wait for one, so that the context bounds them.
func (c *client) readAll(ctx context.Context) (Data, error) {
	type outcome struct {
		data Data
		err  error
	}
	done := make(chan outcome, 1)
	c.gone.Go(func() {
		var o outcome
		for k := range o.data {
			if o.data[k], o.err = c.read(k); o.err != nil {
				break
			}
		}
		done <- o
	})
	select {
	case o := <-done:
		return o.data, o.err
	case <-ctx.Done():
		return Data{}, ctx.Err()
	}
}
