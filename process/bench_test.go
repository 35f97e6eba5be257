package process

import (
	"io"
	"net"
	"testing"
	"time"
)

// BenchmarkLink compares a link with a direct connection in one run. It measures the round trip of a small request and
// the time that a megabyte takes there and back. The two alternate, so that other load on the machine affects both.
func BenchmarkLink(b *testing.B) {
	s, err := NewSupervisor(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	echo, err := net.Listen("tcp", s.Port())
	if err != nil {
		b.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); conn.Close() }()
		}
	}()
	n := NewNetwork(2, Closes, nil)
	defer n.Close()
	via := s.Port()
	l, err := n.Link(1, 2, via, echo.Addr().String(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for {
		if is, err := l.Listens(); err != nil {
			b.Fatal(err)
		} else if is {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for name, size := range map[string]int{"latency": 64, "throughput": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			direct, linked := time.Duration(0), time.Duration(0)
			straight, through := open(b, echo.Addr().String()), open(b, via)
			sent, got := make([]byte, size), make([]byte, size)
			for b.Loop() {
				direct += there(b, straight, sent, got)
				linked += there(b, through, sent, got)
			}
			b.ReportMetric(float64(direct.Nanoseconds())/float64(b.N), "direct-ns/op")
			b.ReportMetric(float64(linked.Nanoseconds())/float64(b.N), "linked-ns/op")
			b.ReportMetric(float64(linked)/float64(direct), "linked/direct")
		})
	}
}

func open(b *testing.B, address string) net.Conn {
	b.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return conn
}

// there sends data and waits until all of it is echoed.
func there(b *testing.B, conn net.Conn, sent, got []byte) time.Duration {
	begin := time.Now()
	go func() { _, _ = conn.Write(sent) }()
	if _, err := io.ReadFull(conn, got); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin)
}
