package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/enginetest"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// fake is a server that has no keys. It tells its mode and its last transaction, and takes sessions of clients that have seen no more.
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

// becomes ends all connections, and lets the server come back with another last transaction.
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
		fmt.Fprintf(f.log, "INFO ZooKeeperServer: Refusing session request for client /127.0.0.1:1 as it has seen zxid %s our last zxid is %s client must try another server\n", seen, last)
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
	for { // there is nothing to be found
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

// until waits for something.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for !is() {
		if err := process.Pass(t.Context(), time.Millisecond); err != nil {
			t.Fatalf("not %s: %v", what, err)
		}
	}
}

// met makes a client that has seen what a server has.
func met(t *testing.T, f *fake) *client {
	t.Helper()
	c, err := newClient(f.address)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "served", c.connected)
	if _, err := c.readAll(t.Context()); !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	return c
}

// A client that has seen more than its server has is refused while the server serves, and served when it has caught up.
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
	c := &client{server: f.address, quit: make(chan struct{})}
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
	close(c.quit)
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
		{[]string{"INFO ZooKeeperServer: Refusing session request for client /127.0.0.1:40112 as it has seen zxid 0x300000000 our last zxid is 0x200000001 client must try another server",
			"INFO ZooKeeperServer: Refusing session request for client /127.0.0.1:40114 as it has seen zxid 0x400000000 our last zxid is 0x200000001 client must try another server ", "x"},
			"INFO ZooKeeperServer: Refusing session request for client /127.0.0.1:40114 as it has seen zxid 0x400000000 our last zxid is 0x200000001 client must try another server", 0x400000000},
		{[]string{"INFO ZooKeeperServer: Refusing session(0x100000a4c5d0000) request for client /127.0.0.1:9 as it has seen zxid 0x3 our last zxid is 0x2 client must try another server"},
			"INFO ZooKeeperServer: Refusing session(0x100000a4c5d0000) request for client /127.0.0.1:9 as it has seen zxid 0x3 our last zxid is 0x2 client must try another server", 3},
	} {
		if line, seen := lastRefusal(c.lines); line != c.line || seen != c.seen {
			t.Errorf("%q, %s", line, seen)
		}
	}
}

// refusedRun is a system of fake servers, the second of which comes back with less than its client has seen. In each step refused clients are noted.
type refusedRun struct {
	enginetest.Told
	t      *testing.T
	leader Zxid // what the leader has
}

func (r refusedRun) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "refused", Nodes: 3, Supports: trace.KindsOf(trace.Wait)}, nil
}

func (r refusedRun) Deploy(place *lockstep.Place) (lockstep.Deployment, error) {
	servers, err := process.NewCluster(place, 3, false)
	if err != nil {
		return nil, err
	}
	d := &deployment{Cluster: servers, options: Cluster{Nodes: 3, Refusal: 1}}
	for i, last := range []Zxid{r.leader, 0x400000000, 0x200000001} {
		f := newFake(r.t, "follower", last)
		d.client, d.clients = append(d.client, f.address), append(d.clients, met(r.t, f))
		if i == 1 {
			f.log = &d.Server(2).Log
			f.becomes("follower", 0x200000001)
		}
	}
	return refusedDeployment{d, r.t}, nil
}

type refusedDeployment struct {
	*deployment
	t *testing.T
}

func (r refusedDeployment) Reset(context.Context, uint64, *lockstep.Outbox) error { return nil }

func (r refusedDeployment) Do(ctx context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
	all, refused := trace.AllNodes(3), r.clients[1]
	if !refused.connected() {
		until(r.t, "refused", func() bool { return r.refuses(ctx, 2, all) && len(r.Server(2).Log.Last(1)) > 0 })
	}
	if err := r.note(ctx, all, out); err != nil {
		return err
	}
	if replaced := r.clients[1] != refused; replaced != out.Settling() && !r.clients[1].connected() {
		r.t.Errorf("replaced: %v, in the end: %v", replaced, out.Settling())
	}
	if out.Settling() {
		until(r.t, "served", r.clients[1].connected)
	}
	return nil
}

// A client that is refused by all in the end is told with what it has seen, and gets a new session. One that another server would take, or that was refused
// before, is no finding.
func TestClientComesBack(t *testing.T) {
	for name, c := range map[string]struct {
		leader Zxid
		settle int
		want   string
	}{
		"by its server":  {0x500000000, 2, ""},
		"by all":         {0x300000000, 2, "3 has 0x200000001; no server would take it; it logged"},
		"not in the end": {0x500000000, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := lockstep.Explore(t.Context(), lockstep.Plan{System: refusedRun{t: t, leader: c.leader}, Spec: Returns, Runs: 1, Workers: 1, Settle: c.settle,
				Strategy: strategy.Walk{Wait: 1, Steps: 1}, Scratch: t.TempDir(), Repetitions: 1})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case c.want == "" && len(result.Found) > 0:
				t.Error(result.Found[0].Finding.Text)
			case c.want != "" && (len(result.Found) != 1 || !strings.Contains(result.Found[0].Finding.Text, c.want)):
				t.Errorf("%v %v", result.Verdicts, result.Found)
			}
		})
	}
}
