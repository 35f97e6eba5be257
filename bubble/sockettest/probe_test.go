//go:build linux

package sockettest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// soon is long enough for data to arrive on the loopback interface of an unloaded machine.
const soon = 50 * time.Millisecond

// host is a machine of a row.
type host struct {
	ip  string
	dir string       // its own directory, for unix sockets
	do  func(func()) // calls a function that makes sockets on the host
}

// probe is the environment of a row: two hosts, which may be the same, and the observations.
type probe struct {
	soon           time.Duration // long enough for data to arrive
	server, client *host
	// peer connects the client to a process on the server that reads nothing. It returns a function that ends that
	// process by SIGKILL.
	peer func() (c *net.TCPConn, kill func())
	// silence makes the server's machine vanish: nothing reaches it any more, and it sends nothing. The argument is the
	// server's end of a connection or a listener.
	silence func(end syscall.Conn)
	// disturb makes the network fail, where a test can do so: it cuts the link, or loses the next segment.
	disturb func()

	mutex    sync.Mutex
	observed []string
	closers  []func()
}

// note records an observation.
func (p *probe) note(format string, args ...any) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.observed = append(p.observed, fmt.Sprintf(format, args...))
}

// result records the result of a call, with the number of bytes if n is not negative.
func (p *probe) result(verb string, n int, err error) {
	switch {
	case err == nil && n < 0:
		p.note("%s ok", verb)
	case err == nil:
		p.note("%s %d", verb, n)
	case n > 0:
		p.note("%s some %s", verb, class(verb, err))
	default:
		p.note("%s %s", verb, class(verb, err))
	}
}

func (p *probe) check(verb string, err error) { p.result(verb, -1, err) }

// must panics if the setup of a row fails.
func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("the row cannot begin: %v", err))
	}
	return v
}

func (p *probe) later(f func()) { p.closers = append(p.closers, f) }

// end closes the sockets of the row.
func (p *probe) end() {
	for i := len(p.closers) - 1; i >= 0; i-- {
		p.closers[i]()
	}
}

// named are the errors that programs compare with.
var named = []struct {
	err  error
	name string
}{
	{io.EOF, "EOF"},
	{net.ErrClosed, "ErrClosed"},
	{os.ErrDeadlineExceeded, "ErrDeadlineExceeded"},
	{context.Canceled, "Canceled"},
	{net.ErrWriteToConnected, "ErrWriteToConnected"},
	{syscall.ECONNRESET, "ECONNRESET"},
	{syscall.ECONNREFUSED, "ECONNREFUSED"},
	{syscall.EPIPE, "EPIPE"},
	{syscall.ETIMEDOUT, "ETIMEDOUT"},
	{syscall.ENOTCONN, "ENOTCONN"},
	{syscall.EADDRINUSE, "EADDRINUSE"},
	{syscall.EADDRNOTAVAIL, "EADDRNOTAVAIL"},
	{syscall.EMSGSIZE, "EMSGSIZE"},
	{syscall.EDESTADDRREQ, "EDESTADDRREQ"},
	{syscall.EINVAL, "EINVAL"},
	{syscall.ENOENT, "ENOENT"},
	{syscall.ENETUNREACH, "ENETUNREACH"},
	{syscall.EHOSTUNREACH, "EHOSTUNREACH"},
	{syscall.EOPNOTSUPP, "EOPNOTSUPP"},
	{syscall.EPROTOTYPE, "EPROTOTYPE"},
	{syscall.ENOPROTOOPT, "ENOPROTOOPT"},
}

// class describes the properties of an error that a program can observe. These are the system call, if it is not the
// verb, the identity, and whether the error is a timeout.
func class(verb string, err error) string {
	text := identity(verb, err)
	var call *os.SyscallError
	if errors.As(err, &call) && call.Syscall != verb {
		text = call.Syscall + " " + text
	}
	if e, ok := errors.AsType[net.Error](err); ok {
		if e.Timeout() {
			text += " (timeout)"
		}
		if e.Temporary() != e.Timeout() { //nolint:staticcheck // programs ask for it
			text += " (temporary)"
		}
	}
	return text
}

func identity(verb string, err error) string {
	var unknown *net.DNSError
	if errors.As(err, &unknown) && unknown.IsNotFound {
		return "DNSError (not found)"
	}
	if verb == "dial" && strings.HasSuffix(err.Error(), "i/o timeout") { // one of two errors, at random
		return "i/o timeout"
	}
	for _, n := range named {
		if errors.Is(err, n.err) {
			return n.name
		}
	}
	return strconv.Quote(err.Error())
}

// listen makes a listener on a host.
func (p *probe) listen(h *host, network, address string) (l net.Listener, err error) {
	h.do(func() { l, err = net.Listen(network, address) })
	if err == nil {
		p.later(func() { _ = l.Close() })
	}
	return l, err
}

// listenWith is listen with options.
func (p *probe) listenWith(h *host, config net.ListenConfig, network, address string) (l net.Listener, err error) {
	h.do(func() { l, err = config.Listen(context.Background(), network, address) })
	if err == nil {
		p.later(func() { _ = l.Close() })
	}
	return l, err
}

// dial opens a connection from a host.
func (p *probe) dial(h *host, network, address string) (net.Conn, error) {
	return p.dialWith(context.Background(), h, net.Dialer{}, network, address)
}

// dialWith is dial with options.
func (p *probe) dialWith(ctx context.Context, h *host, d net.Dialer, network, address string) (c net.Conn, err error) {
	h.do(func() { c, err = d.DialContext(ctx, network, address) })
	if err == nil {
		p.later(func() { _ = c.Close() })
	}
	return c, err
}

// accept accepts a connection from a listener.
func (p *probe) accept(l net.Listener) (net.Conn, error) {
	c, err := l.Accept()
	if err == nil {
		p.later(func() { _ = c.Close() })
	}
	return c, err
}

// port is the port of an address.
func port(a net.Addr) string {
	_, port, _ := net.SplitHostPort(a.String())
	return port
}

// serve listens on the server, by plain TCP: silence does not work with a listener of Multipath TCP.
func (p *probe) serve() *net.TCPListener {
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	return must(p.listenWith(p.server, config, "tcp", net.JoinHostPort(p.server.ip, "0"))).(*net.TCPListener)
}

// tcp makes a connection between the two hosts.
func (p *probe) tcp() (c, s *net.TCPConn) {
	l := p.serve()
	c = must(p.dial(p.client, "tcp", l.Addr().String())).(*net.TCPConn)
	s = must(p.accept(l)).(*net.TCPConn)
	return c, s
}

// packet makes a UDP socket on a host.
func (p *probe) packet(h *host, network, address string) *net.UDPConn {
	var c net.PacketConn
	h.do(func() { c = must(net.ListenPacket(network, address)) })
	p.later(func() { _ = c.Close() })
	return c.(*net.UDPConn)
}

// udp makes a socket on the server and a client socket that is connected to it.
func (p *probe) udp() (c, s *net.UDPConn) {
	s = p.packet(p.server, "udp", net.JoinHostPort(p.server.ip, "0"))
	return must(p.dial(p.client, "udp", s.LocalAddr().String())).(*net.UDPConn), s
}

// path is a path in the server's directory.
func (p *probe) path(name string) string { return filepath.Join(p.server.dir, name) }

// unix makes a connection by a unix socket on the server.
func (p *probe) unix() (c, s *net.UnixConn, l *net.UnixListener) {
	l = must(p.listen(p.server, "unix", p.path("socket"))).(*net.UnixListener)
	c = must(p.dial(p.server, "unix", p.path("socket"))).(*net.UnixConn)
	s = must(p.accept(l)).(*net.UnixConn)
	return c, s, l
}

// read reads at most so many bytes, and records the result.
func (p *probe) read(c net.Conn, most int) {
	b := make([]byte, most)
	n, err := c.Read(b)
	if err == nil && n > 0 {
		p.note("read %s", b[:n])
		return
	}
	p.result("read", n, err)
}

func (p *probe) write(c net.Conn, text string) {
	n, err := c.Write([]byte(text))
	p.result("write", n, err)
}

// arrives waits until sent data has arrived.
func (p *probe) arrives() { time.Sleep(p.soon) }

// meanwhile calls f in a goroutine, lets it block, and returns a function that waits for its end.
func (p *probe) meanwhile(f func()) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	time.Sleep(p.soon)
	return func() { <-done }
}

// address describes an address, in comparison with a host and a listener: its type, whether it is the host's, and
// whether its port is the listener's.
func address(a net.Addr, h *host, listener net.Addr) string {
	text := strings.TrimPrefix(fmt.Sprintf("%T", a), "*net.")
	hostIP, number, err := net.SplitHostPort(a.String())
	if err != nil {
		return text + " " + strconv.Quote(a.String())
	}
	if hostIP == h.ip {
		hostIP = "own"
	}
	if listener != nil && number == port(listener) {
		return text + " " + hostIP + " port"
	}
	return text + " " + hostIP + " ephemeral"
}

// control calls a function with the descriptor of a socket.
func (p *probe) control(c syscall.Conn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// until writes to a connection until a write fails.
func (p *probe) until(c net.Conn) (n int, err error) {
	block := make([]byte, 1<<16)
	for n < 256<<20 {
		k, err := c.Write(block)
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
