package etcdserver

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/watch"
)

// watcher is a client that watches. When a watch ends, it opens the next one at the member that the strategy chooses.
// The next watch mostly begins where the last one ended, sometimes at an earlier revision, or now.
type watcher struct {
	clients *clients
	key     string // empty: all keys
	next    int64  // the revision after the last delivered one
	refused bool   // the requested revision was compacted; next is the oldest remaining one
}

func newWatcher(s *clients, i int) *watcher {
	w := &watcher{clients: s, next: 2} // an empty store is at revision 1
	if i%2 == 1 {
		w.key = kv.KeyName(uint8(i / 2 % s.cluster.Keys))
	}
	return w
}

// longest is the maximum time for which a watch is open.
const longest = 16 * time.Second

// open draws the start of the next watch.
func (w *watcher) open(n *bubble.Node) *watch.Opened {
	how, earlier := n.Source().IntN(4), n.Source().IntN(int(w.next)-1)
	w.clients.mutex.Lock()
	defer w.clients.mutex.Unlock()
	w.clients.watches++
	o := &watch.Opened{Watch: w.clients.watches, From: w.next, Key: w.key}
	switch {
	case w.refused:
		w.refused = false
	case how == 2:
		o.From -= int64(earlier)
	case how == 3:
		o.From = 0
	}
	return o
}

// watch runs one watch.
func (w *watcher) watch(n *bubble.Node, client *clientv3.Client) {
	ctx, cancel := context.WithTimeout(n.Context(), longest/16*time.Duration(1+n.Source().IntN(16)))
	defer cancel()
	o := w.open(n)
	n.Emit(watch.EventOpened, o)
	with := []clientv3.OpOption{clientv3.WithRev(o.From), clientv3.WithProgressNotify()}
	if w.clients.cluster.Previous {
		with = append(with, clientv3.WithPrevKV())
	}
	if w.clients.cluster.Fragments {
		with = append(with, clientv3.WithFragment())
	}
	if w.key == "" {
		with = append(with, clientv3.WithPrefix())
	}
	responses := client.Watch(ctx, w.key, with...)
	ask := time.NewTicker(time.Second)
	defer ask.Stop()
	for {
		select {
		case r, more := <-responses:
			if !n.Alive() {
				return // the next watch may have begun
			}
			if !more || r.Canceled {
				w.ended(r.CompactRevision)
				return
			}
			w.report(n, o.Watch, &r)
		case <-ask.C:
			if !w.clients.cluster.NoProgressRequests {
				_ = client.RequestProgress(ctx)
			}
		}
	}
}

// ended records why a watch ended: the requested revision may have been compacted.
func (w *watcher) ended(compacted int64) {
	if compacted > 0 {
		w.next, w.refused = compacted, true
	}
}

// report reports the deliveries of a watch.
func (w *watcher) report(n *bubble.Node, number int, r *clientv3.WatchResponse) {
	t := &watch.Delivered{Watch: number}
	for _, e := range r.Events {
		c := watch.Change{
			Revision: e.Kv.ModRevision,
			Key:      string(e.Kv.Key),
			Value:    brief(e.Kv.Value),
			Deleted:  e.Type == clientv3.EventTypeDelete,
		}
		t.Changes = follow(t.Changes, c)
		w.next = max(w.next, c.Revision+1)
	}
	if r.IsProgressNotify() {
		t.Progress = r.Header.Revision
	}
	if len(t.Changes) > 0 || t.Progress > 0 {
		n.Emit(watch.EventDelivered, t)
	}
	for _, e := range r.Events {
		if e.PrevKv != nil {
			n.Emit(EventRead, was(e))
		}
	}
}
