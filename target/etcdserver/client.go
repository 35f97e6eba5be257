package etcdserver

import (
	"context"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
)

// patience is the time after which a client gives an operation up.
const patience = 5 * time.Second

// pause is how long a client waits before it tries a read again.
const pause = 100 * time.Millisecond

// clients are the clients of a run. Each talks to the member that the strategy chooses. A write
// whose fate is not known stays without an answer, and its client goes on with the next
// operation: the server has no sessions, so trying again might write twice.
type clients struct {
	cluster Cluster
	world   *bubble.World

	mutex sync.Mutex
	kv    *kv.Clients
	under map[lockstep.Node][]*kv.Op // under way at a member
}

func newClients(c Cluster, w *bubble.World) *clients {
	load := kv.Load{Clients: c.Clients, Requests: c.Requests, Keys: c.Keys, Mix: c.Mix}
	s := &clients{cluster: c, world: w, kv: kv.NewClients(load, c.Nodes), under: map[lockstep.Node][]*kv.Op{}}
	s.kv.Begin(w.Rand(1000), w)
	return s
}

// forget gives up what was under way at a member in its last life: those who waited for the
// answers died with it.
func (s *clients) forget(n lockstep.Node) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, o := range s.under[n] {
		s.kv.GiveUp(o.Client, o.Seq)
	}
	delete(s.under, n)
}

// given is called when a request reaches a member.
func (s *clients) given(n *bubble.Node, client *clientv3.Client, id int32) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	op, _ := s.kv.Given(id)
	s.under[n.Self()] = append(s.under[n.Self()], op)
	n.Go(func() {
		ctx, cancel := context.WithTimeout(n.Context(), patience)
		defer cancel()
		a, err := s.do(ctx, client, op)
		s.ended(n, op, a, err)
	})
}

// ended takes the answer to an operation, unless the member died meanwhile.
func (s *clients) ended(n *bubble.Node, o *kv.Op, a answer, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !n.Alive() {
		return // see forget
	}
	under := s.under[n.Self()]
	for i := range under {
		if under[i] == o {
			s.under[n.Self()] = append(under[:i], under[i+1:]...)
			break
		}
	}
	switch {
	case err == nil:
		if a.revision > 0 {
			n.Emit(EventAcknowledged, a.revision)
		}
		s.kv.Answer(n.Self(), o.Client, o.Seq, a.Result)
	case o.Kind == kv.Get:
		time.AfterFunc(pause, func() {
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.kv.Offer(o)
		})
	default: // it may have happened or not
		s.kv.GiveUp(o.Client, o.Seq)
	}
}

// answer is the answer to an operation, with the revision that it wrote, or 0.
type answer struct {
	kv.Result
	revision int64
}

// do performs an operation at a member.
func (s *clients) do(ctx context.Context, client *clientv3.Client, o *kv.Op) (a answer, err error) {
	key := kv.KeyName(o.Key)
	switch o.Kind {
	case kv.Get:
		var with []clientv3.OpOption
		if s.cluster.Serializable {
			with = append(with, clientv3.WithSerializable())
		}
		got, err := client.Get(ctx, key, with...)
		if err != nil {
			return a, err
		}
		a.Value, a.OK = value(got), true
	case kv.Put:
		put, err := client.Put(ctx, key, text(o.Value))
		if err != nil {
			return a, err
		}
		a.Value, a.OK, a.revision = kv.Value{Number: o.Value}, true, put.Header.Revision
	case kv.Cas:
		return cas(ctx, client, key, o)
	}
	return a, nil
}

// cas sets a key to a value if it has another one. A key that was never written has 0.
func cas(ctx context.Context, client *clientv3.Client, key string, o *kv.Op) (a answer, err error) {
	is := clientv3.Compare(clientv3.Value(key), "=", text(o.Old))
	if o.Old == 0 {
		is = clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
	}
	txn, err := client.Txn(ctx).If(is).Then(clientv3.OpPut(key, text(o.Act.Value))).Else(clientv3.OpGet(key)).Commit()
	switch {
	case err != nil:
		return a, err
	case txn.Succeeded:
		a.Value, a.OK, a.revision = kv.Value{Number: o.Act.Value}, true, txn.Header.Revision
	default:
		a.Value = value((*clientv3.GetResponse)(txn.Responses[0].GetResponseRange()))
	}
	return a, nil
}

func text(v int32) string { return strconv.Itoa(int(v)) }

// value is what a read found.
func value(r *clientv3.GetResponse) kv.Value {
	if len(r.Kvs) == 0 {
		return kv.Value{}
	}
	v, err := strconv.Atoi(string(r.Kvs[0].Value))
	if err != nil {
		panic(err) // nobody wrote that
	}
	return kv.Value{Number: int32(v)}
}
