//go:build !v0.5

// Package release is the border around one version of etcd: its methods have types of the standard library only. So
// copies of this package, each with its own version of the server, fit the same interfaces, those of target/upgrade.
package release

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/client/pkg/v3/types"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Release is this version of etcd.
type Release struct{}

// Version is the version, such as 3.6.16.
func (Release) Version() string { return version.Version }

// Start starts a member with files in dir. The cluster lists names and addresses of members, as in
// n1=http://10.0.0.1:2380. A member that joins a cluster is no initial one. The result is a *Server.
func (Release) Start(
	name, dir, client, peer, cluster string, joins bool, snapshots int, log func(level, line string) bool,
) (any, error) {
	conf := embed.NewConfig()
	conf.Name, conf.Dir, conf.InitialCluster, conf.InitialClusterToken = name, dir, cluster, "lockstep"
	if joins {
		conf.ClusterState = embed.ClusterStateFlagExisting
	}
	if snapshots > 0 {
		conf.SnapshotCount = uint64(snapshots)
		set(conf, uint64(snapshots), "SnapshotCatchUpEntries")
	}
	conf.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(&core{log: log}, zap.WithFatalHook(zapcore.WriteThenPanic)))
	//lockstep:unordered the fields are different ones
	for at, fields := range map[string][]string{
		peer:   {"ListenPeerUrls", "LPUrls", "AdvertisePeerUrls", "APUrls"},
		client: {"ListenClientUrls", "LCUrls", "AdvertiseClientUrls", "ACUrls"},
	} {
		u, err := url.Parse(at)
		if err != nil {
			return nil, err
		}
		set(conf, []url.URL{*u}, fields...)
	}
	server, err := embed.StartEtcd(conf)
	if err != nil {
		return nil, err
	}
	return &Server{server}, nil
}

// set sets those of the named fields that the configuration has: 3.6 renamed some.
func set(conf *embed.Config, value any, fields ...string) {
	for _, name := range fields {
		if f := reflect.ValueOf(conf).Elem().FieldByName(name); f.IsValid() {
			f.Set(reflect.ValueOf(value))
		}
	}
}

// Server is a member.
type Server struct{ etcd *embed.Etcd }

// Ready is closed when the member serves clients.
func (s *Server) Ready() <-chan struct{} { return s.etcd.Server.ReadyNotify() }

// Stopped is closed when the member has stopped on its own, as after its removal.
func (s *Server) Stopped() <-chan struct{} { return s.etcd.Server.StopNotify() }

// Failed has the error with which a part of the member failed.
func (s *Server) Failed() <-chan error { return s.etcd.Err() }

// Stop stops the member.
func (s *Server) Stop() {
	select {
	case <-s.etcd.Server.ReadyNotify():
	default:
		s.etcd.Server.HardStop()
	}
	s.etcd.Close()
}

// Leads reports whether the member is the leader.
func (s *Server) Leads() bool { return s.etcd.Server.Lead() == s.id() }

// State is the member's state as text.
func (s *Server) State() string {
	return fmt.Sprintf("etcd %s, term %d, applied %d", version.Version, s.etcd.Server.Term(),
		s.etcd.Server.AppliedIndex())
}

// ClusterVersion is the version that the cluster has agreed on, such as 3.5.0; empty if the member knows none.
func (s *Server) ClusterVersion() string {
	if v := s.etcd.Server.ClusterVersion(); v != nil {
		return v.String()
	}
	return ""
}

// id is the server's ID; 3.5 uses another name for it.
func (s *Server) id() uint64 {
	switch s := any(s.etcd.Server).(type) {
	case interface{ MemberID() types.ID }:
		return uint64(s.MemberID())
	case interface{ ID() types.ID }:
		return uint64(s.ID())
	}
	panic("release: a server without an ID")
}

// Connect makes a client of this version; the result is a *Client.
func (Release) Connect(endpoints ...string) (any, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	return &Client{c}, err
}

// Client talks to a cluster.
type Client struct{ etcd *clientv3.Client }

// Close ends the client.
func (c *Client) Close() error { return c.etcd.Close() }

// Put sets a key.
func (c *Client) Put(ctx context.Context, key, value string) (revision int64, err error) {
	r, err := c.etcd.Put(ctx, key, value)
	if err != nil {
		return 0, err
	}
	return r.Header.Revision, nil
}

// Get reads a key; a key that does not exist has an empty value.
func (c *Client) Get(ctx context.Context, key string) (value string, revision int64, err error) {
	r, err := c.etcd.Get(ctx, key)
	if err != nil {
		return "", 0, err
	}
	if len(r.Kvs) > 0 {
		value = string(r.Kvs[0].Value)
	}
	return value, r.Header.Revision, nil
}

// Swap sets a key that has an old value, empty for none. The result is the value afterwards.
func (c *Client) Swap(
	ctx context.Context, key, old, value string,
) (is string, swapped bool, revision int64, err error) {
	has := clientv3.Compare(clientv3.Value(key), "=", old)
	if old == "" {
		has = clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
	}
	r, err := c.etcd.Txn(ctx).If(has).Then(clientv3.OpPut(key, value)).Else(clientv3.OpGet(key)).Commit()
	if err != nil {
		return "", false, 0, err
	}
	if r.Succeeded {
		return value, true, r.Header.Revision, nil
	}
	if found := r.Responses[0].GetResponseRange().Kvs; len(found) > 0 {
		is = string(found[0].Value)
	}
	return is, false, r.Header.Revision, nil
}

// Hash is the hash of all keys that a member has, at its revision.
func (c *Client) Hash(ctx context.Context, endpoint string) (hash uint32, revision, compacted int64, err error) {
	r, err := c.etcd.HashKV(ctx, endpoint, 0)
	if err != nil {
		return 0, 0, 0, err
	}
	return r.Hash, r.Header.Revision, r.CompactRevision, nil
}

// Members lists the members by their peer addresses, with their IDs, and those that do not vote.
func (c *Client) Members(ctx context.Context) (ids map[string]uint64, learners map[string]bool, err error) {
	r, err := c.etcd.MemberList(ctx)
	if err != nil {
		return nil, nil, err
	}
	ids, learners = map[string]uint64{}, map[string]bool{}
	for _, m := range r.Members {
		ids[m.PeerURLs[0]] = m.ID
		if m.IsLearner {
			learners[m.PeerURLs[0]] = true
		}
	}
	return ids, learners, nil
}

// Add adds a member that does not vote.
func (c *Client) Add(ctx context.Context, peer string) error {
	_, err := c.etcd.MemberAddAsLearner(ctx, []string{peer})
	return err
}

// Promote makes a member vote.
func (c *Client) Promote(ctx context.Context, id uint64) error {
	_, err := c.etcd.MemberPromote(ctx, id)
	return err
}

// Remove removes a member.
func (c *Client) Remove(ctx context.Context, id uint64) error {
	_, err := c.etcd.MemberRemove(ctx, id)
	return err
}

// Storage is the version of the format of the files that the member has, such as 3.6.0; empty if the version does not
// report it.
func (c *Client) Storage(ctx context.Context) (version string, err error) {
	r, err := etcdserverpb.NewMaintenanceClient(c.etcd.ActiveConnection()).Status(ctx, &etcdserverpb.StatusRequest{})
	if err != nil {
		return "", err
	}
	if s, ok := any(r).(interface{ GetStorageVersion() string }); ok { // since 3.6
		version = s.GetStorageVersion()
	}
	return version, nil
}

// Downgrade lets the cluster go back to a version such as 3.5.0. The releases' clients differ in the method, so the
// request is made without it.
func (c *Client) Downgrade(ctx context.Context, to string) error {
	_, err := etcdserverpb.NewMaintenanceClient(c.etcd.ActiveConnection()).Downgrade(ctx,
		&etcdserverpb.DowngradeRequest{Action: etcdserverpb.DowngradeRequest_ENABLE, Version: to})
	return err
}

// core is the server's log.
type core struct {
	log  func(level, line string) bool
	with []zapcore.Field
}

// Enabled reports whether a line is kept: log reports it for an empty one.
func (c *core) Enabled(level zapcore.Level) bool { return level >= zapcore.InfoLevel && c.log("", "") }

// With adds fields to each line.
func (c *core) With(fields []zapcore.Field) zapcore.Core {
	return &core{c.log, append(append([]zapcore.Field{}, c.with...), fields...)}
}

// Check adds the log to a line that it keeps.
func (c *core) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return to.AddCore(e, c)
	}
	return to
}

// Write writes a line.
func (c *core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	line := strings.Builder{}
	line.WriteString(e.Message)
	for _, f := range append(append([]zapcore.Field{}, c.with...), fields...) {
		values := zapcore.NewMapObjectEncoder()
		f.AddTo(values)
		if value, ok := values.Fields[f.Key]; ok {
			fmt.Fprintf(&line, " %s=%v", f.Key, value)
		}
	}
	c.log(e.Level.String(), line.String())
	return nil
}

// Sync has nothing to write.
func (*core) Sync() error { return nil }
