//go:build !lockstep_overlay

package nats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// machines are a cluster of real servers: no engine, no overlay, real time.
type machines struct {
	t       *testing.T
	options []*server.Options
	up      []*server.Server // nil: down
}

// gather starts so many servers, and waits until they have a leader that knows them all.
func gather(t *testing.T, count int) *machines {
	t.Helper()
	m := &machines{t: t, up: make([]*server.Server, count)}
	var routes []*url.URL
	for i, port := range free(t, count) {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
		account := server.NewAccount(server.DEFAULT_SYSTEM_ACCOUNT)
		m.options = append(m.options, &server.Options{
			ServerName: fmt.Sprint("n", i+1), Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: t.TempDir(), JetStreamMaxMemory: 1 << 28, JetStreamMaxStore: 1 << 28,
			Accounts: []*server.Account{account}, SystemAccount: account.Name,
			Users:      []*server.User{{Username: system, Password: system, Account: account}, {Username: everybody}},
			NoAuthUser: everybody, Cluster: server.ClusterOpts{Name: "lockstep", Host: "127.0.0.1", Port: port},
		})
	}
	all := make([]int, count)
	for i := range m.options {
		m.options[i].Routes, all[i] = routes, i
	}
	m.start(all...)
	t.Cleanup(func() { m.stop(all...) })
	m.until("all servers know each other", func() bool {
		at := m.leader()
		return at >= 0 && len(meta(m.up[at]).Peers()) == count
	})
	return m
}

// free returns unused ports.
func free(t *testing.T, count int) (ports []int) {
	t.Helper()
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // at the end, otherwise the next port might be the same
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// start starts servers, from their files if they have some.
func (m *machines) start(which ...int) {
	m.t.Helper()
	for _, i := range which {
		s, err := server.NewServer(m.options[i].Clone())
		if err != nil {
			m.t.Fatal(err)
		}
		m.up[i] = s
		s.Start()
	}
}

// stop stops running servers, all at once.
func (m *machines) stop(which ...int) {
	var all sync.WaitGroup
	for _, i := range which {
		if s := m.up[i]; s != nil {
			m.up[i] = nil
			all.Go(func() {
				s.Shutdown()
				s.WaitForShutdown()
			})
		}
	}
	all.Wait()
}

// until waits for a condition that must become true.
func (m *machines) until(what string, is func() bool) {
	m.t.Helper()
	if !within(600, is) {
		m.t.Fatalf("it never came that %s", what)
	}
}

// within polls a condition every tenth of a second for some attempts, and reports whether it became true.
func within(looks int, is func() bool) bool {
	for range looks {
		if is() {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

// leader is the meta leader, or -1.
func (m *machines) leader() int {
	for i, s := range m.up {
		if s == nil {
			continue
		}
		if group := meta(s); group != nil && group.Leader() {
			return i
		}
	}
	return -1
}

// replicas are the servers that have the stream.
func (m *machines) replicas() (have []int) {
	for i, s := range m.up {
		if s == nil {
			continue
		}
		if _, _, ok := content(s, streamName); ok {
			have = append(have, i)
		}
	}
	return have
}

// connect is a connection to a server.
func (m *machines) connect(to int, as ...natsgo.Option) *natsgo.Conn {
	m.t.Helper()
	conn, err := natsgo.Connect("", append(as, natsgo.InProcessServer(m.up[to]))...)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(conn.Close)
	return conn
}

// roles are the roles of servers in a removal.
type roles struct {
	first   int // the meta leader
	removed int // has a replica of the stream
	others  []int
	gone    string // the ID of the removed one
}

// cast makes a stream with three replicas, and assigns the roles.
func (m *machines) cast() (r roles) {
	m.t.Helper()
	r.first = m.leader()
	js, err := jetstream.New(m.connect(r.first))
	if err != nil {
		m.t.Fatal(err)
	}
	m.until("there is a stream", func() bool {
		ctx, cancel := context.WithTimeout(m.t.Context(), timeout)
		defer cancel()
		_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: streamName, Subjects: []string{"x"}, Replicas: 3})
		return err == nil
	})
	m.until("three have it", func() bool { return len(m.replicas()) == 3 })
	r.removed = m.replicas()[0]
	if r.removed == r.first {
		r.removed = m.replicas()[1]
	}
	r.gone = meta(m.up[r.removed]).ID()
	for i := range m.up {
		if i != r.first && i != r.removed {
			r.others = append(r.others, i)
		}
	}
	return r
}

// removal asks the leader to remove a server.
func (m *machines) removal(r roles) error {
	m.t.Helper()
	as := m.connect(r.first, natsgo.UserInfo(system, system))
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Second)
	defer cancel()
	return request(ctx, as, "SERVER.REMOVE", map[string]string{"peer_id": r.gone})
}

// restored waits until three servers have the stream, or until a timeout, and returns how many have it.
func (m *machines) restored() int {
	within(200, func() bool { return len(m.replicas()) == 3 })
	return len(m.replicas())
}

// The cluster removes a stopped server with a replica of the stream: another server gets a replica in its place.
func TestRemoval(t *testing.T) {
	m := gather(t, 5)
	r := m.cast()
	m.stop(r.removed)
	if err := m.removal(r); err != nil {
		t.Fatal(err)
	}
	if got := m.restored(); got != 3 {
		t.Errorf("%s: %d servers have the stream", Version(), got)
	}
}

// The leader receives the removal and stops after one other server has appended it, before it is committed. That
// server becomes leader and commits the removal. Before v2.15 no server then creates a replica elsewhere.
func TestRemovalDecidedByTheNextLeader(t *testing.T) {
	m := gather(t, 5)
	r := m.cast()
	next, late := r.others[0], r.others[1:]
	m.stop(append(late, r.removed)...)
	before, _, _ := meta(m.up[r.first]).Progress()
	if err := m.removal(r); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("two of five servers have decided it: %v", err)
	}
	index, commit, _ := meta(m.up[r.first]).Progress()
	noted, _, _ := meta(m.up[next]).Progress()
	if noted != index || index == before || commit == index {
		t.Fatalf("the leader has %d, %d before that, %d of them decided, and the next one %d", index, before, commit,
			noted)
	}
	m.stop(r.first)
	m.start(late...)
	m.until("it is decided", func() bool { return m.leader() == next && !has(meta(m.up[next]).Peers(), r.gone) })
	m.start(r.first)

	want := 3
	if strings.HasPrefix(Version(), "v2.12.") || strings.HasPrefix(Version(), "v2.14.") {
		want = 2
	}
	if got := m.restored(); got != want {
		t.Errorf("%s: %d servers have the stream, want %d", Version(), got, want)
	}
}

// has reports whether one of the members has this ID.
func has(members []*server.Peer, id string) bool {
	for _, p := range members {
		if p.ID == id {
			return true
		}
	}
	return false
}
