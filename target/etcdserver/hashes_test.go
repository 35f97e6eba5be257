package etcdserver

import (
	"net/url"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// A member without keys has two hashes at one revision, with the same revision compacted: the computed one, and the
// one stored by its next compaction. No fault occurs here, and no operation is in progress. If a key is left, there
// is one hash.
func TestTwoHashesOfNoKeys(t *testing.T) {
	if older {
		t.Skip("releases of 3.4 report no hash of a compacted revision")
	}
	for _, left := range []bool{false, true} {
		client := plain(t)
		at := client.Endpoints()[0]
		must := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		if left {
			must(client.Put(t.Context(), "another", "0"))
		}
		must(client.Put(t.Context(), "key", "1"))
		put, err := client.Put(t.Context(), "key", "2")
		must(put, err)
		must(client.Compact(t.Context(), put.Header.Revision, clientv3.WithCompactPhysical()))
		gone, err := client.Delete(t.Context(), "key")
		must(gone, err)
		before, err := client.HashKV(t.Context(), at, gone.Header.Revision)
		must(before, err)
		must(client.Compact(t.Context(), gone.Header.Revision, clientv3.WithCompactPhysical()))
		after, err := client.HashKV(t.Context(), at, gone.Header.Revision)
		must(after, err)
		t.Logf("another key: %v; before the second compaction %v, after it %v", left, before, after)
		if before.CompactRevision != after.CompactRevision {
			t.Errorf("compacted up to %d and %d: not the same", before.CompactRevision, after.CompactRevision)
		}
		if same := before.Hash == after.Hash; same != left {
			t.Errorf("another key: %v, hashes %08x and %08x", left, before.Hash, after.Hash)
		}
	}
}

// plain is an ordinary client of a single-node server, without an engine.
func plain(t *testing.T) *clientv3.Client {
	t.Helper()
	conf := embed.NewConfig()
	conf.Dir, conf.ZapLoggerBuilder = t.TempDir(), embed.NewZapLoggerBuilder(zap.NewNop())
	any, err := url.Parse("http://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	set(conf, []url.URL{*any}, "ListenPeerUrls", "LPUrls", "AdvertisePeerUrls", "APUrls", "ListenClientUrls", "LCUrls",
		"AdvertiseClientUrls", "ACUrls")
	conf.InitialCluster = conf.InitialClusterFromName(conf.Name)
	server, err := embed.StartEtcd(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	<-server.Server.ReadyNotify()
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{server.Clients[0].Addr().String()},
		Logger:    zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}
