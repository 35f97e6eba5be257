//go:build linux

package sockettest_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var unixStream = []row{
	{does: "addresses of both ends", do: func(p *probe) {
		c, s, l := p.unix()
		for _, a := range []net.Addr{l.Addr(), c.LocalAddr(), c.RemoteAddr(), s.LocalAddr(), s.RemoteAddr()} {
			p.note("%s %q", a.Network(), strings.ReplaceAll(a.String(), p.path("socket"), "path"))
		}
	}, linux: "unix \"path\"; unix \"@\"; unix \"path\"; unix \"path\"; unix \"@\""},
	{does: "the path while there is a listener, chmod, and after its close", do: func(p *probe) {
		_, _, l := p.unix()
		p.exists("socket")
		p.server.do(func() { p.check("chmod", os.Chmod(p.path("socket"), 0o600)) })
		p.exists("socket")
		p.check("close", l.Close())
		p.exists("socket")
	}, linux: "path is a socket: true; chmod ok; path is a socket: true; close ok; path ENOENT"},
	{does: "a listener that leaves its path behind: dial, listen; after remove listen", do: func(p *probe) {
		_, _, l := p.unix()
		l.SetUnlinkOnClose(false)
		_ = l.Close()
		p.exists("socket")
		_, err := p.dial(p.server, "unix", p.path("socket"))
		p.check("dial", err)
		_, err = p.listen(p.server, "unix", p.path("socket"))
		p.check("listen", err)
		p.server.do(func() { p.check("remove", os.Remove(p.path("socket"))) })
		_, err = p.listen(p.server, "unix", p.path("socket"))
		p.check("listen", err)
	}, linux: "path is a socket: true; dial connect ECONNREFUSED; listen bind EADDRINUSE; remove ok; listen ok"},
	{does: "listen twice at a path", do: func(p *probe) {
		p.unix()
		_, err := p.listen(p.server, "unix", p.path("socket"))
		p.check("listen", err)
	}, linux: "listen bind EADDRINUSE"},
	{does: "listen in a directory that does not exist, and at a path of 108 bytes", do: func(p *probe) {
		_, err := p.listen(p.server, "unix", p.path("none/socket"))
		p.check("listen", err)
		_, err = p.listen(p.server, "unix", p.path(strings.Repeat("x", 108)))
		p.check("listen", err)
	}, linux: "listen bind ENOENT; listen bind EINVAL"},
	{does: "dial a path that does not exist, that of a file, one that was removed", do: func(p *probe) {
		_, err := p.dial(p.server, "unix", p.path("none"))
		p.check("dial", err)
		p.server.do(func() { _ = os.WriteFile(p.path("file"), nil, 0o600) })
		_, err = p.dial(p.server, "unix", p.path("file"))
		p.check("dial", err)
		must(p.listen(p.server, "unix", p.path("removed")))
		p.server.do(func() { _ = os.Remove(p.path("removed")) })
		_, err = p.dial(p.server, "unix", p.path("removed"))
		p.check("dial", err)
	}, linux: "dial connect ENOENT; dial connect ECONNREFUSED; dial connect ENOENT"},
	{does: "dial a path that was renamed", do: func(p *probe) {
		l := must(p.listen(p.server, "unix", p.path("old")))
		p.server.do(func() { p.check("rename", os.Rename(p.path("old"), p.path("new"))) })
		_, err := p.dial(p.server, "unix", p.path("new"))
		p.check("dial", err)
		_, err = p.accept(l)
		p.check("accept", err)
	}, linux: "rename ok; dial ok; accept ok"},
	{does: "a path outside the directory of the node", do: func(p *probe) {
		path := filepath.Join(filepath.Dir(filepath.Dir(p.server.dir)),
			fmt.Sprintf("lockstep-sockettest-%d", os.Getpid()))
		l := must(p.listen(p.server, "unix", path))
		_, err := os.Lstat(path)
		p.note("path is there: %v", err == nil)
		_, err = p.dial(p.server, "unix", path)
		p.check("dial", err)
		_ = l.Close()
		_, err = p.dial(p.server, "unix", path)
		p.check("dial", err)
	},
		linux:   "path is there: true; dial ok; dial connect ENOENT",
		overlay: "path is there: false; dial ok; dial connect ENOENT",
		why:     "Nodes share the file system there, so the path is only a name of the node."},
	{does: "an abstract name: listen, dial, listen twice, dial after close", do: func(p *probe) {
		l := must(p.listen(p.server, "unix", "@lockstep/test"))
		_, err := p.dial(p.server, "unix", "@lockstep/test")
		p.check("dial", err)
		_, err = p.listen(p.server, "unix", "@lockstep/test")
		p.check("listen", err)
		_ = l.Close()
		_, err = p.dial(p.server, "unix", "@lockstep/test")
		p.check("dial", err)
	}, linux: "dial ok; listen bind EADDRINUSE; dial connect ECONNREFUSED"},
	{does: "read until the peer closed; write", do: func(p *probe) {
		c, s, _ := p.unix()
		p.write(s, "abc")
		_ = s.Close()
		p.read(c, 10)
		p.read(c, 10)
		p.write(c, "abc")
		p.write(c, "abc")
	}, linux: "write 3; read abc; read EOF; write EPIPE; write EPIPE"},
	{does: "close with unread data: the peer reads twice", do: func(p *probe) {
		c, s, _ := p.unix()
		p.write(c, "abc")
		_ = s.Close()
		p.read(c, 10)
		p.read(c, 10)
	}, linux: "write 3; read ECONNRESET; read EOF"},
	{does: "close with unread data: the peer writes twice, reads", do: func(p *probe) {
		c, s, _ := p.unix()
		p.write(c, "abc")
		_ = s.Close()
		p.write(c, "abc")
		p.write(c, "abc")
		p.read(c, 10)
	}, linux: "write 3; write EPIPE; write EPIPE; read ECONNRESET"},
	{does: "CloseWrite: the peer reads the end and may still write", do: func(p *probe) {
		c, s, _ := p.unix()
		p.check("shutdown", c.CloseWrite())
		p.read(s, 10)
		p.write(s, "def")
		p.read(c, 10)
		p.write(c, "abc")
		p.check("shutdown", c.CloseWrite())
	}, linux: "shutdown ok; read EOF; write 3; read def; write EPIPE; shutdown ok"},
	{does: "CloseRead: read; the peer writes", do: func(p *probe) {
		c, s, _ := p.unix()
		p.check("shutdown", c.CloseRead())
		p.read(c, 10)
		p.write(s, "abc")
	}, linux: "shutdown ok; read EOF; write EPIPE"},
	{does: "the listener closes before it accepts: read by the dialer", do: func(p *probe) {
		l := must(p.listen(p.server, "unix", p.path("socket")))
		c := must(p.dial(p.server, "unix", p.path("socket")))
		_ = l.Close()
		p.read(c, 10)
		p.read(c, 10)
		p.write(c, "abc")
	}, linux: "read ECONNRESET; read EOF; write EPIPE"},
	{does: "deadlines in the past: read, write; close while read waits", do: func(p *probe) {
		c, s, _ := p.unix()
		_ = c.SetDeadline(time.Now().Add(-time.Second))
		p.read(c, 10)
		p.write(c, "abc")
		wait := p.meanwhile(func() { p.read(s, 10) })
		_ = s.Close()
		wait()
	}, linux: "read ErrDeadlineExceeded (timeout); write ErrDeadlineExceeded (timeout); read ErrClosed"},
	{does: "write when the peer does not read: the deadline passes", do: func(p *probe) {
		c, _, _ := p.unix()
		_ = c.SetWriteDeadline(time.Now().Add(p.soon))
		n, err := p.until(c)
		p.result("write", n, err)
	}, linux: "write some ErrDeadlineExceeded (timeout)"},
	{does: "accept after close, the deadline of accept", do: func(p *probe) {
		l := must(p.listen(p.server, "unix", p.path("socket"))).(*net.UnixListener)
		_ = l.SetDeadline(time.Now().Add(p.soon))
		_, err := p.accept(l)
		p.check("accept", err)
		_ = l.Close()
		_, err = p.accept(l)
		p.check("accept", err)
	}, linux: "accept ErrDeadlineExceeded (timeout); accept ErrClosed"},
}

// exists records the type of the file at a path.
func (p *probe) exists(name string) {
	p.server.do(func() {
		if i, err := os.Lstat(p.path(name)); err != nil {
			p.note("path %s", identity("", err))
		} else {
			p.note("path is a socket: %v", i.Mode().Type() == os.ModeSocket)
		}
	})
}

// gram makes a datagram socket at a path.
func (p *probe) gram(name string) (c *net.UnixConn, err error) {
	p.server.do(func() { c, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"}) })
	if err == nil {
		p.later(func() { _ = c.Close() })
	}
	return c, err
}

var unixOther = []row{
	{does: "unixgram: datagrams between two paths, truncation", do: func(p *probe) {
		a, b := must(p.gram(p.path("a"))), must(p.gram(p.path("b")))
		for _, text := range []string{"abcdef", "ghi"} {
			p.server.do(func() {
				n, err := a.WriteTo([]byte(text), b.LocalAddr())
				p.result("write", n, err)
			})
		}
		for range 2 {
			n, from, err := b.ReadFrom(make([]byte, 4))
			p.result("read", n, err)
			p.note("from %s", strings.ReplaceAll(from.String(), p.server.dir, "dir"))
		}
	}, linux: "write 6; write 3; read 4; from dir/a; read 3; from dir/a"},
	{does: "unixgram: dial, write, the receiver closes, write; no path", do: func(p *probe) {
		a := must(p.gram(p.path("a")))
		c := must(p.dial(p.server, "unixgram", p.path("a")))
		p.write(c, "abc")
		p.read(a, 10)
		_ = a.Close()
		p.write(c, "abc")
		_, err := p.dial(p.server, "unixgram", p.path("none"))
		p.check("dial", err)
	}, linux: "write 3; read abc; write ECONNREFUSED; dial connect ENOENT"},
	{does: "unixgram: the path after close, listen again", do: func(p *probe) {
		a := must(p.gram(p.path("a")))
		p.exists("a")
		_ = a.Close()
		p.exists("a")
		_, err := p.gram(p.path("a"))
		p.check("listen", err)
	}, linux: "path is a socket: true; path is a socket: true; listen bind EADDRINUSE"},
	{does: "unixpacket: listen, dial, messages keep their borders", do: func(p *probe) {
		l, err := p.listen(p.server, "unixpacket", p.path("packets"))
		if p.check("listen", err); err != nil {
			return
		}
		c := must(p.dial(p.server, "unixpacket", p.path("packets")))
		s := must(p.accept(l))
		p.write(c, "abc")
		p.write(c, "def")
		p.read(s, 10)
		p.read(s, 2)
		_ = c.Close()
		p.read(s, 10)
	}, linux: "listen ok; write 3; write 3; read abc; read de; read EOF"},
}
