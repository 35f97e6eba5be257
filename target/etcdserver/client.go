package etcdserver

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/operator"
	"github.com/lockstep-go/lockstep/kit/watch"
)

// timeout is the client's timeout of an operation.
const timeout = 5 * time.Second

// pause is how long a client waits before it retries a read. Other clients wait as long before they continue.
const pause = 100 * time.Millisecond

// clients are the clients of a run. Each talks to the member that the strategy chooses. A write with an unknown
// outcome stays without an answer, and its client continues with the next operation. The server has no sessions, so a
// retry might write twice. There are also watchers and an operator, whose requests are tasks.
type clients struct {
	cluster Cluster
	world   *bubble.World

	mutex    sync.Mutex
	kv       *kv.Clients
	operator *operator.Operator
	tasks    []operatorTask
	under    map[lockstep.Node][]task // in progress at a member
	newest   int64                    // the highest revision that a client has seen
	watches  int                      // opened so far
	holds    int                      // leases requested so far
	reads    int                      // of several keys, so far
	txns     int                      // so far
	fills    int                      // so far
	rights   *rights
	seats    *seats
	doors    map[lockstep.Node]*clientv3.Client // of members that are ready, where members change
	ids      map[uint64]lockstep.Node           // of members, for reads that are redirected
}

// task is an operation of a client, or a task of a watcher or operator.
type task struct {
	op           *kv.Op
	operatorTask int
	idle         bool // there is no member to ask
}

func newClients(c Cluster, w *bubble.World) *clients {
	load := kv.Load{Clients: c.Clients, Requests: c.Requests, Keys: c.Keys, Mix: c.Mix}
	s := &clients{cluster: c, world: w, kv: kv.NewClients(load, c.all()), under: map[lockstep.Node][]task{},
		rights: newRights(), seats: newSeats(c.Nodes, c.Nodes+c.Spares), doors: map[lockstep.Node]*clientv3.Client{},
		ids: map[uint64]lockstep.Node{}}
	s.kv.Begin(w.Rand(1000), w)
	s.tasks = s.allTasks()
	var list []operator.Task
	for _, d := range s.tasks {
		list = append(list, d.Task)
	}
	s.operator = operator.New(c.all(), list, nil)
	s.operator.Begin(w)
	return s
}

// forget abandons the operations in progress at a member in its previous incarnation: the goroutines that waited for
// the answers died with it.
func (s *clients) forget(n lockstep.Node) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	under := s.under[n]
	delete(s.under, n)
	delete(s.doors, n)
	for _, t := range under {
		if t.idle {
			s.again(t)
		} else {
			s.giveUp(t)
		}
	}
}

// giveUp continues after an operation with an unknown outcome.
func (s *clients) giveUp(t task) {
	if t.op != nil {
		s.kv.GiveUp(t.op.Client, t.op.Seq)
	} else {
		s.operator.Next(t.operatorTask)
	}
}

// given is called when a request reaches a member, or a node without a member and thus without a client.
func (s *clients) given(n *bubble.Node, client *clientv3.Client, id int32) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	t := task{idle: client == nil}
	if s.operator.Has(id) {
		t.operatorTask, _ = s.operator.Given(id)
	} else {
		t.op, _ = s.kv.Given(id)
	}
	s.under[n.Self()] = append(s.under[n.Self()], t)
	n.Go(func() {
		if t.idle {
			time.Sleep(pause)
			s.end(n, t, func() { s.again(t) })
			return
		}
		if t.op != nil {
			s.operate(n, client, t)
			return
		}
		s.tasks[t.operatorTask].do(n, client)
		time.Sleep(pause)
		s.end(n, t, func() { s.operator.Next(t.operatorTask) })
	})
}

// again offers a task that has not begun to other nodes.
func (s *clients) again(t task) {
	if t.op != nil {
		s.kv.Offer(t.op)
	} else {
		s.operator.Retry(t.operatorTask)
	}
}

// operate performs an operation of a client at a member.
func (s *clients) operate(n *bubble.Node, client *clientv3.Client, t task) {
	ctx, cancel := context.WithTimeout(n.Context(), timeout)
	defer cancel()
	a, err := s.do(ctx, n, client, t.op)
	if errors.Is(err, rpctypes.ErrNoSpace) {
		awaitSpace(n, client)
	}
	again := err != nil && t.op.Kind == kv.Get && !t.op.Txn
	if again {
		time.Sleep(pause)
	}
	s.end(n, t, func() {
		switch {
		case err == nil:
			s.wrote(n, a.changes)
			s.newest = max(s.newest, a.Revision)
			s.kv.Answer(n.Self(), t.op.Client, t.op.Seq, a.Result)
		case again:
			s.kv.Offer(t.op)
		default:
			s.giveUp(t)
		}
	})
}

// end ends a task, unless the member crashed meanwhile: see forget.
func (s *clients) end(n *bubble.Node, t task, then func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !n.Alive() {
		return
	}
	under := s.under[n.Self()]
	at := slices.Index(under, t)
	s.under[n.Self()] = slices.Delete(under, at, at+1)
	then()
}

// wrote reports an acknowledged write.
func (s *clients) wrote(n *bubble.Node, changes []watch.Change) {
	if len(changes) > 0 {
		n.Emit(watch.EventWrote, &watch.Wrote{Changes: changes})
		s.newest = max(s.newest, changes[0].Revision)
	}
}

// answer is the answer to an operation, with the changes that it made.
type answer struct {
	kv.Result
	changes []watch.Change
}

// do performs an operation at a member.
func (s *clients) do(ctx context.Context, n *bubble.Node, client *clientv3.Client, o *kv.Op) (a answer, err error) {
	key := kv.KeyName(o.Key)
	switch {
	case o.Txn:
		return both(ctx, client, o)
	case o.Kind == kv.Get && s.cluster.Redirected:
		got, err := s.redirected(ctx, n, client, key)
		if err != nil {
			return a, err
		}
		a.Value, a.OK = value(got), true
	case o.Kind == kv.Get && s.cluster.Serializable:
		got, err := client.Get(ctx, key, clientv3.WithSerializable())
		if err != nil {
			return a, err
		}
		a.Value, a.OK = value(got), true // its revision may be an old one
	case o.Kind == kv.Get:
		got, err := client.Get(ctx, key)
		if err != nil {
			return a, err
		}
		a.Result = kv.Result{Value: value(got), OK: true, Revision: got.Header.Revision}
	case o.Kind == kv.Put:
		put, err := client.Put(ctx, key, text(o.Value))
		if err != nil {
			return a, err
		}
		a.puts(put.Header.Revision, o.Act)
	case o.Kind == kv.Delete:
		deleted, err := client.Delete(ctx, key)
		if err != nil {
			return a, err
		}
		a.Result = kv.Result{OK: true, Revision: deleted.Header.Revision}
		if deleted.Deleted > 0 {
			a.changes = []watch.Change{{Revision: a.Revision, Key: key, Deleted: true}}
		}
	default:
		return cas(ctx, client, o)
	}
	return a, nil
}

// know records the ID of a member.
func (s *clients) know(id uint64, n lockstep.Node) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.ids[id] = n
}

// redirected reads a key at the leader that a member knows, from the member's own node: the connection is lost where
// the member cannot reach the leader.
func (s *clients) redirected(ctx context.Context, n *bubble.Node, client *clientv3.Client,
	key string) (*clientv3.GetResponse, error) {
	status, err := client.Status(ctx, client.Endpoints()[0])
	if err != nil {
		return nil, err
	}
	s.mutex.Lock()
	at, known := s.ids[status.Leader]
	s.mutex.Unlock()
	if !known {
		return nil, errors.New("the member knows no leader")
	}
	leader, err := connect(n, s.cluster.root(), address(at, clientPort))
	if err != nil {
		return nil, err
	}
	defer leader.Close()
	return leader.Get(ctx, key, clientv3.WithSerializable())
}

// puts records that an operation has set keys at a revision, in the order in which watches deliver the keys.
func (a *answer) puts(revision int64, acts ...kv.Act) {
	a.Value, a.OK, a.Revision = kv.Value{Number: acts[0].Value}, true, revision
	for _, act := range acts {
		a.changes = append(a.changes,
			watch.Change{Revision: revision, Key: kv.KeyName(act.Key), Value: text(act.Value)})
	}
}

// is compares a key with a value. A key that was never written has the value 0.
func is(a kv.Act) clientv3.Cmp {
	if a.Old == 0 {
		return clientv3.Compare(clientv3.CreateRevision(kv.KeyName(a.Key)), "=", 0)
	}
	return clientv3.Compare(clientv3.Value(kv.KeyName(a.Key)), "=", text(a.Old))
}

// put sets a key.
func put(a kv.Act) clientv3.Op { return clientv3.OpPut(kv.KeyName(a.Key), text(a.Value)) }

// get reads a key.
func get(a kv.Act) clientv3.Op { return clientv3.OpGet(kv.KeyName(a.Key)) }

// cas sets a key to a value if it has a given one.
func cas(ctx context.Context, client *clientv3.Client, o *kv.Op) (a answer, err error) {
	txn, err := client.Txn(ctx).If(is(o.Act)).Then(put(o.Act)).Else(get(o.Act)).Commit()
	switch {
	case err != nil:
		return a, err
	case txn.Succeeded:
		a.puts(txn.Header.Revision, o.Act)
	default:
		a.Value, a.Revision = nth(txn, 0), txn.Header.Revision
	}
	return a, nil
}

// both reads a key, or sets it if it has a given value, and sets a second one at once.
func both(ctx context.Context, client *clientv3.Client, o *kv.Op) (a answer, err error) {
	txn := client.Txn(ctx)
	acts := []kv.Act{o.Act, o.Also}
	switch {
	case o.Kind == kv.Get:
		txn, acts = txn.Then(get(o.Act), put(o.Also)), acts[1:]
	case o.Key == o.Also.Key: // a transaction may set a key only once
		txn, acts = txn.If(is(o.Act)).Then(put(o.Also)).Else(get(o.Act), get(o.Also)), acts[1:]
	default:
		txn = txn.If(is(o.Act)).Then(put(o.Act), put(o.Also)).Else(get(o.Act), get(o.Also))
	}
	done, err := txn.Commit()
	if err != nil {
		return a, err
	}
	a.Revision = done.Header.Revision
	switch {
	case !done.Succeeded:
		a.Value, a.Also = nth(done, 0), nth(done, 1)
		return a, nil
	case o.Kind == kv.Get:
		a.puts(a.Revision, acts...)
		a.Value = nth(done, 0)
	default:
		a.puts(a.Revision, acts...)
		a.Value = kv.Value{Number: o.Act.Value}
	}
	a.Also = kv.Value{Number: o.Also.Value}
	return a, nil
}

func text(v int32) string { return strconv.Itoa(int(v)) }

// nth is the result of the i-th read of a transaction.
func nth(r *clientv3.TxnResponse, i int) kv.Value {
	return value((*clientv3.GetResponse)(r.Responses[i].GetResponseRange()))
}

// value is the result of a read.
func value(r *clientv3.GetResponse) kv.Value {
	if len(r.Kvs) == 0 {
		return kv.Value{}
	}
	v, err := strconv.Atoi(string(r.Kvs[0].Value))
	if err != nil {
		panic(err) // no client wrote that
	}
	return kv.Value{Number: int32(v)}
}
