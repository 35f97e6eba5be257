//go:build lockstep_overlay

package bubble_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/rpc"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/bubble/wire"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// fair delivers messages in any order, and lets time pass when there is nothing to deliver.
var fair = strategy.DefaultPOS

// play runs a server on node 1 and a client on node 2, and requires that the client succeeds in every run.
func play(t *testing.T, server, client func(*bubble.Node) error) {
	t.Helper()
	cluster := bubble.Cluster{
		Name:    "sockets",
		Nodes:   2,
		Network: bubble.Sockets{},
		Pace:    time.Hour,
		Start: func(n *bubble.Node) error {
			if n.Self() == 1 {
				return server(n)
			}
			time.Sleep(10 * time.Millisecond)
			if err := client(n); err != nil && n.Alive() {
				return err
			}
			if n.Alive() {
				n.Emit("done", nil)
			}
			return nil
		},
	}
	done := 0
	count := spec.OnEvent("done", "done",
		func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding { done++; return nil })
	plan := lockstep.Plan{System: cluster, Strategy: fair, Spec: count, Runs: 20, Seed: 5}
	result := explore(t, plan)
	if f := result.First(); f != nil {
		t.Fatalf("%s\n%s", f.Finding, f.Finding.Stack)
	}
	if done != 20 {
		t.Errorf("%d of 20 clients were done", done)
	}
	if r, err := bubble.Repetition(t.Context(), plan, 20); err != nil || r.Same != 20 {
		t.Errorf("%d of 20 runs repeated, the first that did not is %d, %v", r.Same, r.First, err)
	}
}

func listen(n *bubble.Node, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		n.OnStop(func() { _ = l.Close() })
	}
	return l, err
}

// echo sends all data back, on every connection, until its end.
func echo(n *bubble.Node) error {
	l, err := listen(n, ":7")
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return nil
		}
		n.Go(func() {
			defer c.Close()
			_, _ = io.Copy(c, c)
		})
	}
}

func TestTCP(t *testing.T) {
	play(t, echo, func(n *bubble.Node) error {
		for _, address := range []string{"10.0.0.1:7", "node1:7"} {
			c, err := net.Dial("tcp", address)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(c, "hello "); err != nil {
				return err
			}
			if _, err := fmt.Fprintf(c, "world"); err != nil {
				return err
			}
			if err := c.(*net.TCPConn).CloseWrite(); err != nil { // one direction: the answer still arrives
				return err
			}
			all, err := io.ReadAll(c)
			if err != nil || string(all) != "hello world" {
				return fmt.Errorf("got %q, %w", all, err)
			}
			if c.LocalAddr().(*net.TCPAddr).IP.String() != "10.0.0.2" || c.RemoteAddr().String() != "10.0.0.1:7" {
				return fmt.Errorf("addresses %v, %v", c.LocalAddr(), c.RemoteAddr())
			}
			if err := c.Close(); err != nil {
				return err
			}
			if err := c.Close(); !errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("closed twice: %w", err)
			}
		}
		return nil
	})
}

func TestTCPErrors(t *testing.T) {
	play(t, func(n *bubble.Node) error {
		l, err := listen(n, ":7")
		if err != nil {
			return err
		}
		if _, err := net.Listen("tcp", ":7"); !errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("listened twice: %v", err)
		}
		c, err := l.Accept()
		if err != nil {
			return nil
		}
		time.Sleep(5 * time.Second) // the client's deadline passes, and its bytes stay unread
		return c.Close()
	}, func(n *bubble.Node) error {
		if _, err := net.Dial("tcp", "10.0.0.1:8"); !errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("refused: %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		var d net.Dialer
		if _, err := d.DialContext(ctx, "tcp", "10.0.0.9:7"); err == nil {
			return fmt.Errorf("no node answers, but the dial succeeded")
		}
		c, err := net.Dial("tcp", "10.0.0.1:7")
		if err != nil {
			return err
		}
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("deadline: %v", err)
		}
		if _, err := c.Write([]byte("never read")); err != nil {
			return err
		}
		_ = c.SetReadDeadline(time.Time{})
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			return fmt.Errorf("reset: %v", err)
		}
		return nil
	})
}

func TestUDP(t *testing.T) {
	play(t, func(n *bubble.Node) error {
		c, err := net.ListenPacket("udp", ":53")
		if err != nil {
			return err
		}
		n.OnStop(func() { _ = c.Close() })
		for {
			b := make([]byte, 100)
			k, from, err := c.ReadFrom(b)
			if err != nil {
				return nil
			}
			if _, err := c.WriteTo(b[:k], from); err != nil {
				return err
			}
		}
	}, func(*bubble.Node) error {
		c, err := net.Dial("udp", "10.0.0.1:53")
		if err != nil {
			return err
		}
		defer c.Close()
		for i := range 3 {
			if _, err := fmt.Fprintf(c, "ping %d", i); err != nil {
				return err
			}
			b := make([]byte, 100)
			k, err := c.Read(b)
			if err != nil || string(b[:k]) != fmt.Sprintf("ping %d", i) {
				return fmt.Errorf("%q, %w", b[:k], err)
			}
		}
		return nil
	})
}

func TestUnix(t *testing.T) {
	play(t, func(*bubble.Node) error { return nil }, func(n *bubble.Node) error {
		l, err := net.Listen("unix", "/run/it.sock")
		if err != nil {
			return err
		}
		n.Go(func() {
			if c, err := l.Accept(); err == nil {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}
			_ = l.Close()
		})
		c, err := net.Dial("unix", "/run/it.sock")
		if err != nil {
			return err
		}
		fmt.Fprintln(c, "same node")
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil || line != "same node\n" {
			return fmt.Errorf("%q, %w", line, err)
		}
		return c.Close()
	})
}

func TestHTTP(t *testing.T) {
	play(t, func(n *bubble.Node) error {
		l, err := listen(n, ":80")
		if err != nil {
			return err
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(3 * time.Minute)
			fmt.Fprintf(w, "you asked for %s", r.URL.Path)
		})}
		n.OnStop(func() { _ = s.Close() })
		_ = s.Serve(l)
		return nil
	}, func(n *bubble.Node) error {
		transport := &http.Transport{}
		n.OnStop(transport.CloseIdleConnections)
		client := http.Client{Transport: transport}
		for _, path := range []string{"/a", "/b"} {
			r, err := client.Get("http://10.0.0.1" + path)
			if err != nil {
				return err
			}
			all, err := io.ReadAll(r.Body)
			_ = r.Body.Close()
			if err != nil || string(all) != "you asked for "+path {
				return fmt.Errorf("%q, %w", all, err)
			}
		}
		return nil
	})
}

// Adder is a service of net/rpc.
type Adder struct{}

// Add adds.
func (Adder) Add(args [2]int, sum *int) error { *sum = args[0] + args[1]; return nil }

func TestRPC(t *testing.T) {
	play(t, func(n *bubble.Node) error {
		l, err := listen(n, ":9")
		if err != nil {
			return err
		}
		log.SetOutput(io.Discard) // the server logs that its listener was closed
		s := rpc.NewServer()
		if err := s.Register(Adder{}); err != nil {
			return err
		}
		s.Accept(l)
		return nil
	}, func(n *bubble.Node) error {
		c, err := rpc.Dial("tcp", "10.0.0.1:9")
		if err != nil {
			return err
		}
		var sum int
		if err := c.Call("Adder.Add", [2]int{3, 4}, &sum); err != nil || sum != 7 {
			return fmt.Errorf("%d, %w", sum, err)
		}
		return c.Close()
	})
}

// Faults of the network and of nodes break connections, and programs that tolerate that continue.
func TestSocketFaults(t *testing.T) {
	cluster := bubble.Cluster{
		Name:  "sockets",
		Nodes: 3,
		Network: bubble.Sockets{Decode: wire.Each(func(data []byte) (string, string) {
			return strings.Fields(string(data) + " empty")[0], string(data)
		})},
		Start: func(n *bubble.Node) error {
			n.Go(func() { _ = echo(n) })
			for n.Alive() {
				for _, to := range n.Others() {
					ask(n, to)
				}
				time.Sleep(100 * time.Millisecond)
			}
			return nil
		},
	}
	answers := 0
	count := spec.OnEvent("answer", "answer",
		func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding { answers++; return nil })
	walk := strategy.Walk{Deliver: 30, Wait: 10, Drop: 1, Cut: 1, Heal: 2, Crash: 1, Restart: 2, Steps: 400}
	plan := lockstep.Plan{System: cluster, Strategy: walk, Spec: count, Runs: 40, Seed: 5}
	result := explore(t, plan)
	if f := result.First(); f != nil {
		t.Fatalf("%s\n%s", f.Finding, f.Finding.Stack)
	}
	if answers < 100 || result.Verdicts[trace.Pass] != 40 {
		t.Errorf("%d answers, %v %v", answers, result.Verdicts, result.Reasons)
	}
	if r, err := bubble.Repetition(t.Context(), plan, 40); err != nil || r.Same != 40 {
		t.Errorf("%d of 40 runs repeated, the first that did not is %d, %v", r.Same, r.First, err)
	}
}

// ask sends a question and waits for the answer with a short timeout.
func ask(n *bubble.Node, to lockstep.Node) {
	c, err := net.DialTimeout("tcp", fmt.Sprintf("10.0.0.%d:7", to), time.Second)
	if err != nil {
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	fmt.Fprintln(c, "question")
	if line, err := bufio.NewReader(c).ReadString('\n'); err == nil && line == "question\n" {
		n.Emit("answer", to)
	}
}

// A program may close one direction of a connection: the other still works.
func TestHalfClose(t *testing.T) {
	play(t, func(n *bubble.Node) error {
		l, err := listen(n, ":7")
		if err != nil {
			return err
		}
		c, err := l.Accept()
		if err != nil {
			return nil
		}
		defer c.Close()
		all, err := io.ReadAll(c) // until the client has closed its direction
		if err != nil {
			return nil
		}
		_, _ = fmt.Fprintf(c, "%d bytes", len(all))
		return nil
	}, func(*bubble.Node) error {
		c, err := net.Dial("tcp", "node1:7")
		if err != nil {
			return err
		}
		defer c.Close()
		fmt.Fprint(c, "hello ")
		fmt.Fprint(c, "world")
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			return err
		}
		if _, err := c.Write([]byte("more")); !errors.Is(err, syscall.EPIPE) {
			return fmt.Errorf("written after the end: %v", err)
		}
		all, err := io.ReadAll(c)
		if err != nil || string(all) != "11 bytes" {
			return fmt.Errorf("%q, %w", all, err)
		}
		return nil
	})
}

// certificate is a certificate for node1, made once: the process keeps its keys.
var certificate = sync.OnceValues(func() (tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(bytes.NewReader(make([]byte, 100)))
	if err != nil {
		return tls.Certificate{}, err
	}
	year := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // the time of a bubble
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		DNSNames:     []string{"node1"},
		NotBefore:    year.AddDate(-1, 0, 0),
		NotAfter:     year.AddDate(1, 0, 0),
	}
	der, err := x509.CreateCertificate(nil, template, template, public, private)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, err
})

// TLS works, with HTTP/2 and alone, and is deterministic: its random numbers are the run's.
func TestTLS(t *testing.T) {
	pair, err := certificate()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(leaf)
	play(t, func(n *bubble.Node) error {
		l, err := listen(n, ":443")
		if err != nil {
			return err
		}
		s := &http.Server{
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}},
			ErrorLog:  log.New(io.Discard, "", 0),
			Handler:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }),
		}
		n.OnStop(func() { _ = s.Close() })
		_ = s.ServeTLS(l, "", "")
		return nil
	}, func(n *bubble.Node) error {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
		n.OnStop(transport.CloseIdleConnections)
		r, err := (&http.Client{Transport: transport}).Get("https://node1/")
		if err != nil {
			return err
		}
		all, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil || string(all) != "HTTP/2.0" {
			return fmt.Errorf("%q, %w", all, err)
		}
		return nil
	})
}

// Programs may read and write with their own system calls.
func TestRawConn(t *testing.T) {
	play(t, echo, func(*bubble.Node) error {
		c, err := net.Dial("tcp", "node1:7")
		if err != nil {
			return err
		}
		defer c.Close()
		raw, err := c.(*net.TCPConn).SyscallConn()
		if err != nil {
			return err
		}
		var failed error
		if err := raw.Write(func(fd uintptr) bool {
			_, failed = syscall.Write(int(fd), []byte("hello world"))
			return true
		}); err != nil || failed != nil {
			return fmt.Errorf("%w, %w", err, failed)
		}
		text, looks := "", 0
		for len(text) < 8 {
			buffer := make([]byte, 4) // less than available
			err := raw.Read(func(fd uintptr) bool {
				looks++
				n, err := syscall.Read(int(fd), buffer)
				text += string(buffer[:max(n, 0)])
				return !errors.Is(err, syscall.EAGAIN)
			})
			if err != nil {
				return err
			}
		}
		rest := make([]byte, 3)
		if _, err := io.ReadFull(c, rest); err != nil || text+string(rest) != "hello world" || looks < 3 {
			return fmt.Errorf("%q and %q after %d looks, %w", text, rest, looks, err)
		}
		_ = c.(*net.TCPConn).CloseWrite()
		ended := -1
		err = raw.Read(func(fd uintptr) bool {
			ended, failed = syscall.Read(int(fd), rest)
			return !errors.Is(failed, syscall.EAGAIN)
		})
		if err != nil || failed != nil || ended != 0 {
			return fmt.Errorf("the end: %d, %w, %w", ended, err, failed)
		}
		return nil
	})
}

// typesOf are the types of the messages of a run, with their counts.
func typesOf(t *testing.T, cluster bubble.Cluster) map[string]int {
	t.Helper()
	bench, err := lockstep.NewRunner(lockstep.Plan{System: cluster, Strategy: fair, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer bench.Close()
	run, err := bench.Record(t.Context(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]int{}
	for _, r := range run.Records {
		for _, m := range r.Sent {
			types[m.Type]++
		}
	}
	return types
}

// Messages on sockets have the names of their protocol, whole or in two parts.
func TestNames(t *testing.T) {
	cluster := bubble.Cluster{
		Name:    "names",
		Nodes:   2,
		Network: bubble.Sockets{},
		Pace:    time.Hour,
		Start: func(n *bubble.Node) error {
			if n.Self() == 1 {
				s := rpc.NewServer()
				l, err := listen(n, ":9")
				if err != nil {
					return err
				}
				log.SetOutput(io.Discard)
				if err := s.Register(Adder{}); err != nil {
					return err
				}
				s.Accept(l)
				return nil
			}
			time.Sleep(10 * time.Millisecond)
			c, err := rpc.Dial("tcp", "node1:9")
			if err != nil {
				return err
			}
			defer c.Close()
			for i := range 10 {
				var sum int
				if err := c.Call("Adder.Add", [2]int{i, 4}, &sum); err != nil || sum != i+4 {
					return fmt.Errorf("%d, %w", sum, err)
				}
			}
			return nil
		},
	}
	whole := typesOf(t, cluster)
	if whole["Adder.Add"] != 10 || whole["Adder.Add answer"] != 10 || whole["connect"] != 1 || whole["data"] != 0 {
		t.Error(whole)
	}
	cluster.Network = bubble.Sockets{Split: 1}
	parts := typesOf(t, cluster)
	if parts["Adder.Add (1/2)"] != 10 || parts["Adder.Add (2/2)"] != 10 || parts["Adder.Add answer (1/2)"] != 10 ||
		parts["Adder.Add"] != 0 {
		t.Error(parts)
	}
	cluster.Network = bubble.Sockets{Split: 0.5}
	if r, err := bubble.Repetition(t.Context(), lockstep.Plan{System: cluster, Strategy: fair, Seed: 3},
		20); err != nil || r.Same != 20 {
		t.Errorf("%d of 20 runs repeated, the first that did not is %d, %v", r.Same, r.First, err)
	}
}

// A socket that nodes share through a package-level variable is reported.
func TestSharedSocket(t *testing.T) {
	var mutex sync.Mutex
	var pool net.Conn // a connection that all nodes use
	cluster := bubble.Cluster{Name: "shared", Nodes: 3, Network: bubble.Sockets{}, Pace: time.Hour,
		Begin: func(*bubble.World) { pool = nil },
		Start: func(n *bubble.Node) error {
			if n.Self() == 1 {
				return echo(n)
			}
			time.Sleep(time.Duration(n.Self()) * time.Second)
			mutex.Lock()
			defer mutex.Unlock()
			if pool == nil {
				var err error
				if pool, err = net.Dial("tcp", "node1:7"); err != nil {
					return err
				}
			}
			_, err := fmt.Fprintln(pool, "hello from", n.Self())
			return err
		}}
	list := campaign(t, lockstep.Plan{System: cluster, Strategy: fair, Runs: 2, Seed: 5}).Nondeterminism
	if len(list) != 1 || !strings.HasPrefix(list[0], "a socket of node 2 is used by another node (node 3) in ") ||
		!strings.Contains(list[0], "TestSharedSocket") {
		t.Errorf("%q", list)
	}
}
