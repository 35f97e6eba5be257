//go:build linux

package sockettest_test

import (
	"errors"
	"net"
	"syscall"
	"time"
)

var raw = []row{
	{does: "SyscallConn: an option that Control sets is there later", do: func(p *probe) {
		c, _ := p.tcp()
		set := func(fd int) error { return syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpUserTimeout, 1234) }
		p.check("option", p.control(c, set))
		p.check("option", p.control(c, func(fd int) error {
			v, err := syscall.GetsockoptInt(fd, syscall.IPPROTO_TCP, tcpUserTimeout)
			p.note("is %d", v)
			return err
		}))
	}, linux: "option ok; is 1234; option ok"},
	{does: "SyscallConn: what the methods of a connection have set", do: func(p *probe) {
		c, _ := p.tcp()
		_ = c.SetKeepAliveConfig(
			net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second, Interval: 4 * time.Second, Count: 5})
		_ = c.SetLinger(7)
		p.check("options", p.control(c, func(fd int) error {
			for _, o := range [][2]int{
				{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE}, {syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE},
				{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL}, {syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT},
				{syscall.IPPROTO_TCP, syscall.TCP_NODELAY},
			} {
				v, err := syscall.GetsockoptInt(fd, o[0], o[1])
				if err != nil {
					return err
				}
				p.note("%d", v)
			}
			return nil
		}))
	}, linux: "1; 3; 4; 5; 1; options ok"},
	{does: "SyscallConn: linger set by Control, then close: the peer reads", do: func(p *probe) {
		c, s := p.tcp()
		p.check("option", p.control(s, func(fd int) error {
			return syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
		}))
		_ = s.Close()
		p.read(c, 10)
	}, linux: "option ok; read ECONNRESET"},
	{does: "SyscallConn: Read and Write by system calls", do: func(p *probe) {
		c, s := p.tcp()
		w := must(c.SyscallConn())
		r := must(s.SyscallConn())
		n, failed := 0, error(nil)
		err := w.Write(func(fd uintptr) bool { n, failed = syscall.Write(int(fd), []byte("abc")); return true })
		p.result("write", n, errors.Join(err, failed))
		b := make([]byte, 10)
		err = r.Read(func(fd uintptr) bool {
			n, failed = syscall.Read(int(fd), b)
			return !errors.Is(failed, syscall.EAGAIN)
		})
		p.result("read", n, errors.Join(err, failed))
	}, linux: "write 3; read 3"},
	{does: "SyscallConn of UDP: Read by system calls", do: func(p *probe) {
		c, s := p.udp()
		p.write(c, "abc")
		r := must(s.SyscallConn())
		n, failed := 0, error(nil)
		b := make([]byte, 10)
		err := r.Read(func(fd uintptr) bool {
			n, failed = syscall.Read(int(fd), b)
			return !errors.Is(failed, syscall.EAGAIN)
		})
		if err == nil {
			err = failed
		}
		p.result("read", n, err)
	}, linux: "write 3; read 3", overlay: "write 3; read EOPNOTSUPP",
		why: "The descriptor that the function gets is one of a pair of real sockets, which has no addresses: " +
			"recvmsg by the program itself is refused."},
	{does: "File of a connection", do: func(p *probe) {
		c, _ := p.tcp()
		f, err := c.File()
		p.check("file", err)
		if err == nil {
			_ = f.Close()
		}
	},
		linux:   "file ok",
		overlay: "file dup EOPNOTSUPP",
		why:     "A socket in memory has no descriptor that another process could use."},
	{does: "File of a listener", do: func(p *probe) {
		f, err := p.serve().File()
		p.check("file", err)
		if err == nil {
			_ = f.Close()
		}
	},
		linux:   "file ok",
		overlay: "file dup EOPNOTSUPP",
		why:     "A socket in memory has no descriptor that another process could use."},
	{does: "join a multicast group", do: func(p *probe) {
		var c *net.UDPConn
		var err error
		p.server.do(func() {
			c, err = net.ListenMulticastUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(224, 0, 0, 251), Port: 0})
		})
		p.check("listen", err)
		if err == nil {
			_ = c.Close()
		}
	}, linux: "listen ok"},
}
