package etcdserver

import (
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A watch is told that all up to a revision was told before it is told of that revision, when the progress of a stream was asked for before the watch was
// opened, on the same stream, and the stream was busy: the server answers the first by one queue and the second by another, and takes from them as it
// happens, and whoever has opened the watch takes the answer for one about it, too.
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
	t.Error("in 20 tries no progress came before what it speaks of")
}

// overtaken opens a stream with a watch, keeps it busy, asks for its progress, opens a second watch from a revision on, and reports whether progress that
// the second watch takes for its own came before that revision.
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
	for range 8 { // more than a stream holds that nobody reads
		if _, err := client.Put(t.Context(), "long", strings.Repeat("x", 512<<10)); err != nil {
			t.Fatal(err)
		}
	}
	send(&etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_ProgressRequest{ProgressRequest: &etcdserverpb.WatchProgressRequest{}}})
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
			progress = opened // before that clients do not take it for one about the second watch
		case string(r.Events[0].Kv.Key) == "key":
			return progress
		}
	}
}
