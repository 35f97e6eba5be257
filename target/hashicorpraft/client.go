package hashicorpraft

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// idStep is the distance between the numbers of the clients' requests.
const idStep = 10_000

// enqueue is the time that a request waits for its turn at a leader.
const enqueue = 2 * time.Second

// clients are the clients of a run and its operator, client 0.
type clients struct {
	cluster Cluster
	world   *bubble.World

	mutex sync.Mutex
	each  []*client
}

// client has one request at a time. One whose fate is not known stays without an answer, and
// the client goes on with the next.
type client struct {
	number   int
	rand     *rand.Rand
	left     int // operations to come
	attempts int32
	answered int
	op       *Op    // under way; nil of the operator
	called   bool   // a node has got it
	what     string // the operator's request
	target   lockstep.Node
	voters   lockstep.Nodes // those that are for sure, as far as the operator knows
	gone     lockstep.Nodes // those that were removed
	asks     [4]int         // changes, transfers, snapshots, removals to come
}

func newClients(c Cluster, w *bubble.World) *clients {
	s := &clients{cluster: c, world: w}
	for i := range c.Clients + 1 {
		s.each = append(s.each, &client{number: i, rand: w.Rand(1000 + uint64(i)), left: c.Requests})
	}
	operator := s.each[0]
	operator.asks = [4]int{c.Changes, c.Transfers, c.Snapshots, c.Removals}
	operator.left, operator.voters = c.Changes+c.Transfers+c.Snapshots+c.Removals, trace.AllNodes(c.Nodes)
	for _, k := range s.each {
		s.next(k)
	}
	return s
}

// next begins the client's next operation. The caller has the lock, or nobody else is there.
func (s *clients) next(k *client) {
	k.op, k.called = nil, false
	if k.left == 0 {
		return
	}
	k.left--
	if k.number == 0 {
		s.ask(k)
		s.offer(k, k.what)
		return
	}
	op := &Op{Client: k.number, Key: k.rand.IntN(s.cluster.Keys)}
	switch x := k.rand.IntN(10); {
	case x < 4:
		op.Kind = Get
	case x < 6:
		op.Kind, op.Old = Cas, k.rand.IntN(4)
	}
	op.Value = k.number*1000 + s.cluster.Requests - k.left
	if k.rand.IntN(2) == 0 {
		op.Old = (1+k.rand.IntN(s.cluster.Clients))*1000 + 1 + k.rand.IntN(s.cluster.Requests)
	}
	k.op = op
	s.offer(k, op.String())
}

// ask draws what the operator asks for. Two voters remain in any case: of two, one cannot be
// demoted safely, because the other may never hear of it and then lacks a vote.
func (s *clients) ask(k *client) {
	at := k.rand.IntN(k.left + 1)
	kind := 0
	for at >= k.asks[kind] {
		at -= k.asks[kind]
		kind++
	}
	k.asks[kind]--
	k.target = lockstep.Node(1 + k.rand.IntN(s.cluster.Nodes))
	spare := k.voters.Has(k.target) && k.voters.Len() > max(2, s.cluster.Nodes/2)
	what := "snapshot"
	switch {
	case kind == 0 && spare:
		what = "demote"
	case kind == 0:
		what = "promote"
	case kind == 1:
		what = "transfer"
	case kind == 3 && (spare || !k.voters.Has(k.target) && !k.gone.Has(k.target)):
		what = "remove"
	case kind == 3:
		what = "return"
	}
	k.what = fmt.Sprintf("%s %d", what, k.target)
}

func (s *clients) offer(k *client, text string) {
	k.attempts++
	s.world.Offer(lockstep.Pending{ID: int32(k.number+1)*idStep + k.attempts, To: trace.AllNodes(s.cluster.Nodes), Text: text})
}

// pause is how long a client waits before it tries again. Without one, strategies that let
// time pass only when nothing else is left would let none pass.
const pause = 50 * time.Millisecond

// retry offers the request again after a pause.
func (s *clients) retry(k *client, text string) {
	time.AfterFunc(pause, func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.offer(k, text)
	})
}

// given is called when a request reaches a node.
func (s *clients) given(n *bubble.Node, r *replica, id int32) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	k := s.each[id/idStep-1]
	if k.number > 0 && !k.called {
		k.called = true
		s.world.Emit(n.Self(), spec.EventCall, &spec.Call{Client: k.number, ID: int(id), Input: k.op})
		k.op.call = int(id)
	}
	op, what, target := k.op, k.what, k.target
	n.Go(func() {
		if k.number == 0 {
			s.operated(n, k, r.operate(s.cluster, what, target))
			return
		}
		result, err := r.do(s.cluster, op)
		s.ended(n, k, result, err)
	})
}

// ended takes the answer to an operation, unless the node died meanwhile.
func (s *clients) ended(n *bubble.Node, k *client, result *Result, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case !n.Alive():
		s.next(k)
	case err == nil:
		k.answered++
		s.world.Emit(n.Self(), spec.EventReturn, &spec.Return{Client: k.number, ID: k.op.call, Output: result})
		s.next(k)
	case refused(err):
		s.retry(k, k.op.String())
	default: // it may have happened or not
		s.next(k)
	}
}

// refused reports whether an error says that nothing was done.
func refused(err error) bool {
	return errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrEnqueueTimeout) || errors.Is(err, raft.ErrLeadershipTransferInProgress) ||
		errors.Is(err, errRead)
}

// errRead says that a read could not be served.
var errRead = errors.New("read not served")

// do performs an operation at a node.
func (r *replica) do(c Cluster, o *Op) (*Result, error) {
	if o.Kind != Get {
		f := r.raft.Apply([]byte(o.String()), enqueue)
		if err := f.Error(); err != nil {
			return nil, err
		}
		return f.Response().(*Result), nil
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
		if err := r.raft.VerifyLeader().Error(); err != nil || r.term() != term {
			return nil, fmt.Errorf("%w: %w", errRead, err)
		}
	}
	result := r.machine.read(o.Key)
	return &result, nil
}

// operate does what the operator asks for.
func (r *replica) operate(c Cluster, what string, target lockstep.Node) error {
	id, at := id(target), c.at(target)
	switch what[:4] {
	case "demo":
		return r.raft.DemoteVoter(id, 0, enqueue).Error()
	case "prom":
		return r.raft.AddVoter(id, at, 0, enqueue).Error()
	case "remo":
		return r.raft.RemoveServer(id, 0, enqueue).Error()
	case "retu":
		return r.raft.AddNonvoter(id, at, 0, enqueue).Error()
	case "tran":
		r.transfers.Add(1)
		defer r.transfers.Done()
		return r.raft.LeadershipTransferToServer(id, at).Error()
	default:
		return r.raft.Snapshot().Error()
	}
}

// operated takes the answer to the operator's request.
func (s *clients) operated(n *bubble.Node, k *client, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	told := &Asked{Text: k.what}
	if err != nil {
		told.Err = err.Error()
	}
	if n.Alive() {
		n.Emit(EventMembers, told)
	}
	switch {
	case err != nil && refused(err) && n.Alive() && k.what[:4] != "tran":
		s.retry(k, k.what)
		return
	case k.what[:4] == "demo" || k.what[:4] == "remo": // also where nobody knows
		k.voters = k.voters.Without(k.target)
		if k.what[:4] == "remo" {
			k.gone = k.gone.With(k.target)
		}
	case err == nil && k.what[:4] == "prom":
		k.voters, k.gone = k.voters.With(k.target), k.gone.Without(k.target)
	case err == nil && k.what[:4] == "retu":
		k.gone = k.gone.Without(k.target)
	}
	s.next(k)
}

// unanswered counts the operations that no client got an answer to, and those that wait.
func (s *clients) waiting() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	n := 0
	for _, k := range s.each[1:] {
		if k.op != nil {
			n++
		}
	}
	return n
}
