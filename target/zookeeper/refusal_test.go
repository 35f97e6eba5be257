package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// fake is a server without keys. It reports its mode and its last transaction, and accepts sessions of clients that
// have seen no later one.
type fake struct {
	address  string
	log      *process.Log
	listener net.Listener

	mutex sync.Mutex
	mode  string
	last  Zxid
	conns []net.Conn
}

func newFake(t *testing.T, mode string, last Zxid) *fake {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{address: listener.Addr().String(), log: &process.Log{}, listener: listener, mode: mode, last: last}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			f.mutex.Lock()
			f.conns = append(f.conns, conn)
			f.mutex.Unlock()
			serving.Go(func() {
				defer conn.Close()
				_ = f.serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		f.becomes("", 0)
		serving.Wait()
	})
	return f
}

// becomes ends all connections, and restarts the server with another last transaction.
func (f *fake) becomes(mode string, last Zxid) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.mode, f.last = mode, last
	for _, c := range f.conns {
		_ = c.Close()
	}
	f.conns = nil
}

func (f *fake) state() (string, Zxid) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.mode, f.last
}

func (f *fake) serve(conn net.Conn) error {
	mode, last := f.state()
	var length [4]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return err
	}
	if string(length[:]) == "srvr" {
		if mode == "" {
			_, err := io.WriteString(conn, "This ZooKeeper instance is not currently serving requests\n")
			return err
		}
		_, err := fmt.Fprintf(conn, "Zookeeper version: 0\nZxid: %s\nMode: %s\nNode count: 5\n", last, mode)
		return err
	}
	request := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(conn, request); err != nil {
		return err
	}
	if seen := Zxid(binary.BigEndian.Uint64(request[4:])); seen > last {
		fmt.Fprintf(
			f.log,
			"INFO ZooKeeperServer: Refusing session request for client /127.0.0.1:1 as it has seen zxid %s our last zxid "+
				"is %s client must try another server\n",
			seen,
			last,
		)
		return errors.New("refused")
	}
	answer := binary.BigEndian.AppendUint32(nil, 36)
	answer = binary.BigEndian.AppendUint32(answer, 0)      // the protocol
	answer = binary.BigEndian.AppendUint32(answer, 60_000) // of the session, in milliseconds
	answer = binary.BigEndian.AppendUint64(answer, 1)      // its number
	answer = binary.BigEndian.AppendUint32(answer, 16)
	if _, err := conn.Write(append(answer, make([]byte, 16)...)); err != nil {
		return err
	}
	for { // every read finds nothing
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return err
		}
		request := make([]byte, binary.BigEndian.Uint32(length[:]))
		if _, err := io.ReadFull(conn, request); err != nil {
			return err
		}
		answer := binary.BigEndian.AppendUint32(nil, 16)
		answer = append(answer, request[:4]...)
		answer = binary.BigEndian.AppendUint64(answer, uint64(last))
		answer = binary.BigEndian.AppendUint32(answer, 1<<32-101) // ZNONODE
		if _, err := conn.Write(answer); err != nil {
			return err
		}
	}
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for !is() {
		if err := process.Sleep(t.Context(), time.Millisecond); err != nil {
			t.Fatalf("not %s: %v", what, err)
		}
	}
}

// met creates a client that has seen the transactions of a server.
func met(t *testing.T, f *fake) *client {
	t.Helper()
	c, err := newClient(1, f.address)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "served", c.connected)
	if _, err := c.readAll(t.Context()); !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	return c
}

// A client that has seen a later transaction than its server has is refused while the server serves, and served after
// the server caught up.
func TestRefused(t *testing.T) {
	f := newFake(t, "leader", 0x400000000)
	c := met(t, f)
	defer c.gone.Wait()
	defer c.close()
	if c.refused() != 0 {
		t.Error("refused, and was served")
	}
	f.becomes("follower", 0x200000001)
	until(t, "refused", func() bool { return c.refused() > 0 })
	if c.connected() {
		t.Error("refused and served")
	}
	ctx, cancel := context.WithTimeout(t.Context(), asking)
	defer cancel()
	if _, err := c.readAll(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("what is asked without a session: %v", err)
	}
	f.becomes("", 0x200000001)
	until(t, "forgotten while it does not serve", func() bool { return c.refused() == 0 })
	f.becomes("follower", 0x200000001)
	until(t, "refused", func() bool { return c.refused() > 0 })
	f.becomes("follower", 0x500000001)
	until(t, "served", c.connected)
	if c.refused() != 0 {
		t.Error("served and refused")
	}
}

// Between two attempts a client pauses, unless it had a session in between.
func TestPause(t *testing.T) {
	f := newFake(t, "follower", 0)
	c := &client{number: 1, server: f.address}
	c.ctx, c.quit = context.WithCancel(t.Context())
	dial := func() {
		t.Helper()
		conn, err := c.dial("tcp", f.address, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	dial()
	if c.refused() != 0 {
		t.Error("refused at once")
	}
	begin := time.Now()
	dial()
	if took := time.Since(begin); took < asking {
		t.Errorf("the second attempt came after %s", took)
	}
	if c.refused() == 0 {
		t.Error("not refused")
	}
	if c.Connected(); c.tried || c.refused() != 0 {
		t.Error("a session is no success")
	}
	dial()
	c.quit()
	if _, err := c.dial("tcp", f.address, time.Minute); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

func TestLastRefusal(t *testing.T) {
	for _, c := range []struct {
		lines []string
		line  string
		seen  Zxid
	}{
		{nil, "", 0},
		{[]string{"INFO NIOServerCnxn: Closed socket"}, "", 0},
		{[]string{"INFO ZooKeeperServer: Refusing session request for client /127.0.0.1:40112 as it has seen zxid " +
			"0x300000000 our last zxid is 0x200000001 client must try another server",
			"INFO ZooKeeperServer: Refusing session request for client /127.0.0.1:40114 as it has seen zxid 0x400000000 " +
				"our last zxid is 0x200000001 client must try another server ", "x"},
			"INFO ZooKeeperServer: Refusing session request for client /127.0.0.1:40114 as it has seen zxid 0x400000000 " +
				"our last zxid is 0x200000001 client must try another server", 0x400000000},
		{[]string{"INFO ZooKeeperServer: Refusing session(0x100000a4c5d0000) request for client /127.0.0.1:9 as it " +
			"has seen zxid 0x3 our last zxid is 0x2 client must try another server"},
			"INFO ZooKeeperServer: Refusing session(0x100000a4c5d0000) request for client /127.0.0.1:9 as it has seen " +
				"zxid 0x3 our last zxid is 0x2 client must try another server", 3},
	} {
		if line, seen := lastRefusal(c.lines); line != c.line || seen != c.seen {
			t.Errorf("%q, %s", line, seen)
		}
	}
}

// refusedRun is a system of fake servers. All but the first come back with earlier transactions than their clients may
// have seen. In each step refused clients change servers.
func refusedRun(t *testing.T, seen, last [3]Zxid) process.System {
	return process.System{
		Name:         "refused",
		Nodes:        3,
		StartTimeout: time.Minute,
		New: func(_ context.Context, servers *process.Deployment) (process.Driver, error) {
			d := &deployment{Deployment: servers, options: Cluster{Nodes: 3, Refusal: time.Millisecond}}
			for i := range seen {
				f := newFake(t, "follower", seen[i])
				c := met(t, f)
				c.number = i + 1
				d.client, d.clients = append(d.client, f.address), append(d.clients, c)
				f.log = &d.Server(lockstep.Node(i + 1)).Log
				f.becomes("follower", last[i])
			}
			all := trace.AllNodes(3)
			return process.Driver{
				// any process will do
				Command:     func(lockstep.Node) (*exec.Cmd, error) { return exec.Command("sleep", "600"), nil },
				Request:     func(context.Context, *lockstep.Step, *lockstep.Outbox) error { return nil },
				Ready:       d.answers,
				MustBeReady: func(*lockstep.Outbox) lockstep.Nodes { return all },
				Advance: func(ctx context.Context, _ time.Duration, agreed lockstep.Nodes, out *lockstep.Outbox) error {
					if err := d.reseat(ctx, agreed, out); err != nil || !out.Settling() {
						return err
					}
					return d.Await(ctx, all, time.Minute,
						func(_ context.Context, n lockstep.Node) bool { return d.clients[n-1].connected() })
				},
			}, nil
		},
	}
}

// Refused clients change servers, if others can accept them. If that is finally impossible, a report says what they
// have seen, and all are served then.
func TestClientComesBack(t *testing.T) {
	for name, c := range map[string]struct {
		seen, last [3]Zxid
		settle     int
		refused    int
		want       string
	}{
		"no client is refused": {[3]Zxid{5, 5, 5}, [3]Zxid{5, 5, 5}, 2, 0, ""},
		"two change servers":   {[3]Zxid{2, 4, 2}, [3]Zxid{5, 2, 2}, 2, 1, ""},
		"two cannot both be with 1": {[3]Zxid{2, 4, 3}, [3]Zxid{5, 2, 2}, 2, 2,
			"a client is left over: server 1 has 0x5, server 2 has 0x2, server 3 has 0x2; client 2 has seen 0x4, client " +
				"3 has seen 0x3; server 2 refuses client 2 and logs \"INFO "},
		"not in the end": {[3]Zxid{2, 4, 3}, [3]Zxid{5, 2, 2}, 0, 2, ""},
		"a client that no server accepts": {
			[3]Zxid{2, 6, 2},
			[3]Zxid{5, 2, 2},
			2,
			1,
			"client 2 has seen 0x6; server 2 refuses client 2 and logs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := lockstep.Plan{
				System:   refusedRun(t, c.seen, c.last),
				Spec:     Returns,
				Workers:  1,
				Settle:   c.settle,
				Strategy: strategy.Walk{Wait: 1, Steps: 1},
				Scratch:  t.TempDir(),
			}
			tr, err := lockstep.Record(t.Context(), plan, 0)
			if err != nil {
				t.Fatal(err)
			}
			refused := 0
			for _, e := range tr.Records[1].Events {
				if e.Type == EventRefused {
					refused++
				}
			}
			f := tr.Outcome.Finding
			if refused != c.refused || (f != nil) != (c.want != "") || f != nil && !strings.Contains(f.Text, c.want) {
				t.Errorf("%d were refused, %v", refused, f)
			}
		})
	}
}

// without finds an assignment whenever some permutation of clients has no bad pair, and its result has none.
func TestSeats(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	can := 0
	for range 5000 {
		n := 1 + r.IntN(4)
		var wrong [4][4]bool
		for i := range wrong {
			for j := range wrong[i] {
				wrong[i][j] = r.IntN(2) == 0
			}
		}
		fits := func(s seats) bool {
			for server, client := range s {
				if wrong[client][server] {
					return false
				}
			}
			return true
		}
		now := seats(r.Perm(n))
		var any func(s seats, rest []int) bool // searches all assignments
		any = func(s seats, rest []int) bool {
			for i, client := range rest {
				if any(append(s, client), slices.Delete(slices.Clone(rest), i, i+1)) {
					return true
				}
			}
			return len(rest) == 0 && fits(s)
		}
		next, ok := now.without(func(client, server int) bool { return wrong[client][server] })
		all := []int{0, 1, 2, 3}[:n]
		if want := any(nil, all); ok != want {
			t.Fatalf("%v: %v, want %v", wrong, ok, want)
		}
		if ok {
			can++
			if sorted := slices.Sorted(slices.Values(next)); !fits(next) || !slices.Equal(sorted, all) ||
				fits(now) && !slices.Equal(now, next) {
				t.Fatalf("%v: %v becomes %v", wrong, now, next)
			}
		}
	}
	if can < 500 || can > 4500 {
		t.Errorf("%d of 5000 can be seated", can)
	}
}
