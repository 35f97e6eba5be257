package etcdserver

import (
	"context"
	"fmt"
	"strconv"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/isolation"
	"github.com/lockstep-go/lockstep/kit/watch"
	"github.com/lockstep-go/lockstep/spec"
)

// The events of transactions over several keys: a [*spec.Call] with a [*Transaction], and a [*spec.Return] with a
// [*Transacted].
const (
	EventTransaction = "transaction"
	EventTransacted  = "transacted"
)

// Transactions is the spec that transactions are strictly serializable. The server promises that of a request, and
// that a key has changed if its revision has. So transactions that read first and write if nothing has changed since
// are strictly serializable, too.
var Transactions = spec.Isolation{
	Level: isolation.StrictSerializable, Txn: transactionOps, Call: EventTransaction, Return: EventTransacted,
}

// Transaction is what a client wants to do in a transaction.
type Transaction struct {
	Reads  []string
	Writes []isolation.Op
}

// String is the transaction as text.
func (t *Transaction) String() string { return fmt.Sprintf("read %v, %v", t.Reads, t.Writes) }

// Transacted is the answer to a transaction.
type Transacted struct {
	Ops     []isolation.Op
	Outcome isolation.Outcome
}

// String is the answer as text.
func (t *Transacted) String() string { return fmt.Sprintf("%s: %v", t.Outcome, t.Ops) }

// transactionOps converts a transaction for the spec.
func transactionOps(input, output any) ([]isolation.Op, isolation.Outcome) {
	t, ok := input.(*Transaction)
	if !ok {
		return nil, isolation.Unknown
	}
	if done, answered := output.(*Transacted); answered {
		return done.Ops, done.Outcome
	}
	return t.Writes, isolation.Unknown
}

// manyKeys is the number of keys of transactions, manyKey the name of one.
const manyKeys = 3

func manyKey(i int) string { return "m" + strconv.Itoa(i) }

// mostWrites separates the values of transactions.
const mostWrites = 8

// transactor is a client with transactions.
func (s *clients) transactor(number int) func(n *bubble.Node, client *clientv3.Client) {
	return withTimeout(func(ctx context.Context, n *bubble.Node, client *clientv3.Client) {
		t, id := s.drawTransaction(n.Source())
		s.world.Event(lockstep.Event{
			Node: n.Self(), Type: EventTransaction, Value: &spec.Call{Client: number, ID: id, Input: t},
		})
		perform := s.atOnce
		if len(t.Writes) > 0 && n.Source().IntN(2) == 1 {
			perform = s.optimistic
		}
		done, err := perform(ctx, n, client, t)
		if err == nil { // otherwise it may take effect later
			n.Emit(EventTransacted, &spec.Return{Client: number, ID: id, Output: done})
		}
	})
}

// drawTransaction draws the keys that a transaction reads and writes.
func (s *clients) drawTransaction(chance *bubble.Source) (t *Transaction, id int) {
	s.mutex.Lock()
	s.txns++
	id = s.txns
	s.mutex.Unlock()
	t = &Transaction{}
	for i := range manyKeys {
		what := chance.IntN(4)
		if what&1 == 0 {
			t.Reads = append(t.Reads, manyKey(i))
		}
		if what >= 2 {
			t.Writes = append(t.Writes, isolation.Op{Func: isolation.Write, Key: manyKey(i), Value: id*mostWrites + i})
		}
	}
	if len(t.Reads)+len(t.Writes) == 0 {
		t.Reads = []string{manyKey(0)}
	}
	return t, id
}

// atOnce performs a transaction in one request.
func (s *clients) atOnce(ctx context.Context, n *bubble.Node, client *clientv3.Client,
	t *Transaction) (*Transacted, error) {
	var with []clientv3.OpOption
	if s.cluster.Serializable {
		with = append(with, clientv3.WithSerializable())
	}
	var ops []clientv3.Op
	for _, key := range t.Reads {
		ops = append(ops, clientv3.OpGet(key, with...))
	}
	got, err := client.Txn(ctx).Then(append(ops, t.puts()...)...).Commit()
	if err != nil {
		return nil, err
	}
	done := &Transacted{}
	for i, key := range t.Reads {
		done.Ops = append(done.Ops, readOp(key, (*clientv3.GetResponse)(got.Responses[i].GetResponseRange())))
	}
	return s.transacted(n, t, done, got), nil
}

// optimistic reads the keys one after the other, and then writes if none of them has changed.
func (s *clients) optimistic(ctx context.Context, n *bubble.Node, client *clientv3.Client,
	t *Transaction) (*Transacted, error) {
	done := &Transacted{}
	var same []clientv3.Cmp
	for _, key := range t.Reads {
		got, err := client.Get(ctx, key, clientv3.WithSerializable())
		if err != nil {
			return nil, err
		}
		revision := int64(0)
		if len(got.Kvs) > 0 {
			revision = got.Kvs[0].ModRevision
		}
		same = append(same, clientv3.Compare(clientv3.ModRevision(key), "=", revision))
		done.Ops = append(done.Ops, readOp(key, got))
	}
	got, err := client.Txn(ctx).If(same...).Then(t.puts()...).Commit()
	if err != nil {
		return nil, err
	}
	if !got.Succeeded {
		return &Transacted{Ops: t.Writes, Outcome: isolation.Aborted}, nil
	}
	return s.transacted(n, t, done, got), nil
}

// puts are the writes of a transaction.
func (t *Transaction) puts() (ops []clientv3.Op) {
	for _, w := range t.Writes {
		ops = append(ops, clientv3.OpPut(w.Key, strconv.Itoa(w.Value)))
	}
	return ops
}

// readOp is a read with its result.
func readOp(key string, got *clientv3.GetResponse) isolation.Op {
	if v := value(got).Number; v != 0 {
		return isolation.Op{Func: isolation.Read, Key: key, Value: int(v)}
	}
	return isolation.Op{Func: isolation.Read, Key: key, None: true}
}

// transacted adds the writes of a transaction that took place to its answer.
func (s *clients) transacted(n *bubble.Node, t *Transaction, done *Transacted, got *clientv3.TxnResponse) *Transacted {
	var changes []watch.Change
	for _, w := range t.Writes {
		w.Version = got.Header.Revision
		done.Ops = append(done.Ops, w)
		changes = append(changes, watch.Change{Revision: w.Version, Key: w.Key, Value: strconv.Itoa(w.Value)})
	}
	s.mutex.Lock()
	s.wrote(n, changes)
	s.mutex.Unlock()
	return done
}
