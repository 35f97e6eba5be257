package etcdserver

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/watch"
)

// EventRead is the type of event in which a client reports the result of a read of several keys; the value is a
// [*Read].
const EventRead = "read"

// Read is the result of a read of several keys.
type Read struct {
	Began    time.Duration // of the request
	Fresh    bool          // writes acknowledged before Began must be in it
	Revision int64         // of the store
	From, To string        // the keys from From on, and before To; an empty To has no end
	Order    Order
	Limit    int  // maximum number of keys; 0: all
	Some     bool // the result may be incomplete
	Found    []Found
	Count    int64 // the total that the member reported
	More     bool  // the member reported more keys than requested
}

// String is the read as text.
func (r *Read) String() string {
	var all []string
	for _, f := range r.Found {
		all = append(all, f.String())
	}
	return fmt.Sprintf("at revision %d: %s", r.Revision, strings.Join(all, " "))
}

// Found is a key in the result of a read.
type Found struct {
	Key, Value                 string
	Created, Modified, Version int64
}

// String is the key as text.
func (f Found) String() string { return fmt.Sprintf("%s=%s@%d", f.Key, f.Value, f.Modified) }

// Order is how the keys of a read are sorted.
type Order struct {
	By   clientv3.SortTarget // key, value or revision
	Down bool
}

// compare compares keys by the order.
func (o Order) compare(a, b Found) (by int) {
	switch o.By {
	case clientv3.SortByModRevision:
		by = cmp.Compare(a.Modified, b.Modified)
	case clientv3.SortByValue:
		by = cmp.Compare(a.Value, b.Value)
	default:
		by = cmp.Compare(a.Key, b.Key)
	}
	if o.Down {
		return -by
	}
	return by
}

// orders are the orders that readers draw from.
var orders = []clientv3.SortTarget{clientv3.SortByKey, clientv3.SortByModRevision, clientv3.SortByValue}

// nested is the key that readers put in a transaction within a transaction.
const nested = "nested"

// read reads several keys: now or at an earlier revision, at the member or elsewhere, or in a transaction that has
// just put a key.
func (s *clients) read(ctx context.Context, n *bubble.Node, client *clientv3.Client) {
	chance := n.Source()
	r := &Read{
		Began: s.world.Now(),
		Order: Order{orders[chance.IntN(len(orders))], chance.IntN(2) == 1},
		Limit: chance.IntN(4),
	}
	local, earlier, writes := chance.IntN(3) == 2, chance.IntN(3) == 2, chance.IntN(4) == 3
	keys := s.cluster.Keys + 1
	if r.From = kv.KeyName(uint8(chance.IntN(keys))); chance.IntN(2) == 1 {
		r.To = kv.KeyName(uint8(1 + chance.IntN(keys)))
	}
	back := chance.IntN(1 << 20)
	s.mutex.Lock()
	s.reads++
	number, newest := s.reads, s.newest
	s.mutex.Unlock()
	with := r.options()
	if writes {
		s.readNested(ctx, n, client, r, fmt.Sprint(number), with)
		return
	}
	if earlier && newest > 1 {
		r.Revision = newest - int64(back)%(newest-1)
		with = append(with, clientv3.WithRev(r.Revision))
	}
	if local {
		with = append(with, clientv3.WithSerializable())
	}
	got, err := client.Get(ctx, r.From, with...)
	if err != nil {
		return
	}
	if r.Revision == 0 {
		r.Revision, r.Fresh = got.Header.Revision, !local
	}
	r.found(got)
	n.Emit(EventRead, r)
}

// options are the options of the request.
func (r *Read) options() []clientv3.OpOption {
	order := clientv3.SortAscend
	if r.Order.Down {
		order = clientv3.SortDescend
	}
	with := []clientv3.OpOption{clientv3.WithSort(r.Order.By, order), clientv3.WithLimit(int64(r.Limit))}
	if r.To == "" {
		return append(with, clientv3.WithFromKey())
	}
	return append(with, clientv3.WithRange(r.To))
}

// readNested puts a key and reads others, in a transaction within a transaction.
func (s *clients) readNested(ctx context.Context, n *bubble.Node, client *clientv3.Client, r *Read, value string,
	with []clientv3.OpOption) {
	inner := clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut(nested, value), clientv3.OpGet(r.From, with...)}, nil)
	done, err := client.Txn(ctx).Then(inner).Commit()
	if err != nil {
		return
	}
	r.Revision, r.Fresh = done.Header.Revision, true
	r.found((*clientv3.GetResponse)(done.Responses[0].GetResponseTxn().Responses[1].GetResponseRange()))
	s.mutex.Lock()
	s.wrote(n, []watch.Change{{Revision: r.Revision, Key: nested, Value: value}})
	s.mutex.Unlock()
	n.Emit(EventRead, r)
}

// found records the result.
func (r *Read) found(got *clientv3.GetResponse) {
	r.Count, r.More = got.Count, got.More
	for _, kv := range got.Kvs {
		r.Found = append(r.Found, Found{string(kv.Key), brief(kv.Value), kv.CreateRevision, kv.ModRevision, kv.Version})
	}
}

// was records the previous value of a key that a watch delivers with a change.
func was(e *clientv3.Event) *Read {
	r := &Read{Revision: e.Kv.ModRevision - 1, From: string(e.Kv.Key), Some: true}
	got := &clientv3.GetResponse{}
	got.Kvs = append(got.Kvs, e.PrevKv)
	r.found(got)
	return r
}
