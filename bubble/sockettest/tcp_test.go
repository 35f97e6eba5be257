//go:build linux

package sockettest_test

import (
	"context"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

var tcpConnect = []row{
	{does: "addresses of both ends", do: func(p *probe) {
		l := p.serve()
		c := must(p.dial(p.client, "tcp", l.Addr().String()))
		s := must(p.accept(l))
		p.note("dialer local %s, remote %s", address(c.LocalAddr(), p.client, nil),
			address(c.RemoteAddr(), p.server, l.Addr()))
		p.note("accepted local %s, remote %s", address(s.LocalAddr(), p.server, l.Addr()),
			address(s.RemoteAddr(), p.client, c.LocalAddr()))
	},
		linux: "dialer local TCPAddr own ephemeral, remote TCPAddr own port; " +
			"accepted local TCPAddr own port, remote TCPAddr own port"},
	{does: "length of the addresses in bytes: listener at :0, dialer, accepted", do: func(p *probe) {
		l := must(p.listen(p.server, "tcp", ":0"))
		c := must(p.dial(p.client, "tcp", net.JoinHostPort(p.server.ip, port(l.Addr()))))
		s := must(p.accept(l))
		for _, a := range []net.Addr{l.Addr(), c.LocalAddr(), c.RemoteAddr(), s.LocalAddr(), s.RemoteAddr()} {
			p.note("%d", len(a.(*net.TCPAddr).IP))
		}
	}, linux: "16; 4; 4; 16; 16"},
	{does: "address of a listener at :0 (tcp), :0 (tcp4), 0.0.0.0:0 (tcp), 0.0.0.0:0 (tcp4)", do: func(p *probe) {
		for _, at := range [][2]string{{"tcp", ":0"}, {"tcp4", ":0"}, {"tcp", "0.0.0.0:0"}, {"tcp4", "0.0.0.0:0"}} {
			l := must(p.listen(p.server, at[0], at[1]))
			p.note("%s", strings.TrimSuffix(l.Addr().String(), port(l.Addr()))+"port")
		}
	}, linux: "[::]:port; 0.0.0.0:port; [::]:port; 0.0.0.0:port"},
	{does: "dial by the loopback address: addresses of the dialer", do: func(p *probe) {
		l := must(p.listen(p.server, "tcp", ":0"))
		c := must(p.dial(p.server, "tcp", "127.0.0.1:"+port(l.Addr())))
		p.note("local %s, remote %s", address(c.LocalAddr(), &host{}, nil), address(c.RemoteAddr(), &host{}, l.Addr()))
	}, linux: "local TCPAddr 127.0.0.1 ephemeral, remote TCPAddr 127.0.0.1 port"},
	{does: "dial by the IPv6 loopback address: addresses of the dialer", do: func(p *probe) {
		l := must(p.listen(p.server, "tcp", "[::1]:0"))
		c := must(p.dial(p.server, "tcp", l.Addr().String()))
		p.note("local %s, remote %s", address(c.LocalAddr(), &host{}, nil), address(c.RemoteAddr(), &host{}, l.Addr()))
	}, linux: "local TCPAddr ::1 ephemeral, remote TCPAddr ::1 port"},
	{does: "dial the wildcard address 0.0.0.0: addresses of the dialer", do: func(p *probe) {
		l := must(p.listen(p.server, "tcp", ":0"))
		c := must(p.dial(p.server, "tcp", "0.0.0.0:"+port(l.Addr())))
		p.note("local %s, remote %s", address(c.LocalAddr(), &host{}, nil), address(c.RemoteAddr(), &host{}, l.Addr()))
	}, linux: "local TCPAddr 127.0.0.1 ephemeral, remote TCPAddr 127.0.0.1 port"},
	{does: "dial a port without listener", do: func(p *probe) {
		l := p.serve()
		_ = l.Close()
		_, err := p.dial(p.client, "tcp", l.Addr().String())
		p.check("dial", err)
	}, linux: "dial connect ECONNREFUSED"},
	{does: "dial another address of the host than the listener's", do: func(p *probe) {
		l := must(p.listen(p.server, "tcp", "127.0.0.1:0"))
		_, err := p.dial(p.server, "tcp", "127.0.0.2:"+port(l.Addr()))
		p.check("dial", err)
	}, linux: "dial connect ECONNREFUSED"},
	{does: "dial a listener that does not accept, then write", do: func(p *probe) {
		l := p.serve()
		c := must(p.dial(p.client, "tcp", l.Addr().String()))
		p.write(c, "abc")
	}, linux: "write 3"},
	{does: "accept a connection that was written to and closed before", do: func(p *probe) {
		l := p.serve()
		c := must(p.dial(p.client, "tcp", l.Addr().String()))
		p.write(c, "abc")
		_ = c.Close()
		p.arrives()
		s := must(p.accept(l))
		p.read(s, 10)
		p.read(s, 10)
	}, linux: "write 3; read abc; read EOF"},
	{does: "accept a connection that was reset before", do: func(p *probe) {
		l := p.serve()
		c := must(p.dial(p.client, "tcp", l.Addr().String())).(*net.TCPConn)
		reset(c)
		p.arrives()
		s := must(p.accept(l))
		p.read(s, 10)
		p.read(s, 10)
	}, linux: "read ECONNRESET; read EOF"},
	{does: "the listener closes before it accepts: read by the dialer", do: func(p *probe) {
		l := p.serve()
		c := must(p.dial(p.client, "tcp", l.Addr().String()))
		_ = l.Close()
		p.read(c, 10)
		p.read(c, 10)
	}, linux: "read ECONNRESET; read EOF"},
	{does: "dial with a timeout, no answer", fault: power, do: func(p *probe) {
		l := p.serve()
		p.silence(l)
		_, err := p.dialWith(context.Background(), p.client, net.Dialer{Timeout: p.soon}, "tcp", l.Addr().String())
		p.check("dial", err)
	}, linux: "dial i/o timeout (timeout)"},
	{does: "dial with a context that is canceled meanwhile, no answer", fault: power, do: func(p *probe) {
		l := p.serve()
		p.silence(l)
		ctx, cancel := context.WithCancel(context.Background())
		wait := p.meanwhile(func() {
			_, err := p.dialWith(ctx, p.client, net.Dialer{}, "tcp", l.Addr().String())
			p.check("dial", err)
		})
		cancel()
		wait()
	}, linux: "dial Canceled"},
	{does: "dial with a context that was canceled before", do: func(p *probe) {
		l := p.serve()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := p.dialWith(ctx, p.client, net.Dialer{}, "tcp", l.Addr().String())
		p.check("dial", err)
	}, linux: "dial Canceled"},
	{does: "dial with a deadline in the past", do: func(p *probe) {
		l := p.serve()
		d := net.Dialer{Deadline: time.Now().Add(-time.Second)}
		_, err := p.dialWith(context.Background(), p.client, d, "tcp", l.Addr().String())
		p.check("dial", err)
	}, linux: "dial i/o timeout (timeout)"},
	{does: "dial from a local port that a listener has", do: func(p *probe) {
		l := p.serve()
		d := net.Dialer{LocalAddr: l.Addr()}
		_, err := p.dialWith(context.Background(), p.server, d, "tcp", p.serve().Addr().String())
		p.check("dial", err)
	}, linux: "dial bind EADDRINUSE"},
	{does: "dial from a local address that the host does not have", do: func(p *probe) {
		l := p.serve()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}}
		_, err := p.dialWith(context.Background(), p.server, d, "tcp", l.Addr().String())
		p.check("dial", err)
	}, linux: "dial bind EADDRNOTAVAIL"},
	{does: "dial a service name that does not exist", do: func(p *probe) {
		_, err := p.dial(p.client, "tcp", p.server.ip+":nosuchport")
		p.check("dial", err)
	}, linux: "dial DNSError (not found)"},
	{does: "dial a host name that does not exist", do: func(p *probe) {
		_, err := p.dial(p.client, "tcp", "nosuch.invalid:80")
		p.check("dial", err)
	}, linux: "dial DNSError (not found)", reference: "RFC 6761, section 6.4"},
	{does: "dial an address that no machine has", do: func(p *probe) {
		_, err := p.dial(p.client, "tcp", "10.0.0.99:80")
		p.check("dial", err)
	}, linux: "dial connect EHOSTUNREACH", reference: "ip(7): after the address resolution timed out"},
	{does: "dial a process that was killed", fault: kill, do: func(p *probe) {
		c, kill := p.peer()
		kill()
		_, err := p.dial(p.client, "tcp", c.RemoteAddr().String())
		p.check("dial", err)
	}, linux: "dial connect ECONNREFUSED"},
	{does: "a Control function of the dialer fails", do: func(p *probe) {
		l := p.serve()
		d := net.Dialer{Control: func(network, _ string, _ syscall.RawConn) error {
			p.note("control of %s", network)
			return syscall.ENOPROTOOPT
		}}
		_, err := p.dialWith(context.Background(), p.client, d, "tcp", l.Addr().String())
		p.check("dial", err)
	}, linux: "control of tcp4; dial ENOPROTOOPT"},
}

var tcpListen = []row{
	{does: "listen twice at a port", do: func(p *probe) {
		l := p.serve()
		_, err := p.listen(p.server, "tcp", l.Addr().String())
		p.check("listen", err)
	}, linux: "listen bind EADDRINUSE"},
	{does: "listen at the wildcard address where another listener has the port", do: func(p *probe) {
		l := p.serve()
		_, err := p.listen(p.server, "tcp", ":"+port(l.Addr()))
		p.check("listen", err)
	}, linux: "listen bind EADDRINUSE"},
	{does: "listen at one address where the wildcard address has the port", do: func(p *probe) {
		l := must(p.listen(p.server, "tcp", ":0"))
		_, err := p.listen(p.server, "tcp", net.JoinHostPort(p.server.ip, port(l.Addr())))
		p.check("listen", err)
	}, linux: "listen bind EADDRINUSE"},
	{does: "listen at two addresses with one port, dial each", do: func(p *probe) {
		one := must(p.listen(p.server, "tcp", "127.0.0.1:0"))
		two, err := p.listen(p.server, "tcp", "127.0.0.2:"+port(one.Addr()))
		if p.check("listen", err); err != nil {
			return
		}
		for _, l := range []net.Listener{one, two} {
			_, err := p.dial(p.server, "tcp", l.Addr().String())
			p.check("dial", err)
			_, err = p.accept(l)
			p.check("accept", err)
		}
	}, linux: "listen ok; dial ok; accept ok; dial ok; accept ok"},
	{does: "listen with SO_REUSEPORT twice at a port, both accept", do: func(p *probe) {
		config := net.ListenConfig{Control: reusePort}
		one := must(p.listenWith(p.server, config, "tcp", net.JoinHostPort(p.server.ip, "0")))
		two, err := p.listenWith(p.server, config, "tcp", one.Addr().String())
		if p.check("listen", err); err != nil {
			return
		}
		accepted := make(chan int, 100)
		for i, l := range []net.Listener{one, two} {
			go func() {
				for {
					if _, err := l.Accept(); err != nil {
						return
					}
					accepted <- i
				}
			}()
		}
		var counts [2]int
		for range 64 {
			must(p.dial(p.client, "tcp", one.Addr().String()))
			counts[<-accepted]++
		}
		p.note("both %v", counts[0] > 0 && counts[1] > 0)
	}, linux: "listen ok; both true"},
	{does: "listen without SO_REUSEPORT where a listener has it", do: func(p *probe) {
		config := net.ListenConfig{Control: reusePort}
		l := must(p.listenWith(p.server, config, "tcp", net.JoinHostPort(p.server.ip, "0")))
		_, err := p.listen(p.server, "tcp", l.Addr().String())
		p.check("listen", err)
	}, linux: "listen bind EADDRINUSE"},
	{does: "listen at an address that the host does not have", do: func(p *probe) {
		_, err := p.listen(p.server, "tcp", "192.0.2.1:0")
		p.check("listen", err)
	}, linux: "listen bind EADDRNOTAVAIL"},
	{does: "listen again after close, while a connection is open", do: func(p *probe) {
		l := p.serve()
		must(p.dial(p.client, "tcp", l.Addr().String()))
		must(p.accept(l))
		p.check("close", l.Close())
		_, err := p.listen(p.server, "tcp", l.Addr().String())
		p.check("listen", err)
	}, linux: "close ok; listen ok"},
	{does: "an accepted connection after its listener closed", do: func(p *probe) {
		l := p.serve()
		c := must(p.dial(p.client, "tcp", l.Addr().String()))
		s := must(p.accept(l))
		_ = l.Close()
		p.write(c, "abc")
		p.read(s, 10)
	}, linux: "write 3; read abc"},
	{does: "accept after close, close again", do: func(p *probe) {
		l := p.serve()
		p.check("close", l.Close())
		_, err := p.accept(l)
		p.check("accept", err)
		p.check("close", l.Close())
	}, linux: "close ok; accept ErrClosed; close ErrClosed"},
	{does: "close while accept waits", do: func(p *probe) {
		l := p.serve()
		wait := p.meanwhile(func() {
			_, err := p.accept(l)
			p.check("accept", err)
		})
		_ = l.Close()
		wait()
	}, linux: "accept ErrClosed"},
	{does: "the deadline of accept passes, and is removed", do: func(p *probe) {
		l := p.serve()
		_ = l.SetDeadline(time.Now().Add(p.soon))
		_, err := p.accept(l)
		p.check("accept", err)
		_ = l.SetDeadline(time.Time{})
		must(p.dial(p.client, "tcp", l.Addr().String()))
		_, err = p.accept(l)
		p.check("accept", err)
	}, linux: "accept ErrDeadlineExceeded (timeout); accept ok"},
}

const (
	soReusePort    = 15
	tcpUserTimeout = 18
)

// reusePort lets sockets share a port.
func reusePort(_, _ string, c syscall.RawConn) (err error) {
	set := func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, soReusePort, 1) }
	if failed := c.Control(set); failed != nil {
		return failed
	}
	return err
}

// userTimeout sets how many milliseconds sent data may stay unacknowledged.
func (p *probe) userTimeout(c syscall.Conn, ms int) error {
	return p.control(c, func(fd int) error {
		return syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpUserTimeout, ms)
	})
}

// reset closes a connection by a reset.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

var tcpData = []row{
	{does: "read in small parts, until the peer closed", do: func(p *probe) {
		c, s := p.tcp()
		p.write(s, "abcde")
		_ = s.Close()
		for range 4 {
			p.read(c, 3)
		}
	}, linux: "write 5; read abc; read de; read EOF; read EOF"},
	{does: "read into no space: nothing there, data there, after the deadline, after close", do: func(p *probe) {
		c, s := p.tcp()
		p.read(c, 0)
		_, _ = s.Write([]byte("abc"))
		p.arrives()
		p.read(c, 0)
		_ = c.SetReadDeadline(time.Now().Add(-time.Second))
		p.read(c, 0)
		_ = c.Close()
		p.read(c, 0)
	}, linux: "read 0; read 0; read 0; read ErrClosed"},
	{does: "write nothing: connected, after CloseWrite, after a reset", do: func(p *probe) {
		c, s := p.tcp()
		p.write(c, "")
		_ = c.CloseWrite()
		p.write(c, "")
		reset(c)
		p.arrives()
		p.write(s, "")
		p.write(s, "")
	}, linux: "write 0; write EPIPE; write EPIPE; write EPIPE"},
	{does: "the peer closed: write, write, read", do: func(p *probe) {
		c, s := p.tcp()
		_ = s.Close()
		p.arrives()
		p.write(c, "abc")
		p.arrives()
		p.write(c, "abc")
		p.write(c, "abc")
		p.read(c, 10)
	}, linux: "write 3; write EPIPE; write EPIPE; read EOF"},
	{does: "the peer closed: write, read, write", do: func(p *probe) {
		c, s := p.tcp()
		_ = s.Close()
		p.arrives()
		p.write(c, "abc")
		p.arrives()
		p.read(c, 10)
		p.write(c, "abc")
	}, linux: "write 3; read EOF; write EPIPE"},
	{does: "after close: read, write, close, deadline, options, half-close", do: func(p *probe) {
		c, _ := p.tcp()
		p.check("close", c.Close())
		p.read(c, 10)
		p.write(c, "abc")
		p.check("close", c.Close())
		p.check("set-deadline", c.SetDeadline(time.Time{}))
		p.check("keep-alive", c.SetKeepAlive(true))
		p.check("period", c.SetKeepAlivePeriod(time.Second))
		p.check("no-delay", c.SetNoDelay(true))
		p.check("linger", c.SetLinger(0))
		p.check("buffer", c.SetReadBuffer(1<<16))
		p.check("shutdown", c.CloseWrite())
		p.check("shutdown", c.CloseRead())
		_, err := c.File()
		p.check("file", err)
		p.check("control", p.control(c, func(int) error { return nil }))
	},
		linux: "close ok; read ErrClosed; write ErrClosed; close ErrClosed; set-deadline ErrClosed; keep-alive ErrClosed; " +
			"period ErrClosed; no-delay ErrClosed; linger ErrClosed; buffer ErrClosed; " +
			"shutdown ErrClosed; shutdown ErrClosed; file ErrClosed; control ErrClosed"},
	{does: "close while read waits", do: func(p *probe) {
		c, _ := p.tcp()
		wait := p.meanwhile(func() { p.read(c, 10) })
		_ = c.Close()
		wait()
	}, linux: "read ErrClosed"},
	{does: "the peer closes while read waits", do: func(p *probe) {
		c, s := p.tcp()
		wait := p.meanwhile(func() { p.read(c, 10) })
		_ = s.Close()
		wait()
	}, linux: "read EOF"},
	{does: "write when the peer does not read: it waits, until the peer reads", do: func(p *probe) {
		c, s := p.tcp()
		_ = c.SetWriteDeadline(time.Now().Add(p.soon))
		n, err := p.until(c)
		p.result("write", n, err)
		_ = c.SetWriteDeadline(time.Time{})
		wait := p.meanwhile(func() {
			k, err := c.Write(make([]byte, 1<<20))
			p.result("write", k, err)
		})
		p.note("waits")
		_, err = io.CopyN(io.Discard, s, int64(n)+1<<20)
		wait()
		p.check("peer reads", err)
	}, linux: "write some ErrDeadlineExceeded (timeout); waits; write 1048576; peer reads ok"},
	{does: "close while write waits", do: func(p *probe) {
		c, _ := p.tcp()
		wait := p.meanwhile(func() {
			n, err := p.until(c)
			p.result("write", n, err)
		})
		_ = c.Close()
		wait()
	}, linux: "write some ErrClosed"},
	{does: "the peer resets while write waits", do: func(p *probe) {
		c, s := p.tcp()
		wait := p.meanwhile(func() {
			n, err := p.until(c)
			p.result("write", n, err)
		})
		reset(s)
		wait()
		p.write(c, "abc")
		p.read(c, 10)
	}, linux: "write some ECONNRESET; write EPIPE; read EOF"},
	{does: "net.Buffers: bytes written and what is left", do: func(p *probe) {
		c, s := p.tcp()
		b := net.Buffers{[]byte("ab"), nil, []byte("cde")}
		n, err := b.WriteTo(c)
		p.result("write", int(n), err)
		p.note("%d left", len(b))
		p.read(s, 10)
	}, linux: "write 5; 0 left; read abcde"},
	{does: "net.Buffers after the peer reset", do: func(p *probe) {
		c, s := p.tcp()
		reset(s)
		p.arrives()
		b := net.Buffers{[]byte("ab"), []byte("cde")}
		n, err := b.WriteTo(c)
		p.result("write", int(n), err)
		p.note("%d left", len(b))
	}, linux: "write writev ECONNRESET; 2 left"},
	{does: "ReadFrom a file (sendfile)", do: func(p *probe) {
		c, s := p.tcp()
		var f *os.File
		p.client.do(func() {
			f = must(os.Create(p.client.dir + "/file"))
			must(f.WriteString("content of a file"))
			must(f.Seek(0, io.SeekStart))
		})
		defer f.Close()
		n, err := c.ReadFrom(f)
		p.result("write", int(n), err)
		p.read(s, 100)
	}, linux: "write 17; read content of a file"},
	{does: "ReadFrom a connection (splice), limited", do: func(p *probe) {
		c, s := p.tcp()
		d, e := p.tcp()
		p.write(c, "abcdef")
		n, err := d.ReadFrom(io.LimitReader(s, 4))
		p.result("copy", int(n), err)
		p.read(e, 100)
	}, linux: "write 6; copy 4; read abcd"},
	{does: "WriteTo a connection until the end (splice)", do: func(p *probe) {
		c, s := p.tcp()
		d, e := p.tcp()
		p.write(c, "abcdef")
		_ = c.Close()
		n, err := s.WriteTo(d)
		p.result("copy", int(n), err)
		p.read(e, 100)
	}, linux: "write 6; copy 6; read abcdef"},
}

var tcpHalf = []row{
	{does: "CloseWrite: the peer reads the end and may still write", do: func(p *probe) {
		c, s := p.tcp()
		p.write(c, "abc")
		p.check("shutdown", c.CloseWrite())
		p.read(s, 10)
		p.read(s, 10)
		p.write(s, "def")
		p.read(c, 10)
	}, linux: "write 3; shutdown ok; read abc; read EOF; write 3; read def"},
	{does: "write after CloseWrite, CloseWrite again", do: func(p *probe) {
		c, _ := p.tcp()
		p.check("shutdown", c.CloseWrite())
		p.write(c, "abc")
		p.check("shutdown", c.CloseWrite())
	}, linux: "shutdown ok; write EPIPE; shutdown ok"},
	{does: "CloseRead: read; the peer writes; read", do: func(p *probe) {
		c, s := p.tcp()
		p.check("shutdown", c.CloseRead())
		p.read(c, 10)
		p.write(s, "abc")
		p.arrives()
		p.read(c, 10)
		p.read(c, 10)
		p.write(s, "abc")
	}, linux: "shutdown ok; read EOF; write 3; read abc; read EOF; write 3"},
	{does: "CloseRead while read waits", do: func(p *probe) {
		c, _ := p.tcp()
		wait := p.meanwhile(func() { p.read(c, 10) })
		_ = c.CloseRead()
		wait()
	}, linux: "read EOF"},
	{does: "CloseRead with unread data: read", do: func(p *probe) {
		c, s := p.tcp()
		p.write(s, "abc")
		p.arrives()
		_ = c.CloseRead()
		p.read(c, 2)
		p.read(c, 2)
		p.read(c, 2)
	}, linux: "write 3; read ab; read c; read EOF"},
	{does: "both called CloseWrite: CloseWrite, CloseRead, write, close", do: func(p *probe) {
		c, s := p.tcp()
		_ = c.CloseWrite()
		_ = s.CloseWrite()
		p.arrives()
		p.read(c, 10)
		p.check("shutdown", c.CloseWrite())
		p.check("shutdown", c.CloseRead())
		p.write(c, "abc")
		p.check("close", c.Close())
	}, linux: "read EOF; shutdown ENOTCONN; shutdown ENOTCONN; write EPIPE; close ok"},
	{does: "CloseWrite and CloseRead after a reset", do: func(p *probe) {
		c, s := p.tcp()
		reset(s)
		p.arrives()
		p.check("shutdown", c.CloseWrite())
		p.check("shutdown", c.CloseRead())
		p.read(c, 10)
	}, linux: "shutdown ENOTCONN; shutdown ENOTCONN; read ECONNRESET"},
	{does: "CloseWrite, the peer closes without reading: read", do: func(p *probe) {
		c, s := p.tcp()
		p.write(c, "abc")
		_ = c.CloseWrite()
		p.arrives()
		_ = s.Close()
		p.read(c, 10)
		p.read(c, 10)
	}, linux: "write 3; read ECONNRESET; read EOF"},
}

var tcpReset = []row{
	{does: "SetLinger(0) and close: the peer reads twice, writes", do: func(p *probe) {
		c, s := p.tcp()
		reset(s)
		p.read(c, 10)
		p.read(c, 10)
		p.write(c, "abc")
	}, linux: "read ECONNRESET; read EOF; write EPIPE"},
	{does: "SetLinger(0) and close: the peer writes twice, reads", do: func(p *probe) {
		c, s := p.tcp()
		reset(s)
		p.arrives()
		p.write(c, "abc")
		p.write(c, "abc")
		p.read(c, 10)
	}, linux: "write ECONNRESET; write EPIPE; read EOF"},
	{does: "SetLinger(0) and close while the peer's read waits", do: func(p *probe) {
		c, s := p.tcp()
		wait := p.meanwhile(func() { p.read(c, 10) })
		reset(s)
		wait()
	}, linux: "read ECONNRESET"},
	{does: "write, SetLinger(0) and close: the peer reads", do: func(p *probe) {
		c, s := p.tcp()
		p.write(s, "abc")
		p.arrives()
		reset(s)
		p.arrives()
		p.read(c, 2)
		p.read(c, 2)
		p.read(c, 2)
		p.read(c, 2)
	}, linux: "write 3; read ab; read c; read ECONNRESET; read EOF"},
	{does: "SetLinger(-1) and close", do: func(p *probe) {
		c, s := p.tcp()
		_ = s.SetLinger(0)
		_ = s.SetLinger(-1)
		_ = s.Close()
		p.read(c, 10)
	}, linux: "read EOF"},
	{does: "SetLinger(5) and close", do: func(p *probe) {
		c, s := p.tcp()
		p.write(s, "abc")
		_ = s.SetLinger(5)
		p.check("close", s.Close())
		p.read(c, 10)
		p.read(c, 10)
	}, linux: "write 3; close ok; read abc; read EOF"},
	{does: "CloseWrite, SetLinger(0) and close: the peer reads, writes", do: func(p *probe) {
		c, s := p.tcp()
		_ = s.CloseWrite()
		p.arrives()
		reset(s)
		p.arrives()
		p.read(c, 10)
		p.write(c, "abc")
		p.write(c, "abc")
	}, linux: "read EOF; write EPIPE; write EPIPE"},
	{does: "close with unread data: the peer reads twice", do: func(p *probe) {
		c, s := p.tcp()
		p.write(c, "abc")
		p.arrives()
		_ = s.Close()
		p.read(c, 10)
		p.read(c, 10)
	}, linux: "write 3; read ECONNRESET; read EOF"},
	{does: "close with unread data after an answer: the peer reads", do: func(p *probe) {
		c, s := p.tcp()
		p.write(c, "abcdef")
		p.read(s, 3)
		p.write(s, "ok")
		p.arrives()
		_ = s.Close()
		p.arrives()
		p.read(c, 10)
		p.read(c, 10)
		p.read(c, 10)
	}, linux: "write 6; read abc; write 2; read ok; read ECONNRESET; read EOF"},
	{does: "the process of the peer is killed: read, write, write", fault: kill, do: func(p *probe) {
		c, kill := p.peer()
		kill()
		p.read(c, 10)
		p.read(c, 10)
		p.write(c, "abc")
		p.arrives()
		p.write(c, "abc")
	}, linux: "read EOF; read EOF; write 3; write EPIPE"},
	{does: "the process of the peer is killed and has not read all: read twice", fault: kill, do: func(p *probe) {
		c, kill := p.peer()
		p.write(c, "abc")
		p.arrives()
		kill()
		p.read(c, 10)
		p.read(c, 10)
	}, linux: "write 3; read ECONNRESET; read EOF"},
}

var tcpDeadline = []row{
	{does: "the read deadline passes, twice read; then it is removed", do: func(p *probe) {
		c, s := p.tcp()
		_ = c.SetReadDeadline(time.Now().Add(p.soon))
		p.read(c, 10)
		p.read(c, 10)
		_ = c.SetReadDeadline(time.Time{})
		p.write(s, "abc")
		p.read(c, 10)
	}, linux: "read ErrDeadlineExceeded (timeout); read ErrDeadlineExceeded (timeout); write 3; read abc"},
	{does: "read with a deadline in the past, though data is there; then it is removed", do: func(p *probe) {
		c, s := p.tcp()
		p.write(s, "abc")
		p.arrives()
		_ = c.SetReadDeadline(time.Now().Add(-time.Second))
		p.read(c, 10)
		_ = c.SetReadDeadline(time.Time{})
		p.read(c, 10)
	}, linux: "write 3; read ErrDeadlineExceeded (timeout); read abc"},
	{does: "write with a deadline in the past; read is not affected", do: func(p *probe) {
		c, s := p.tcp()
		_ = c.SetWriteDeadline(time.Now().Add(-time.Second))
		p.write(c, "abc")
		p.write(s, "def")
		p.read(c, 10)
	}, linux: "write ErrDeadlineExceeded (timeout); write 3; read def"},
	{does: "SetDeadline in the past: read, write", do: func(p *probe) {
		c, _ := p.tcp()
		_ = c.SetDeadline(time.Now().Add(-time.Second))
		p.read(c, 10)
		p.write(c, "abc")
	}, linux: "read ErrDeadlineExceeded (timeout); write ErrDeadlineExceeded (timeout)"},
	{does: "a deadline in the past is set while read waits", do: func(p *probe) {
		c, _ := p.tcp()
		wait := p.meanwhile(func() { p.read(c, 10) })
		_ = c.SetReadDeadline(time.Now().Add(-time.Second))
		wait()
	}, linux: "read ErrDeadlineExceeded (timeout)"},
	{does: "the deadline is moved on while read waits: data comes before the second", do: func(p *probe) {
		c, s := p.tcp()
		_ = c.SetReadDeadline(time.Now().Add(2 * p.soon))
		wait := p.meanwhile(func() { p.read(c, 10) })
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		time.Sleep(3 * p.soon)
		_, _ = s.Write([]byte("abc"))
		wait()
	}, linux: "read abc"},
	{does: "the deadline passes on a connection that was reset", do: func(p *probe) {
		c, s := p.tcp()
		reset(s)
		p.arrives()
		_ = c.SetDeadline(time.Now().Add(-time.Second))
		p.read(c, 10)
		p.write(c, "abc")
		_ = c.SetDeadline(time.Time{})
		p.read(c, 10)
	}, linux: "read ErrDeadlineExceeded (timeout); write ErrDeadlineExceeded (timeout); read ECONNRESET"},
}

var tcpSilence = []row{
	{does: "the machine of the peer vanishes: keep-alive of 1 s, 1 probe; read, read, write",
		fault: power, do: func(p *probe) {
			c, s := p.tcp()
			_ = c.SetKeepAliveConfig(
				net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 1})
			p.silence(s)
			p.read(c, 10)
			p.read(c, 10)
			p.write(c, "abc")
		}, linux: "read ETIMEDOUT (timeout); read EOF; write EPIPE"},
	{does: "the machine of the peer vanishes: no keep-alive, read with a deadline of 3 s",
		fault: power, do: func(p *probe) {
			c, s := p.tcp()
			_ = c.SetKeepAliveConfig(
				net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 1})
			_ = c.SetKeepAlive(false)
			p.silence(s)
			_ = c.SetReadDeadline(time.Now().Add(3 * time.Second))
			p.read(c, 10)
		}, linux: "read ErrDeadlineExceeded (timeout)"},
	{does: "the machine of the peer vanishes: TCP_USER_TIMEOUT of 0.5 s; write, read, read, write",
		fault: power, do: func(p *probe) {
			c, s := p.tcp()
			p.check("option", p.userTimeout(c, 500))
			p.silence(s)
			p.write(c, "abc")
			p.read(c, 10)
			p.read(c, 10)
			p.write(c, "abc")
		}, linux: "option ok; write 3; read ETIMEDOUT (timeout); read EOF; write EPIPE"},
	{does: "the machine of the peer vanishes: TCP_USER_TIMEOUT of 0.5 s; write, later write twice, read",
		fault: power, do: func(p *probe) {
			c, s := p.tcp()
			p.check("option", p.userTimeout(c, 500))
			p.silence(s)
			p.write(c, "abc")
			time.Sleep(3 * time.Second)
			p.write(c, "abc")
			p.write(c, "abc")
			p.read(c, 10)
		}, linux: "option ok; write 3; write ETIMEDOUT (timeout); write EPIPE; read EOF"},
	{does: "the machine of the peer vanishes: keep-alive of package net; read, read", fault: power, do: func(p *probe) {
		c, s := p.tcp()
		p.silence(s)
		p.readAfter(c)
		p.readAfter(c)
	},
		linux:     "read ETIMEDOUT (timeout) after 2m30s; read EOF after 0s",
		reference: "net.KeepAliveConfig: idle for 15 s, then 9 probes, 15 s apart"},
	{does: "the machine of the peer vanishes: write, read, read", fault: power, do: func(p *probe) {
		c, s := p.tcp()
		p.silence(s)
		p.write(c, "abc")
		p.readAfter(c)
		p.readAfter(c)
	},
		linux:     "write 3; read ETIMEDOUT (timeout) after 15m25s; read EOF after 0s",
		reference: "tcp(7): 924.6 s by tcp_retries2"},
	{does: "the link is cut: write; read with a deadline of 10 s, read", fault: cut, do: func(p *probe) {
		c, _ := p.tcp()
		p.disturb()
		p.write(c, "abc")
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		p.readAfter(c)
		p.readAfter(c)
	}, linux: "write 3; read ErrDeadlineExceeded (timeout) after 10s; read ErrDeadlineExceeded (timeout) after 0s",
		reference: "RFC 9293, 3.8.1: data is sent again until it is acknowledged",
		overlay:   "write 3; read ECONNRESET after 0s; read EOF after 0s", why: lost},
	{does: "a segment is lost: its sender reads", fault: drop, do: func(p *probe) {
		c, _ := p.tcp()
		p.disturb()
		p.write(c, "abc")
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		p.readAfter(c)
	},
		linux:     "write 3; read ErrDeadlineExceeded (timeout) after 10s",
		reference: "RFC 9293, 3.8.1",
		overlay:   "write 3; read ECONNRESET after 0s",
		why:       lost},
	{does: "a segment is lost: the other end reads", fault: drop, do: func(p *probe) {
		c, s := p.tcp()
		p.disturb()
		p.write(c, "abc")
		p.readAfter(s)
	},
		linux:     "write 3; read abc after 0s",
		reference: "RFC 9293, 3.8.1",
		overlay:   "write 3; read ECONNRESET after 15s",
		why:       lost},
}

const lost = "There is no retransmission. A lost message loses its connection, as where a middlebox forgets it: " +
	"the sender is reset at once, the other end when its first keep-alive probe is answered."

// readAfter reads and records the duration, in seconds.
func (p *probe) readAfter(c net.Conn) {
	began := time.Now()
	p.read(c, 10)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.observed[len(p.observed)-1] += " after " + time.Since(began).Round(time.Second).String()
}
