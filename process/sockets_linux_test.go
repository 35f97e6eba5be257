package process

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
)

// mapped dials an address of IPv4 from a socket that was opened for IPv6, as a JVM does.
func mapped(t *testing.T, to *net.TCPAddr) net.Conn {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skip(err) // there is no IPv6
	}
	address := &syscall.SockaddrInet6{Port: to.Port}
	copy(address.Addr[:], to.IP.To16())
	if err := syscall.Connect(fd, address); err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "mapped")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// The kernel's answers agree with its tables: for sockets of IPv4, of IPv6, and of IPv6 with IPv4 addresses, at both
// ends.
func TestAsked(t *testing.T) {
	dial := func(t *testing.T, to *net.TCPAddr) net.Conn {
		t.Helper()
		conn, err := net.DialTCP("tcp", nil, to)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	for name, c := range map[string]struct {
		listen string
		dial   func(*testing.T, *net.TCPAddr) net.Conn
	}{"IPv4": {"127.0.0.1:0", dial}, "IPv6": {"[::1]:0", dial}, "IPv4 in IPv6": {"127.0.0.1:0", mapped}} {
		t.Run(name, func(t *testing.T) {
			listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", c.listen)
			if err != nil {
				t.Skip(err) // the family is not available
			}
			defer listener.Close()
			at := listener.Addr().(*net.TCPAddr)
			if !slices.ContainsFunc(listening(), func(a net.TCPAddr) bool { return same(a, *at) }) {
				t.Errorf("nothing listens at %s", at)
			}
			near := c.dial(t, at)
			defer near.Close()
			far, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer far.Close()
			mine, other := far.RemoteAddr().(*net.TCPAddr), far.LocalAddr().(*net.TCPAddr)
			for _, ends := range [][2]*net.TCPAddr{{mine, other}, {other, mine}} {
				asked, err := between(ends[0], ends[1])
				read := tabled(func(s socket) bool { return same(s.local, *ends[0]) && same(s.remote, *ends[1]) })
				if err != nil || len(asked) != 1 || fmt.Sprint(asked[0]) != fmt.Sprint(read[0]) ||
					asked[0].inode == "0" {
					t.Errorf("asked: %v, %v; in the tables: %v", asked, err, read)
				}
			}
			if pid := owner(mine, other, func(pid int) bool { return pid == os.Getpid() }); pid != os.Getpid() {
				t.Errorf("the socket is held by %d, not by %d", pid, os.Getpid())
			}
			if found := dials([]int{os.Getpid()}, []*net.TCPAddr{at}); len(found) != 1 {
				t.Errorf("dialed was %v", found)
			}
		})
	}
}

// A missing socket has no owner, even if a process listens at its address.
func TestAskedForNothing(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	at := listener.Addr().(*net.TCPAddr)
	if found, err := between(at, &net.TCPAddr{IP: at.IP, Port: 1}); err != nil || found != nil {
		t.Errorf("%v, %v", found, err)
	}
	_ = listener.Close()
	if found, err := between(at, &net.TCPAddr{IP: at.IP, Port: 1}); err != nil || found != nil {
		t.Errorf("%v, %v", found, err)
	}
	if pid := owner(at, &net.TCPAddr{IP: at.IP, Port: 1}, func(int) bool { return true }); pid != 0 {
		t.Error(strconv.Itoa(pid) + " holds it")
	}
}

// BenchmarkOwner compares the identification of a dialer by query with the kernel's tables.
func BenchmarkOwner(b *testing.B) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	near, err := net.DialTCP("tcp", nil, listener.Addr().(*net.TCPAddr))
	if err != nil {
		b.Fatal(err)
	}
	defer near.Close()
	mine, other := near.LocalAddr().(*net.TCPAddr), near.RemoteAddr().(*net.TCPAddr)
	b.Run("asked", func(b *testing.B) {
		for b.Loop() {
			if found, err := between(mine, other); err != nil || len(found) != 1 {
				b.Fatal(found, err)
			}
		}
	})
	b.Run("tables", func(b *testing.B) {
		for b.Loop() {
			if found := tabled(func(s socket) bool {
				return same(s.local, *mine) && same(s.remote, *other)
			}); len(found) != 1 {
				b.Fatal(found)
			}
		}
	})
}
