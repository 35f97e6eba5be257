package upgrade

import (
	"context"
	"strconv"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/trace"
)

// timeout is the client's timeout of an operation, pause how long it waits before the next one, and operatorPause how
// long the operator waits between two steps: the servers refuse changes of a cluster that is not healthy.
const (
	timeout       = 5 * time.Second
	pause         = 100 * time.Millisecond
	operatorPause = 2 * time.Second
)

// task is an operation of a client, or a task of the operator.
type task struct {
	op   *kv.Op
	task int // of the operator
	step int // its steps before this one
}

// given is called when a request reaches a ready member. Clients are of the versions in turn, the operator is of the
// member's version.
func (r *run) given(n *bubble.Node, clients []Client, id int32) {
	t := r.accept(n, id)
	n.Go(func() {
		ctx, cancel := context.WithTimeout(n.Context(), timeout)
		defer cancel()
		if t.op != nil {
			r.operate(ctx, n, clients[t.op.Client%len(clients)], t)
			return
		}
		r.step(ctx, n, clients[n.Configuration()], t.step)
		time.Sleep(operatorPause)
		r.finish(n, t, func() { r.giveUp(t) })
	})
}

// refuse offers a request again that reached a node without a ready member. Otherwise an operator whose request is at
// the node to be added could not learn that it was added.
func (r *run) refuse(n *bubble.Node, id int32) {
	t := r.accept(n, id)
	n.Go(func() {
		time.Sleep(pause)
		r.finish(n, t, func() {
			if t.op != nil {
				r.kv.Offer(t.op)
			} else {
				r.operator.Retry(t.task)
			}
		})
	})
}

// accept records that a request is in progress at a node.
func (r *run) accept(n *bubble.Node, id int32) (t task) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.operator.Has(id) {
		t.task, t.step = r.operator.Given(id)
	} else {
		t.op, _ = r.kv.Given(id)
	}
	r.under[n.Self()] = append(r.under[n.Self()], t)
	return t
}

// giveUp continues after a task with an unknown outcome, or after a step of the operator.
func (r *run) giveUp(t task) {
	if t.op != nil {
		r.kv.GiveUp(t.op.Client, t.op.Seq)
	} else if !r.downgrade.enabled { // afterwards the operator has nothing to do
		r.operator.Next(t.task)
	}
}

// operate performs an operation of a client. A read that failed is repeated; a write may have taken effect.
func (r *run) operate(ctx context.Context, n *bubble.Node, c Client, t task) {
	result, err := do(ctx, c, t.op)
	n.Log(trace.LogClient, "", func() string {
		if err != nil {
			return t.op.String() + ": " + err.Error()
		}
		return t.op.String() + " -> " + result.String()
	})
	again := err != nil && t.op.Kind == kv.Get
	if err != nil {
		time.Sleep(pause)
	}
	r.finish(n, t, func() {
		switch {
		case err == nil:
			r.kv.Answer(n.Self(), t.op.Client, t.op.Seq, result)
		case again:
			r.kv.Offer(t.op)
		default:
			r.giveUp(t)
		}
	})
}

// do performs an operation.
func do(ctx context.Context, c Client, o *kv.Op) (result kv.Result, err error) {
	key, is := kv.KeyName(o.Key), text(o.Value)
	result.OK = true
	switch o.Kind {
	case kv.Put:
		result.Revision, err = c.Put(ctx, key, is)
	case kv.Get:
		is, result.Revision, err = c.Get(ctx, key)
	default:
		is, result.OK, result.Revision, err = c.Swap(ctx, key, text(o.Old), is)
	}
	result.Value = value(is)
	return result, err
}

// text is a number as the value of a key; a key that was never written has the number 0.
func text(v int32) string {
	if v == 0 {
		return ""
	}
	return strconv.Itoa(int(v))
}

func value(text string) kv.Value {
	v, _ := strconv.Atoi(text)
	return kv.Value{Number: int32(v)}
}

// step is a step of the operator. It changes the members, and requests the downgrade afterwards, never both at a time:
// a downgrade needs a cluster of which all members run.
func (r *run) step(ctx context.Context, n *bubble.Node, c Client, before int) {
	ids, learners, err := c.Members(ctx)
	if err != nil {
		return
	}
	if _, in := ids[address(r.spare(), peerPort)]; in {
		r.add() // its addition may have had no answer
	}
	due, asked := r.due(ids)
	if !asked && before < r.cluster.Changes && r.change(ctx, n, c, ids, learners) {
		return
	}
	if due {
		r.enable(ctx, n, c)
	}
}

// change takes the next step of the membership changes: the spare node joins, is promoted, and replaces the last
// initial member. It reports whether there is a step left.
func (r *run) change(
	ctx context.Context, n *bubble.Node, c Client, ids map[string]uint64, learners map[string]bool,
) bool {
	spare, last := address(r.spare(), peerPort), address(lockstep.Node(r.cluster.Nodes), peerPort)
	id, in := ids[spare]
	var err error
	what, node := "", r.spare()
	switch {
	case !in:
		if what, err = Added, c.Add(ctx, spare); err == nil {
			r.add()
		}
	case learners[spare]:
		what, err = Promoted, c.Promote(ctx, id)
	case ids[last] != 0 && r.cluster.Nodes > 1:
		node = lockstep.Node(r.cluster.Nodes)
		r.remove(node)
		r.world.Event(lockstep.Event{Node: node, Type: EventMember, Value: Leaving})
		what, err = Removed, c.Remove(ctx, ids[last])
	default:
		return false
	}
	n.Log(trace.LogOperator, "", func() string {
		if err != nil {
			return what + " " + name(node) + ": " + err.Error()
		}
		return what + " " + name(node)
	})
	if err == nil {
		r.world.Event(lockstep.Event{Node: node, Type: EventMember, Value: what})
	}
	return true
}

// report reports a member's store, and the members that it lists.
func (r *run) report(n *bubble.Node, s Server, c Client) {
	ctx, cancel := context.WithTimeout(n.Context(), timeout)
	defer cancel()
	hash, revision, compacted, err := c.Hash(ctx, address(n.Self(), clientPort))
	if err == nil {
		n.Emit(EventStore, &Store{revision, compacted, hash})
	}
	if r.cluster.Downgrade && !r.leaves(n.Self()) { // etcd panics when it is asked after its removal
		if version, err := c.Storage(ctx); err == nil {
			r.stores(n, version, s.ClusterVersion())
		}
	}
	if r.cluster.Changes == 0 {
		return
	}
	began := trace.Time(n.World().Now())
	ids, learners, err := c.Members(ctx)
	if err != nil {
		return
	}
	all := map[string]bool{}
	for peer := range ids { //lockstep:unordered the nodes become a set
		all[peer] = true
	}
	n.Emit(EventMembers, &Members{Began: began, All: r.nodes(all), Learners: r.nodes(learners)})
}
