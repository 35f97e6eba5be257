package hashicorpraft

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/operator"
	"github.com/lockstep-go/lockstep/trace"
)

// enqueue is the time that a request may wait in a leader's queue.
const enqueue = 2 * time.Second

// clients are the clients of a run and its operator. An operation with an unknown outcome stays without an answer,
// and its client continues with the next.
type clients struct {
	cluster Cluster
	world   *bubble.World

	mutex    sync.Mutex
	kv       *kv.Clients
	operator *operator.Operator
	chance   *bubble.Source // of the operator
	voters   lockstep.Nodes // the certain voters in the operator's view
	gone     lockstep.Nodes // the removed ones
}

func newClients(c Cluster, w *bubble.World) *clients {
	s := &clients{cluster: c, world: w, kv: kv.NewClients(c.load(), c.Nodes), operator: newOperator(c),
		chance: w.Source(1001), voters: trace.AllNodes(c.Nodes)}
	s.kv.Begin(w.Source(1000), w)
	s.operator.Begin(w)
	return s
}

// pause is how long a client waits before it retries. Without a pause, no time would pass under strategies that
// advance time only when nothing else is possible.
const pause = 50 * time.Millisecond

// wait waits for that pause. The caller holds the lock, which wait releases meanwhile.
func (c *clients) wait() {
	c.mutex.Unlock()
	defer c.mutex.Lock()
	time.Sleep(pause)
}

// given is called when a request reaches a node.
func (c *clients) given(n *bubble.Node, r *replica, id int32) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.kv.Has(id) {
		task, _ := c.operator.Given(id)
		j := c.job(task)
		n.Go(func() { c.operated(n, j, r.operate(c.cluster, j)) })
		return
	}
	op, _ := c.kv.Given(id)
	n.Go(func() {
		result, err := r.do(c.cluster, op)
		c.ended(n, op, result, err)
	})
}

// ended records the answer to an operation, unless the node crashed meanwhile.
func (c *clients) ended(n *bubble.Node, o *kv.Op, result *kv.Result, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case n.Alive() && err == nil:
		c.kv.Answer(n.Self(), o.Client, o.Seq, *result)
	case n.Alive() && refused(err):
		c.wait()
		c.kv.Offer(o)
	default: // it may have happened or not
		c.kv.GiveUp(o.Client, o.Seq)
	}
}

// refused reports whether an error guarantees that the operation had no effect.
func refused(err error) bool {
	return errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrEnqueueTimeout) ||
		errors.Is(err, raft.ErrLeadershipTransferInProgress) ||
		errors.Is(err, errRead)
}

// errRead means that a read could not be served.
var errRead = errors.New("read not served")

// do performs an operation at a node.
func (r *replica) do(c Cluster, o *kv.Op) (*kv.Result, error) {
	if o.Writes() {
		f := r.raft.Apply(o.Encode(nil), enqueue)
		if err := f.Error(); err != nil {
			return nil, err
		}
		return f.Response().(*kv.Result), nil
	}
	term := r.term()
	switch {
	case c.Reads == Local:
	case c.Reads == Barrier || !r.upToDate(term):
		if err := r.raft.Barrier(enqueue).Error(); err != nil {
			return nil, fmt.Errorf("%w: %w", errRead, err)
		}
		if r.term() == term {
			r.passed(term)
		}
	default:
		if err := r.verify(); err != nil || r.term() != term {
			return nil, fmt.Errorf("%w: %w", errRead, err)
		}
	}
	result := r.machine.read(o.Key)
	return &result, nil
}

// verify asks the library whether the node leads.
func (r *replica) verify() error {
	r.calls.Add(1)
	defer r.calls.Done()
	return r.raft.VerifyLeader().Error()
}
