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
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
)

// The parts that members play.
const (
	leader   = "leader"
	follower = "follower"
)

// look is how often a member tells what its store holds, progress how often watches tell how far they
// are.
const (
	look     = 5 * time.Second
	progress = 2 * time.Second
)

// start brings a member up, from its files where it has some.
func start(n *bubble.Node, c Cluster) error {
	clients := n.World().Value.(*clients)
	clients.forget(n.Self())
	conf, err := config(n, c)
	if err != nil {
		return err
	}
	server, err := embed.StartEtcd(conf)
	if err != nil {
		return err
	}
	n.OnStop(server.Close)
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		return err
	case <-n.Context().Done():
		return nil
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address(n.Self(), 2379)}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	n.OnStop(func() { _ = client.Close() })
	names := map[uint64]string{} // asked for now: later it would take a lock, with which others sync files
	for _, m := range server.Server.Cluster().Members() {
		names[uint64(m.ID)] = m.Name
	}
	n.State(func() string {
		return fmt.Sprintf("term %d, leader %s, applied %d", server.Server.Term(), cmp.Or(names[server.Server.Lead()], "unknown"), server.Server.AppliedIndex())
	})
	n.Role(func() string {
		if names[server.Server.Lead()] == conf.Name {
			return leader
		}
		return follower
	})
	n.Request(func(id int32, _ string) { clients.given(n, client, id) })
	return tell(n, client, server, c.Empty)
}

// tell tells what the member's store holds, from time to time.
func tell(n *bubble.Node, client *clientv3.Client, server *embed.Etcd, always bool) error {
	for {
		hash, err := client.HashKV(n.Context(), address(n.Self(), 2379), 0)
		if err == nil {
			s := &Store{Life: n.Life(), Revision: hash.Header.Revision, Compacted: hash.CompactRevision, Hash: hash.Hash, Keys: unasked}
			if s.Compacted <= 0 || always || s.count(n.Context(), server) {
				n.Emit(EventStore, s)
			}
		} else if n.Context().Err() == nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the store has no hash: %w", err)
		}
		select {
		case <-time.After(look):
		case <-n.Context().Done():
			return nil
		}
	}
}

// config is the server's configuration of a member.
func config(n *bubble.Node, c Cluster) (*embed.Config, error) {
	folder, err := n.Folder()
	if err != nil {
		return nil, err
	}
	conf := embed.NewConfig()
	conf.Name, conf.Dir = fmt.Sprint("n", n.Self()), filepath.Join(folder, "etcd")
	conf.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(zapcore.NewNopCore(), zap.WithFatalHook(zapcore.WriteThenPanic)))
	if c.Snapshots > 0 {
		conf.SnapshotCount = uint64(c.Snapshots)
		set(conf, uint64(c.Snapshots), "SnapshotCatchUpEntries")
	}
	if c.Batch > 0 {
		set(conf, c.Batch, "ExperimentalCompactionBatchLimit", "CompactionBatchLimit")
	}
	set(conf, progress, "ExperimentalWatchProgressNotifyInterval", "WatchProgressNotifyInterval")
	set(conf, at(n.Self(), 2380), "ListenPeerUrls", "LPUrls", "AdvertisePeerUrls", "APUrls")
	set(conf, at(n.Self(), 2379), "ListenClientUrls", "LCUrls", "AdvertiseClientUrls", "ACUrls")
	var all []string
	for i := range n.Nodes() {
		m := lockstep.Node(i + 1)
		all = append(all, fmt.Sprintf("n%d=%s", m, address(m, 2380)))
	}
	conf.InitialCluster, conf.InitialClusterToken = strings.Join(all, ","), "lockstep"
	return conf, nil
}

func address(n lockstep.Node, port int) string { return fmt.Sprintf("http://10.0.0.%d:%d", n, port) }

func at(n lockstep.Node, port int) []url.URL {
	at, err := url.Parse(address(n, port))
	if err != nil {
		panic(err)
	}
	return []url.URL{*at}
}

// set sets those of the fields named that the configuration has: some were renamed in 3.6.
func set(conf *embed.Config, value any, fields ...string) {
	for _, name := range fields {
		if f := reflect.ValueOf(conf).Elem().FieldByName(name); f.IsValid() {
			f.Set(reflect.ValueOf(value))
		}
	}
}
