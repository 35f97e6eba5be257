package etcdserver

import (
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A watch can receive progress up to a revision before it receives that revision. That happens if a client requested
// the progress of a busy stream before it opened the watch on that stream. The server answers the request through one
// queue and delivers events through another, and takes from both in any order. The client takes the answer as
// progress of its new watch.
func TestProgressOvertakesWatch(t *testing.T) {
	if older {
		t.Skip("in releases of 3.4 both answers go by one queue")
	}
	client := plain(t)
	put, err := client.Put(t.Context(), "key", "1")
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if overtaken(t, client, put.Header.Revision) {
			return
		}
	}
	t.Error("in 20 attempts no progress notification overtook the event that it confirms")
}

// overtaken opens a stream with a watch, keeps it busy, and requests its progress. It then opens a second watch from
// a revision on. It reports whether the second watch received progress before that revision.
func overtaken(t *testing.T, client *clientv3.Client, revision int64) bool {
	t.Helper()
	stream, err := etcdserverpb.NewWatchClient(client.ActiveConnection()).Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	send := func(r *etcdserverpb.WatchRequest) {
		t.Helper()
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
	}
	receive := func() *etcdserverpb.WatchResponse {
		t.Helper()
		r, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	open := func(key string, from int64) {
		t.Helper()
		send(&etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{
			CreateRequest: &etcdserverpb.WatchCreateRequest{Key: []byte(key), StartRevision: from}}})
	}
	open("long", 0)
	receive()
	for range 8 { // more than a stream buffers without a reader
		if _, err := client.Put(t.Context(), "long", strings.Repeat("x", 512<<10)); err != nil {
			t.Fatal(err)
		}
	}
	send(
		&etcdserverpb.WatchRequest{
			RequestUnion: &etcdserverpb.WatchRequest_ProgressRequest{
				ProgressRequest: &etcdserverpb.WatchProgressRequest{},
			},
		},
	)
	open("key", revision)
	for range 100 { // by then the server has taken both
		if _, err := client.Get(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { _ = stream.CloseSend() }()
	opened, progress := false, false
	for {
		switch r := receive(); {
		case r.Created:
			opened = true
		case r.WatchId == -1 && len(r.Events) == 0 && r.Header.Revision >= revision:
			progress = opened // clients ignore earlier progress for the second watch
		case string(r.Events[0].Kv.Key) == "key":
			return progress
		}
	}
}
