//go:build linux

package sockettest_test

import (
	"net"
	"strings"
	"time"
)

var udp = []row{
	{does: "addresses: of a socket at :0, of a connected one, of the sender", do: func(p *probe) {
		s := p.packet(p.server, "udp", ":0")
		p.note("%s", strings.TrimSuffix(s.LocalAddr().String(), port(s.LocalAddr()))+"port")
		c := must(p.dial(p.client, "udp", net.JoinHostPort(p.server.ip, port(s.LocalAddr()))))
		p.note("local %s, remote %s", address(c.LocalAddr(), p.client, nil),
			address(c.RemoteAddr(), p.server, s.LocalAddr()))
		p.write(c, "abc")
		_, from, err := s.ReadFrom(make([]byte, 10))
		p.check("read", err)
		p.note("from %s", address(from, p.client, c.LocalAddr()))
	},
		linux: "[::]:port; local UDPAddr own ephemeral, remote UDPAddr own port; write 3; read ok; from UDPAddr own port"},
	{does: "ReadFrom and WriteTo: an answer", do: func(p *probe) {
		c, s := p.udp()
		p.write(c, "abc")
		b := make([]byte, 10)
		n, from := 0, net.Addr(nil)
		n, from, err := s.ReadFrom(b)
		p.result("read", n, err)
		n, err = s.WriteTo([]byte("defg"), from)
		p.result("write", n, err)
		p.read(c, 10)
	}, linux: "write 3; read 3; write 4; read defg"},
	{does: "a datagram is longer than the buffer: the rest is lost", do: func(p *probe) {
		c, s := p.udp()
		p.write(c, "abcdef")
		p.write(c, "ghi")
		p.read(s, 4)
		p.read(s, 4)
	}, linux: "write 6; write 3; read abcd; read ghi"},
	{does: "a datagram is longer than the buffer: flags of ReadMsgUDP", do: func(p *probe) {
		c, s := p.udp()
		p.write(c, "abcdef")
		n, _, flags, _, err := s.ReadMsgUDP(make([]byte, 4), nil)
		p.result("read", n, err)
		p.note("flags %#x", flags)
	}, linux: "write 6; read 4; flags 0x20"},
	{does: "an empty datagram", do: func(p *probe) {
		c, s := p.udp()
		p.write(c, "")
		n, _, err := s.ReadFrom(make([]byte, 10))
		p.result("read", n, err)
	}, linux: "write 0; read 0"},
	{does: "datagrams of 65507 and 65508 bytes", do: func(p *probe) {
		c, s := p.udp()
		for size := 65507; size < 65509; size++ {
			n, err := c.Write(make([]byte, size))
			p.result("write", n, err)
		}
		n, _, err := s.ReadFrom(make([]byte, 1<<16))
		p.result("read", n, err)
	}, linux: "write 65507; write EMSGSIZE; read 65507"},
	{does: "connected to a port without socket: write, read, read", do: func(p *probe) {
		c, s := p.udp()
		_ = s.Close()
		p.write(c, "abc")
		p.read(c, 10)
		_ = c.SetReadDeadline(time.Now().Add(p.soon))
		p.read(c, 10)
	}, linux: "write 3; read ECONNREFUSED; read ErrDeadlineExceeded (timeout)"},
	{does: "connected to a port without socket: write, later write twice", do: func(p *probe) {
		c, s := p.udp()
		_ = s.Close()
		p.write(c, "abc")
		p.arrives()
		p.write(c, "abc")
		p.write(c, "abc")
	}, linux: "write 3; write ECONNREFUSED; write 3"},
	{does: "WriteTo a port without socket, later again, read", do: func(p *probe) {
		c := p.packet(p.client, "udp", net.JoinHostPort(p.client.ip, "0"))
		s := p.packet(p.server, "udp", net.JoinHostPort(p.server.ip, "0"))
		_ = s.Close()
		for range 2 {
			n, err := c.WriteTo([]byte("abc"), s.LocalAddr())
			p.result("write", n, err)
			p.arrives()
		}
		_ = c.SetReadDeadline(time.Now().Add(p.soon))
		p.read(c, 10)
	}, linux: "write 3; write 3; read ErrDeadlineExceeded (timeout)"},
	{does: "a connected socket gets a datagram of another sender", do: func(p *probe) {
		c, s := p.udp()
		other := p.packet(p.server, "udp", net.JoinHostPort(p.server.ip, "0"))
		n, err := other.WriteTo([]byte("abc"), c.LocalAddr())
		p.result("write", n, err)
		p.arrives()
		n, err = s.WriteTo([]byte("def"), c.LocalAddr())
		p.result("write", n, err)
		p.read(c, 10)
	}, linux: "write 3; write 3; read def"},
	{does: "more datagrams than the receive buffer holds", do: func(p *probe) {
		c, s := p.udp()
		sent, got := 2000, 0
		for range sent {
			_, _ = c.Write(make([]byte, 1000))
		}
		p.arrives()
		_ = s.SetReadDeadline(time.Now().Add(p.soon))
		for ; ; got++ {
			if _, err := s.Read(make([]byte, 1000)); err != nil {
				break
			}
		}
		p.note("all arrive: %v", got == sent)
	},
		linux:   "all arrive: false",
		overlay: "all arrive: true",
		why:     "Which datagrams are lost is the scheduler's decision."},
	{does: "Write without an address, WriteTo on a connected socket", do: func(p *probe) {
		c, s := p.udp()
		p.write(s, "abc")
		n, err := c.WriteTo([]byte("abc"), s.LocalAddr())
		p.result("write", n, err)
	}, linux: "write EDESTADDRREQ; write ErrWriteToConnected"},
	{does: "listen twice at a port", do: func(p *probe) {
		_, s := p.udp()
		var err error
		p.server.do(func() { _, err = net.ListenPacket("udp", s.LocalAddr().String()) })
		p.check("listen", err)
	}, linux: "listen bind EADDRINUSE"},
	{does: "two addresses with one port", do: func(p *probe) {
		one := p.packet(p.server, "udp", "127.0.0.1:0")
		two := p.packet(p.server, "udp", "127.0.0.2:"+port(one.LocalAddr()))
		c := must(p.dial(p.server, "udp", two.LocalAddr().String()))
		p.write(c, "abc")
		p.read(two, 10)
	}, linux: "write 3; read abc"},
	{does: "deadlines in the past: read, write, WriteTo", do: func(p *probe) {
		c, s := p.udp()
		_, _ = c.Write([]byte("abc"))
		p.arrives()
		_ = c.SetDeadline(time.Now().Add(-time.Second))
		_ = s.SetDeadline(time.Now().Add(-time.Second))
		p.read(s, 10)
		p.write(c, "abc")
		n, err := s.WriteTo([]byte("abc"), c.LocalAddr())
		p.result("write", n, err)
	},
		linux: "read ErrDeadlineExceeded (timeout); write ErrDeadlineExceeded (timeout); " +
			"write ErrDeadlineExceeded (timeout)"},
	{does: "the read deadline passes", do: func(p *probe) {
		c, _ := p.udp()
		_ = c.SetReadDeadline(time.Now().Add(p.soon))
		p.read(c, 10)
	}, linux: "read ErrDeadlineExceeded (timeout)"},
	{does: "close while read waits", do: func(p *probe) {
		_, s := p.udp()
		wait := p.meanwhile(func() { p.read(s, 10) })
		_ = s.Close()
		wait()
	}, linux: "read ErrClosed"},
	{does: "after close: read, write, close, deadline, buffer", do: func(p *probe) {
		c, s := p.udp()
		p.check("close", c.Close())
		p.read(c, 10)
		p.write(c, "abc")
		p.check("close", c.Close())
		p.check("set-deadline", c.SetDeadline(time.Time{}))
		p.check("buffer", c.SetWriteBuffer(1<<16))
		_ = s.Close()
		n, err := s.WriteTo([]byte("abc"), c.LocalAddr())
		p.result("write", n, err)
	},
		linux: "close ok; read ErrClosed; write ErrClosed; close ErrClosed; set-deadline ErrClosed; " +
			"buffer ErrClosed; write ErrClosed"},
}
