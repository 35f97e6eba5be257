package etcdserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
)

// The roles of members.
const (
	leader   = "leader"
	follower = "follower"
)

// look is the interval at which a member reports its store, progress the interval of progress notifications.
const (
	look     = 5 * time.Second
	progress = 2 * time.Second
)

// bcrypt is the lowest cost for hashing passwords.
const bcrypt = 4

// shortest is the maximum request size, in bytes, with fragmented watch responses.
const shortest = 512

// The ports on which members listen: to clients, and to each other.
const (
	clientPort = 2379
	peerPort   = 2380
)

// start starts a node, from its files if it has some.
func start(n *bubble.Node, c Cluster) error {
	clients := n.World().Value.(*clients)
	clients.forget(n.Self())
	switch {
	case int(n.Self()) > c.Nodes+c.Spares:
		return clients.visit(n)
	case c.Changes > 0:
		return clients.sit(n)
	}
	m, err := launch(n, c, &seat{})
	if err != nil {
		return err
	}
	select {
	case <-m.Server.ReadyNotify():
	case err := <-m.Err():
		return err
	case <-n.Context().Done():
		return nil
	}
	for {
		err := m.ready(n, c)
		if err == nil || n.Context().Err() != nil {
			break
		}
		if c.Users == 0 { // otherwise a majority must know the user
			return err
		}
		time.Sleep(time.Second)
	}
	clients.know(m.id(), n.Self())
	n.OnRequest(func(id int32, _ string) { clients.given(n, m.client, id) })
	for {
		if err := m.report(n, n.Incarnation(), clients); err != nil {
			return err
		}
		select {
		case <-time.After(look):
		case <-n.Context().Done():
			return nil
		}
	}
}

// visit runs a node that has only clients: they know all members, and turn to another when one fails.
func (s *clients) visit(n *bubble.Node) error {
	client, err := connect(n, s.cluster.root(), s.members()...)
	for err != nil && s.cluster.Users > 0 && n.Context().Err() == nil {
		time.Sleep(time.Second)
		client, err = connect(n, s.cluster.root(), s.members()...)
	}
	if err != nil {
		return err
	}
	n.OnStop(func() { _ = client.Close() })
	n.SetState(func() string { return "clients" })
	n.OnRequest(func(id int32, _ string) { s.given(n, client, id) })
	return nil
}

// member is a running server, with a client that talks to it once it is ready.
type member struct {
	*embed.Etcd
	client *clientv3.Client
	names  atomic.Pointer[map[uint64]string] // of members
	votes  atomic.Bool                       // in the member's own view
	stop   func()
}

// launch starts a server.
func launch(n *bubble.Node, c Cluster, at *seat) (*member, error) {
	conf, err := config(n, c, at)
	if err != nil {
		return nil, err
	}
	server, err := embed.StartEtcd(conf)
	if err != nil {
		return nil, err
	}
	m := &member{Etcd: server, stop: sync.OnceFunc(func() { end(server) })}
	n.OnStop(m.stop)
	return m, nil
}

// end ends a server. A server that is not ready must be stopped first: Close waits until it is ready, which may never
// happen. Before v3.5.18 Close also waits for a stopped server, which then never becomes ready. In these releases
// waiting is the only option.
func end(server *embed.Etcd) {
	select {
	case <-server.Server.ReadyNotify():
	default:
		if lineage(Version()) >= 18 {
			server.Server.HardStop()
		}
	}
	server.Close()
}

// ready is called when the server is ready.
func (m *member) ready(n *bubble.Node, c Cluster) (err error) {
	if m.client, err = connect(n, c.root(), address(n.Self(), clientPort)); err != nil {
		return err
	}
	n.OnStop(func() { _ = m.client.Close() })
	m.learn()
	n.SetState(func() string {
		return fmt.Sprintf("term %d, leader %s, applied %d", m.Server.Term(),
			cmp.Or((*m.names.Load())[m.Server.Lead()], "unknown"), m.Server.AppliedIndex())
	})
	n.SetRole(func() string {
		if m.Server.Lead() == m.id() {
			return leader
		}
		return follower
	})
	return nil
}

// learn caches the names of members, and whether this one votes. Reading them for every state report would take a
// lock that the server holds while it syncs files.
func (m *member) learn() {
	names := map[uint64]string{}
	for _, is := range m.Server.Cluster().Members() {
		names[uint64(is.ID)] = is.Name
		if uint64(is.ID) == m.id() {
			m.votes.Store(!is.IsLearner)
		}
	}
	m.names.Store(&names)
}

// id is the server's ID; 3.5 uses another name for it.
func (m *member) id() uint64 {
	switch s := any(m.Server).(type) {
	case interface{ MemberID() types.ID }:
		return uint64(s.MemberID())
	case interface{ ID() types.ID }:
		return uint64(s.ID())
	}
	panic("etcdserver: a server without a number")
}

// stopped reports whether the server has stopped on its own, or is stopping.
func (m *member) stopped() bool {
	select {
	case <-m.Server.StopNotify():
		return true
	default:
		return false
	}
}

// connect makes a client of members at addresses; the client has a name if authentication is enabled.
func connect(n *bubble.Node, name string, to ...string) (*clientv3.Client, error) {
	conf := clientv3.Config{Endpoints: to, Logger: zap.NewNop(), DialOptions: logged(n)}
	if name != "" {
		conf.Username, conf.Password, conf.DialTimeout = name, name, timeout
	}
	return clientv3.New(conf)
}

// report reports the content of the member's store, and the keys with leases.
func (m *member) report(n *bubble.Node, incarnation int, s *clients) error {
	hash, err := m.client.HashKV(n.Context(), address(n.Self(), clientPort), 0)
	switch {
	case err == nil:
		store := &Store{
			Incarnation: incarnation,
			Revision:    hash.Header.Revision,
			Compacted:   hash.CompactRevision,
			Hash:        hash.Hash,
			Keys:        unasked,
		}
		if store.Compacted <= 0 || s.cluster.Empty || store.count(n.Context(), m.Etcd) {
			n.Emit(EventStore, store)
		}
	case strings.HasSuffix(err.Error(), "not supported for learner"): // 3.5 uses another name for the error
	case s.cluster.Users > 0: // a majority must know the user
	case n.Context().Err() == nil && !errors.Is(err, context.Canceled):
		return fmt.Errorf("the store has no hash: %w", err)
	}
	if s.cluster.Checks > 0 {
		m.reportAlarms(n)
	}
	if s.cluster.Holders > 0 {
		s.readHeld(n, m.client)
	}
	return nil
}

// config is the server configuration of a member.
func config(n *bubble.Node, c Cluster, at *seat) (*embed.Config, error) {
	dir, err := n.Dir()
	if err != nil {
		return nil, err
	}
	conf := embed.NewConfig()
	conf.Name, conf.Dir = name(n.Self(), at.number), filepath.Join(dir, "etcd")
	if at.number > 0 {
		conf.Dir += fmt.Sprint(at.number)
	}
	conf.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger(n))
	if c.Snapshots > 0 {
		conf.SnapshotCount = uint64(c.Snapshots)
		set(conf, uint64(c.Snapshots), "SnapshotCatchUpEntries")
	}
	if c.Batch > 0 {
		set(conf, c.Batch, "ExperimentalCompactionBatchLimit", "CompactionBatchLimit")
	}
	if c.Quota > 0 {
		conf.QuotaBackendBytes = int64(c.Quota) << 10
	}
	if c.Fragments {
		conf.MaxRequestBytes = shortest
		if c.Quota > 0 {
			conf.MaxRequestBytes += longestValue
		}
	}
	if c.Checks > 0 {
		check(conf, c.Checks)
	}
	reconfigure(conf, n.Configuration())
	conf.BcryptCost = bcrypt
	set(conf, progress, "ExperimentalWatchProgressNotifyInterval", "WatchProgressNotifyInterval")
	set(conf, urls(n.Self(), at.port()), "ListenPeerUrls", "LPUrls", "AdvertisePeerUrls", "APUrls")
	set(conf, urls(n.Self(), clientPort), "ListenClientUrls", "LCUrls", "AdvertiseClientUrls", "ACUrls")
	conf.InitialCluster, conf.InitialClusterToken = at.first, "lockstep"
	if at.number > 0 {
		conf.ClusterState = embed.ClusterStateFlagExisting
		return conf, nil
	}
	var all []string
	for i := range c.Nodes {
		m := lockstep.Node(i + 1)
		all = append(all, fmt.Sprintf("%s=%s", name(m, 0), address(m, peerPort)))
	}
	conf.InitialCluster = strings.Join(all, ",")
	return conf, nil
}

// settings is the number of configurations besides the usual one.
const settings = 3

// reconfigure makes a configuration another one, as operators change it in a rolling restart.
func reconfigure(conf *embed.Config, setting int) {
	switch setting {
	case 1:
		conf.PreVote = !conf.PreVote
	case 2:
		conf.TickMs, conf.ElectionMs = 2*conf.TickMs, 2*conf.ElectionMs
	case 3:
		conf.SnapshotCount = max(1, conf.SnapshotCount/2)
	}
}

// check makes members compare their stores at their start and at this interval.
func check(conf *embed.Config, often time.Duration) {
	set(conf, often, "ExperimentalCorruptCheckTime", "CorruptCheckTime", "ExperimentalCompactHashCheckTime",
		"CompactHashCheckTime")
	if f := reflect.ValueOf(conf).Elem().FieldByName("ServerFeatureGate"); f.IsValid() {
		if err := f.Interface().(interface{ Set(string) error }).
			Set("InitialCorruptCheck=true,CompactHashCheck=true"); err != nil {
			panic(err) // since 3.6 they have these names
		}
		return
	}
	set(conf, true, "ExperimentalInitialCorruptCheck", "ExperimentalCompactHashCheckEnabled")
}

func address(n lockstep.Node, port int) string { return fmt.Sprintf("http://10.0.0.%d:%d", n, port) }

func urls(n lockstep.Node, port int) []url.URL {
	at, err := url.Parse(address(n, port))
	if err != nil {
		panic(err)
	}
	return []url.URL{*at}
}

// set sets those of the named fields that the configuration has: 3.6 renamed some.
func set(conf *embed.Config, value any, fields ...string) {
	for _, name := range fields {
		if f := reflect.ValueOf(conf).Elem().FieldByName(name); f.IsValid() {
			f.Set(reflect.ValueOf(value))
		}
	}
}
