package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/trace"
	"go.uber.org/goleak"
)

// The server of these tests is this program: it answers lines.
const serverVariable = "LOCKSTEP_PROCESS_TEST"

func TestMain(m *testing.M) {
	if address := os.Getenv(serverVariable); address != "" {
		if orders := os.Getenv(hostVariable); orders != "" {
			hostEchoes(orders, address)
		}
		serve(address)
		return
	}
	if dir := os.Getenv(motherVariable); dir != "" {
		mother(dir, os.Getenv(storeVariable))
		return
	}
	if os.Getenv(cacheVariable) != "" {
		fillUntilKilled()
		return
	}
	goleak.VerifyTestMain(m)
}

// serve answers "echo X" with X, "dial ADDRESS X" with the answer of the server there to "X", and ends on "end".
func serve(address string) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("listening")
	for {
		conn, err := listener.Accept()
		if err != nil {
			os.Exit(1)
		}
		go func() {
			defer conn.Close()
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				verb, rest, _ := strings.Cut(lines.Text(), " ")
				switch verb {
				case "echo":
					fmt.Fprintln(conn, rest)
				case "dial":
					to, line, _ := strings.Cut(rest, " ")
					answer, err := processes.Ask(context.Background(), to, line)
					if err != nil {
						answer = "error: " + err.Error()
					}
					fmt.Fprintln(conn, answer)
				case "end":
					fmt.Println("I was asked to end")
					os.Exit(3)
				}
			}
		}()
	}
}

// echoes reports whether a server answers.
func echoes(address string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		answer, err := processes.Ask(ctx, address, "echo hello")
		return err == nil && answer == "hello"
	}
}

func command(address string) *exec.Cmd { return processes.Self(serverVariable + "=" + address) }

// supervised returns a supervisor and a running server.
func supervised(t *testing.T) (s *Supervisor, v *Server, address string) {
	t.Helper()
	s, err := NewSupervisor(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if v, err = s.Server("one"); err != nil {
		t.Fatal(err)
	}
	address = s.Port()
	begin(t, v, address)
	return s, v, address
}

func begin(t *testing.T, v *Server, address string) {
	t.Helper()
	if err := v.Start(command(address)); err != nil {
		t.Fatal(err)
	}
	if err := v.Await(t.Context(), echoes(address)); err != nil {
		t.Fatal(err)
	}
}

// network creates a network of two nodes, and a link from 1 to 2, where a server is.
func network(t *testing.T, b Breakage, to string, s *Supervisor) (*Network, *Link, string) {
	t.Helper()
	n := NewNetwork(2, b, nil)
	t.Cleanup(func() { _ = n.Close() })
	address := s.Port()
	l, err := n.Link(1, 2, address, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n, l, address
}

// listens waits until a link accepts connections, or refuses them.
func listens(t *testing.T, l *Link, want bool) {
	t.Helper()
	processes.Until(func() bool {
		is, err := l.Listens()
		if err != nil {
			t.Fatal(err)
		}
		return is == want
	})
}

// one cuts 1 off from 2, but not 2 from 1.
func one(from lockstep.Node) lockstep.Nodes {
	if from == 1 {
		return trace.NodesOf(2)
	}
	return 0
}

// back cuts 2 off from 1, but not 1 from 2.
func back(from lockstep.Node) lockstep.Nodes {
	if from == 2 {
		return trace.NodesOf(1)
	}
	return 0
}

func TestServer(t *testing.T) {
	s, v, address := supervised(t)
	if err := v.Start(command(address)); err == nil || !strings.Contains(err.Error(), "one is running") {
		t.Errorf("a second time: %v", err)
	}
	if err := s.Check(); err != nil || v.Pid() == 0 || !v.Running() {
		t.Errorf("%v, process %d", err, v.Pid())
	}
	if got := v.Log.Last(5); len(got) != 1 || got[0] != "listening" {
		t.Errorf("the log is %q", got)
	}
	v.Kill()
	if v.Running() || v.Pid() != 0 || s.Check() != nil {
		t.Errorf("killed, but %v", s.Check())
	}
	begin(t, v, address)
	_, _ = processes.Ask(t.Context(), address, "end")
	processes.Until(func() bool { return s.Check() != nil })
	if err := s.Check().Error(); !strings.Contains(err, "one ended unexpectedly: exit status 3") ||
		!strings.Contains(err, "I was asked to end") {
		t.Error(err)
	}
	if err := v.Await(t.Context(), func(context.Context) bool { return false }); err == nil ||
		!strings.Contains(err.Error(), "ended unexpectedly") {
		t.Error(err)
	}
	v.Kill()
	begin(t, v, address)
	v.Stop(t.Context())
	if v.Running() {
		t.Error("stopped, but it runs")
	}
}

// A server that is not ready in time is reported with the end of its log; so is one that takes too much memory.
func TestServerIsNotReady(t *testing.T) {
	s, v, _ := supervised(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no timeout"))
	if err := v.Await(ctx, func(context.Context) bool { return false }); err == nil ||
		!strings.Contains(err.Error(), "one is not ready: no timeout; the end of its log:\n\tlistening") {
		t.Error(err)
	}
	s.Memory = 1
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "allowed are 0") {
		t.Error(err)
	}
	v.Kill()
	if err := v.Start(exec.Command("no-such-program-anywhere")); err == nil ||
		!strings.Contains(err.Error(), "no-such-program-anywhere") {
		t.Error(err)
	}
	if err := v.Await(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "is not running") {
		t.Error(err)
	}
}

// No two deployments have the same address, in one process or in several.
func TestAddresses(t *testing.T) {
	a, err := NewSupervisor(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	deployments.Add(253) // the next would be the same
	b, err := NewSupervisor(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	first, second := a.Port(), a.Port()
	if a.Address == b.Address || first == second {
		t.Errorf("%s and %s", a.Address, b.Address)
	}
	deployments.Add(253) // the next would be that of b
	more, err := a.AnotherAddress()
	if err != nil || more == a.Address || more == b.Address {
		t.Errorf("%s besides %s and %s, %v", more, a.Address, b.Address, err)
	}
	for _, pid := range []int{1, 255, 256, 65023, 65024, 4194303} {
		if ip := net.ParseIP(address(pid, 7)); !ip.IsLoopback() || ip.Equal(net.IPv4(127, 0, 0, 1)) {
			t.Errorf("process %d has %s", pid, ip)
		}
	}
}

func TestLog(t *testing.T) {
	var l Log
	fmt.Fprint(&l, "a\r\nb", "c\n")
	fmt.Fprint(&l, strings.Repeat("x", 3*keptBytes), "\nunfinished")
	got := l.Last(10)
	if len(got) != 3 || got[0] != "a" || got[1] != "bc" || got[2] != strings.Repeat("x", keptBytes) {
		t.Errorf("%q", got)
	}
	fresh, mark := l.Since(1)
	if len(fresh) != 2 || mark != 3 {
		t.Errorf("%q, %d", fresh, mark)
	}
	for i := range 10 * keptLines {
		fmt.Fprintln(&l, i)
	}
	fresh, mark = l.Since(mark)
	if len(fresh) != keptLines || mark != 3+10*keptLines || fresh[keptLines-1] != fmt.Sprint(10*keptLines-1) ||
		len(l.lines) > 2*keptLines {
		t.Errorf("%d lines of %d", len(fresh), mark)
	}
	if fresh, _ = l.Since(mark); len(fresh) != 0 {
		t.Errorf("%q", fresh)
	}
}

// A link accepts connections exactly while its server listens.
func TestFollows(t *testing.T) {
	s, v, address := supervised(t)
	_, l, via := network(t, Closes, address, s)
	listens(t, l, true)
	if answer, err := processes.Ask(t.Context(), via, "echo  two  words "); answer != " two  words " || err != nil {
		t.Errorf("%q, %v", answer, err)
	}
	v.Kill()
	listens(t, l, false)
	if _, err := processes.Ask(t.Context(), via, "echo x"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("while the server is down: %v", err)
	}
	begin(t, v, address)
	listens(t, l, true)
	if answer, err := processes.Ask(t.Context(), via, "echo x"); answer != "x" || err != nil {
		t.Errorf("%q, %v", answer, err)
	}
	processes.Until(func() bool { return l.Connections() == 0 })
}

// A killed server keeps no client waiting that dials it, directly or through a link. Every client sees the end before
// the server starts again.
func TestKilledUnderDials(t *testing.T) {
	tier.NotShort(t)
	for _, breakage := range []Breakage{Closes, Stalls} {
		s, v, address := supervised(t)
		_, l, via := network(t, breakage, address, s)
		for range 10 {
			listens(t, l, true)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			var asked atomic.Int64
			var all sync.WaitGroup
			for _, at := range []string{address, via, via, via} {
				all.Go(func() {
					for {
						if _, err := processes.Ask(ctx, at, "echo x"); err != nil {
							break
						}
						asked.Add(1)
					}
					if ctx.Err() != nil {
						t.Errorf("%s keeps a client waiting", at)
					}
				})
			}
			processes.Until(func() bool { return asked.Load() > 20 })
			v.Kill()
			all.Wait()
			cancel()
			begin(t, v, address)
		}
	}
}

// A cut in either direction closes connections and refuses new ones.
func TestCutCloses(t *testing.T) {
	s, _, address := supervised(t)
	n, l, via := network(t, Closes, address, s)
	for i, cut := range []func(lockstep.Node) lockstep.Nodes{one, back} {
		listens(t, l, true)
		conn := dial(t, via)
		said(t, conn, "before")
		n.Cut(cut)
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%d: the connection is not reset: %v", i, err)
		}
		if _, err := processes.Ask(t.Context(), via, "echo x"); err == nil ||
			!strings.Contains(err.Error(), "refused") {
			t.Errorf("%d: under a cut: %v", i, err)
		}
		n.Cut(NoCuts)
	}
	listens(t, l, true)
	said(t, dial(t, via), "after")
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// said sends text on a connection and expects its echo.
func said(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	fmt.Fprintln(conn, "echo "+text)
	heard(t, conn, text)
}

func heard(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	got := make([]byte, len(text)+1)
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != text+"\n" {
		t.Errorf("%q, %v; want %q", got, err, text)
	}
}

// silent reports whether nothing arrives for a moment. It may miss late data.
func silent(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	defer conn.SetReadDeadline(time.Time{})
	_, err := conn.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// Under a cut that stalls, nothing arrives in its direction. After the heal, everything arrives, in order. The same is
// true of a link that is held.
func TestStalls(t *testing.T) {
	s, _, address := supervised(t)
	n, l, via := network(t, Stalls, address, s)
	listens(t, l, true)
	conn := dial(t, via)
	said(t, conn, "before")
	for name, stall := range map[string]func(bool){
		"there": func(on bool) { n.Cut(map[bool]func(lockstep.Node) lockstep.Nodes{true: one, false: NoCuts}[on]) },
		"back":  func(on bool) { n.Cut(map[bool]func(lockstep.Node) lockstep.Nodes{true: back, false: NoCuts}[on]) },
		"held":  func(on bool) { n.Hold(1, 2, on) },
	} {
		t.Run(name, func(t *testing.T) {
			stall(true)
			fmt.Fprint(conn, "echo a\necho b\n")
			fresh := dial(t, via)
			fmt.Fprintln(fresh, "echo c")
			if !silent(conn) || !silent(fresh) {
				t.Error("something arrives")
			}
			stall(false)
			heard(t, conn, "a")
			heard(t, conn, "b")
			heard(t, fresh, "c")
		})
	}
}

// stalling returns a network that stalls, with a link to a listener of the test.
func stalling(t *testing.T) (listener net.Listener, n *Network, l *Link, via string) {
	t.Helper()
	s, err := NewSupervisor(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if listener, err = net.Listen("tcp", s.Port()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	n, l, via = network(t, Stalls, listener.Addr().String(), s)
	listens(t, l, true)
	return listener, n, l, via
}

// A reset is a packet, too: under a cut that stalls, it does not arrive in the direction of the cut until the heal. In
// the other direction it arrives at once.
func TestStallsResets(t *testing.T) {
	listener, n, l, via := stalling(t)
	for _, c := range []struct {
		cut    func(lockstep.Node) lockstep.Nodes
		far    bool // the server resets the connection
		stalls bool
		writes bool // the other side continues to write
	}{
		{one, false, true, false},
		{one, false, true, true},
		{back, false, false, false},
		{one, true, false, false},
		{back, true, true, false},
		{back, true, true, true},
	} {
		near := dial(t, via)
		far, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(near, "hello")
		heard(t, far, "hello")
		n.Cut(c.cut)
		breaking, other := near, far
		if c.far {
			breaking, other = far, near
		}
		reset(breaking.(*net.TCPConn))
		if c.stalls && !silent(other) {
			t.Errorf("%+v: the reset arrives", c)
		}
		if c.writes {
			for range 3 {
				fmt.Fprintln(other, "what becomes of this?")
				if !silent(other) {
					t.Errorf("%+v: the reset arrives where something is written", c)
				}
			}
		}
		if c.stalls {
			n.Cut(NoCuts)
		}
		if _, err := other.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%+v: the connection is not reset: %v", c, err)
		}
		n.Cut(NoCuts)
		_ = far.Close()
	}
	processes.Until(func() bool { return l.Connections() == 0 })
}

// The stream arrives byte for byte as it was sent, through cuts that stall and delays. The end of the stream arrives
// last.
func TestKeepsOrder(t *testing.T) {
	listener, n, l, via := stalling(t)
	sent := make([]byte, 3<<20)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(sent)
	got := make(chan []byte)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			close(got)
			return
		}
		defer conn.Close()
		all, _ := io.ReadAll(conn)
		got <- all
		_, _ = conn.Write(all) // echoed when the other half is closed
	}()
	conn := dial(t, via)
	go func() {
		_, _ = conn.Write(sent)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	r := rand.New(rand.NewPCG(1, 1))
	for range 40 {
		n.Cut([]func(lockstep.Node) lockstep.Nodes{one, NoCuts, back}[r.IntN(3)])
		n.Delay(1, 2, time.Duration(r.IntN(3))*time.Millisecond)
		time.Sleep(time.Millisecond)
	}
	n.Cut(NoCuts)
	if there := <-got; !bytes.Equal(there, sent) {
		t.Errorf("%d of %d bytes arrived, or others", len(there), len(sent))
	}
	if again, err := io.ReadAll(conn); err != nil || !bytes.Equal(again, sent) {
		t.Errorf("%d of %d bytes came back, %v", len(again), len(sent), err)
	}
	processes.Until(func() bool { return l.Connections() == 0 })
}

// Delayed data does not arrive early.
func TestDelay(t *testing.T) {
	s, _, address := supervised(t)
	n, l, via := network(t, Closes, address, s)
	listens(t, l, true)
	conn := dial(t, via)
	n.Delay(1, 2, 40*time.Millisecond)
	n.Delay(2, 1, 20*time.Millisecond)
	begin := time.Now()
	said(t, conn, "slow")
	if took := time.Since(begin); took < 60*time.Millisecond {
		t.Errorf("there and back in %s", took)
	}
}

// A greeting is rewritten, and the rest is carried unchanged.
func TestGreeting(t *testing.T) {
	s, _, address := supervised(t)
	n := NewNetwork(2, Closes, nil)
	defer n.Close()
	via := s.Port()
	l, err := n.Link(1, 2, via, address, func(from, to io.ReadWriter) error {
		four := make([]byte, 4)
		if _, err := io.ReadFull(from, four); err != nil {
			return err
		}
		if string(four) == "!!!!" {
			return errors.New("not that")
		}
		_, err := io.WriteString(to, "echo "+strings.ToUpper(string(four)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	listens(t, l, true)
	if answer, err := processes.Ask(t.Context(), via, "more words"); answer != "MORE words" || err != nil {
		t.Errorf("%q, %v", answer, err)
	}
	if answer, err := processes.Ask(t.Context(), via, "!!!! words"); err == nil {
		t.Errorf("a greeting that fails: %q", answer)
	}
}

// If all nodes dial the same link, the network identifies each of them.
func TestDiallers(t *testing.T) {
	s, err := NewSupervisor(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var servers []*Server
	var addresses []string
	for i := range 3 {
		v, err := s.Server(fmt.Sprint("node", i+1))
		if err != nil {
			t.Fatal(err)
		}
		servers, addresses = append(servers, v), append(addresses, s.Port())
		begin(t, v, addresses[i])
	}
	n := NewNetwork(3, Closes, func(pid int) lockstep.Node {
		for i, v := range servers {
			if pid != 0 && v.Pid() == pid {
				return lockstep.Node(i + 1)
			}
		}
		return 0
	})
	defer n.Close()
	via := s.Port()
	l, err := n.Link(0, 3, via, addresses[2], nil)
	if err != nil {
		t.Fatal(err)
	}
	listens(t, l, true)
	n.Cut(func(from lockstep.Node) lockstep.Nodes {
		if from == 2 {
			return trace.NodesOf(3)
		}
		return 0
	})
	for i, want := range []string{"through", "error: "} {
		answer, err := processes.Ask(t.Context(), addresses[i], "dial "+via+" echo through")
		if err != nil || !strings.HasPrefix(answer, want) {
			t.Errorf("node %d: %q, %v", i+1, answer, err)
		}
	}
	// this test is no node, and never cut off
	if answer, err := processes.Ask(t.Context(), via, "echo me"); answer != "me" || err != nil {
		t.Errorf("%q, %v", answer, err)
	}
	for i, want := range map[int]bool{2: false, 0: true} { // a connection of a node to itself bypasses no link
		go func() { _, _ = processes.Ask(t.Context(), addresses[i], "dial "+addresses[2]+" wait") }()
		processes.Until(func() bool {
			return len(dials([]int{servers[i].Pid()}, []*net.TCPAddr{tcp(t, addresses[2])})) > 0
		})
		if err := n.CheckBypass([]int{servers[i].Pid()}); (err != nil) != want {
			t.Errorf("node %d: %v", i+1, err)
		}
	}
}

// A connection that bypasses a link is detected; one through the link is not taken for such.
func TestDirect(t *testing.T) {
	s, v, address := supervised(t)
	other, err := s.Server("two")
	if err != nil {
		t.Fatal(err)
	}
	from := s.Port()
	begin(t, other, from)
	n, l, via := network(t, Closes, address, s)
	listens(t, l, true)
	for _, c := range []struct {
		to   string
		want bool
	}{{via, false}, {address, true}} {
		n.Hold(2, 1, true) // so that the answer has not arrived yet
		go func() { _, _ = processes.Ask(t.Context(), from, "dial "+c.to+" wait") }()
		processes.Until(func() bool {
			return len(dials([]int{other.Pid()}, []*net.TCPAddr{tcp(t, c.to)})) > 0
		})
		if err := n.CheckBypass([]int{v.Pid(), other.Pid()}); (err != nil) != c.want {
			t.Errorf("dialling %s: %v", c.to, err)
		}
	}
}

func tcp(t *testing.T, address string) *net.TCPAddr {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestWrongLinks(t *testing.T) {
	n := NewNetwork(2, Closes, nil)
	defer n.Close()
	for _, c := range []struct {
		from, to lockstep.Node
		target   string
		want     string
	}{
		{1, 3, "127.0.0.1:1", "there are 1..2"},
		{1, 1, "127.0.0.1:1", "there are 1..2"},
		{0, 1, "127.0.0.1:1", "needs the function owner"},
		{1, 2, "192.0.2.1:80", "192.0.2.1:80 is not on the loopback"},
		{1, 2, "nothing", "missing port"},
	} {
		if _, err := n.Link(c.from, c.to, "127.0.0.1:0", c.target, nil); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestSpent(t *testing.T) {
	s := Spent{Starting: 3 * time.Second, Waiting: time.Second}
	s.Add(Spent{Working: time.Second})
	_ = Timed(&s.Working, func() error { return nil })
	if got := s.String(); got != "starting 60 %, waiting 20 %, working 20 %" {
		t.Error(got)
	}
}
