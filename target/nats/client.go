package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/operator"
	"github.com/lockstep-go/lockstep/trace"
)

const (
	// timeout is the client's timeout of an operation.
	timeout = 5 * time.Second
	// pause is how long a client waits before it retries.
	pause = time.Second
	// bucket is the name of the key-value store, streamName that of its underlying stream.
	bucket     = "lockstep"
	streamName = "KV_" + bucket
)

// clients are the clients of a run. Each talks to the server that the strategy chooses, within the process. They use
// a key-value store that keeps its whole history: every write is a message of a stream, and every message has a
// unique value. A write with an unknown outcome stays without an answer, and its client continues with the next
// operation.
type clients struct {
	cluster Cluster
	queue   *queue

	mutex     sync.Mutex
	kv        *kv.Clients
	operator  *operator.Operator
	under     map[lockstep.Node][]*kv.Op // in progress at a server
	tasks     map[lockstep.Node][]int    // of the operator, likewise
	revisions map[int32]uint64           // of values whose writes were acknowledged
	newest    map[uint8]uint64           // of each key, among the acknowledged ones
	older     []uint64                   // the others
	replicas  [65]*Replica               // last reported by servers
	// leaving maps servers stopped for good to the IDs under which other servers still count them.
	leaving  map[lockstep.Node]string
	gone     map[lockstep.Node]int // servers removed
	changing lockstep.Node         // the node whose operator changes replicas or members; 0: none
	leads    map[lead]bool         // the leaders of streams that follow, as last reported by servers
	// moving is the server whose replica an operator has asked to move, until the move is observed.
	moving string
}

func newClients(c Cluster, w *bubble.World) *clients {
	load := kv.Load{Clients: c.Clients, Requests: c.Requests, Keys: c.Keys, Mix: c.Mix}
	s := &clients{cluster: c, queue: &queue{World: w}, kv: kv.NewClients(load, c.Nodes),
		operator: operator.New(
			c.Nodes,
			[]operator.Task{
				read:     {Name: "read", Times: c.Reads},
				stepDown: {Name: "step down", Times: c.StepDowns},
				move:     {Name: "move the replica", Times: c.Moves},
				metaStepDown: {
					Name:  "step down as leader of all",
					Times: c.MetaStepDowns,
				},
				remove: {Name: "remove the server", Times: c.Removals},
				purge:  {Name: "purge", Times: c.Purges},
				erase:  {Name: "delete a message", Times: c.Erasures},
			},
			nil,
		),
		leaving: map[lockstep.Node]string{}, gone: map[lockstep.Node]int{}, leads: map[lead]bool{},
		under: map[lockstep.Node][]*kv.Op{}, tasks: map[lockstep.Node][]int{}, revisions: map[int32]uint64{},
		newest: map[uint8]uint64{}}
	s.kv.Begin(w.Rand(1000), s.queue)
	s.operator.Begin(s.queue)
	return s
}

// queue is the queue of requests, which are offered as soon as there is a stream.
type queue struct {
	*bubble.World
	open bool
	kept []trace.Pending // until then
}

// Offer offers a request.
func (q *queue) Offer(p trace.Pending) {
	if !q.open {
		q.kept = append(q.kept, p)
		return
	}
	q.World.Offer(p)
}

// forget abandons the operations in progress at a server in its previous incarnation: the goroutines that waited for
// the answers died with it.
func (s *clients) forget(n lockstep.Node) {
	s.done(n)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, o := range s.under[n] {
		s.kv.GiveUp(o.Client, o.Seq)
	}
	for _, task := range s.tasks[n] {
		s.operator.Next(task)
	}
	delete(s.under, n)
	delete(s.tasks, n)
	s.replicas[n] = nil
}

// record records the content of a server's replica of the stream.
func (s *clients) record(n *bubble.Node, c *Replica) {
	s.mutex.Lock()
	s.replicas[n.Self()] = c
	s.mutex.Unlock()
	n.Emit(EventReplica, c)
}

// stateText is that content as text.
func (s *clients) stateText(n lockstep.Node) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.replicas[n] == nil {
		return ""
	}
	return s.replicas[n].String()
}

// create makes the stream, and those that follow it, once in a run: servers try until one has succeeded.
func (s *clients) create(n *bubble.Node, conn *natsgo.Conn) error {
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	for n.Alive() && !s.isCreated() {
		ctx, cancel := context.WithTimeout(n.Context(), timeout)
		for _, config := range s.cluster.configs() {
			if _, err = js.CreateStream(ctx, config); err != nil {
				break
			}
		}
		cancel()
		if err == nil {
			s.begin()
			return nil
		}
		select {
		case <-time.After(pause):
		case <-n.Context().Done():
		}
	}
	return nil
}

// begin starts the clients when there is a stream.
func (s *clients) begin() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.queue.open {
		return
	}
	s.queue.open = true
	for _, p := range s.queue.kept {
		s.queue.World.Offer(p)
	}
}

func (s *clients) isCreated() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.queue.open
}

// given is called when a request reaches a running server.
func (s *clients) given(n *bubble.Node, to door, id int32) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.operator.Has(id) {
		s.ask(n, to, id)
		return
	}
	op, _ := s.kv.Given(id)
	s.under[n.Self()] = append(s.under[n.Self()], op)
	n.Emit(EventAsked, op.Client)
	if op.Kind == kv.Delete && s.cluster.Purge {
		n.Emit(EventDropping, &Drop{ID: payload(op), Subject: subject(op.Key), Seq: anything, Below: true})
	}
	n.Go(func() { s.operate(n, to, op) })
}

// operate performs an operation of a client at a server.
func (s *clients) operate(n *bubble.Node, to door, o *kv.Op) {
	ctx, cancel := context.WithTimeout(n.Context(), timeout)
	defer cancel()
	a, err := s.do(ctx, to.conn, o)
	if untouched(o, err) {
		wait(n)
	}
	s.ended(n, o, a, err)
}

// untouched reports whether an error guarantees that the operation had no effect.
func untouched(o *kv.Op, err error) bool {
	return errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, natsgo.ErrNoResponders) || err != nil &&
		o.Kind == kv.Get
}

// ended records the answer to an operation, unless the server crashed meanwhile.
func (s *clients) ended(n *bubble.Node, o *kv.Op, a answer, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !n.Alive() {
		return // see forget
	}
	s.under[n.Self()] = without(s.under[n.Self()], o)
	if err != nil {
		n.Log(trace.LogClient, "", func() string { return o.String() + answered(err) })
	}
	switch {
	case err == nil && a.seq > 0:
		s.acknowledged(n, o, a.seq)
		s.kv.Answer(n.Self(), o.Client, o.Seq, a.Result)
	case err == nil && s.cluster.Mix.Get > 0:
		s.kv.Answer(n.Self(), o.Client, o.Seq, a.Result)
	case untouched(o, err):
		s.kv.Offer(o)
	default: // it may have happened or not; or it was refused, based on one server's knowledge
		s.kv.GiveUp(o.Client, o.Seq)
	}
}

// acknowledged records an acknowledged message. The caller has the lock.
func (s *clients) acknowledged(n *bubble.Node, o *kv.Op, seq uint64) {
	if o.Kind != kv.Delete {
		s.revisions[o.Value] = seq
	} else if s.cluster.Purge {
		n.Emit(EventDropped, &Drop{ID: payload(o), Subject: subject(o.Key), Seq: seq, Below: true})
	}
	s.wrote(o.Key, seq)
	n.Emit(EventAcknowledged, &Acknowledged{Client: o.Client, Seq: seq, Subject: subject(o.Key), Data: payload(o)})
}

// wrote records which messages are the newest of their keys.
func (s *clients) wrote(key uint8, seq uint64) {
	if last := s.newest[key]; last != 0 {
		s.older = append(s.older, min(last, seq))
	}
	s.newest[key] = max(s.newest[key], seq)
}

// without is a list without one of its values.
func without[T comparable](list []T, v T) []T {
	if i := slices.Index(list, v); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// answer is the answer to an operation, with the number of the message that it wrote, or 0.
type answer struct {
	kv.Result
	seq uint64
}

// do performs an operation at a server.
func (s *clients) do(ctx context.Context, conn *natsgo.Conn, o *kv.Op) (answer, error) {
	switch o.Kind {
	case kv.Put, kv.Delete:
		return s.publish(ctx, conn, o)
	case kv.Cas:
		return s.cas(ctx, conn, o)
	}
	ask := last
	if s.cluster.Direct {
		ask = direct
	}
	read, err := ask(ctx, conn, o.Key)
	return answer{Result: kv.Result{Value: kv.Value{Number: read.value}, OK: true}}, err
}

// subject is the subject of a key.
func subject(key uint8) string { return "$KV." + bucket + "." + kv.KeyName(key) }

// payload is the unique content of a write's message: a value, or the ID of the deleting client.
func payload(o *kv.Op) string {
	if o.Kind == kv.Delete {
		return fmt.Sprintf("%s%d.%d", deleted, o.Client, o.Seq)
	}
	return text(o.Value)
}

// deleted is the prefix of the content of a message that deletes a key.
const deleted = "-"

// headers are the headers of a write's message. They mark a delete for clients, and a purge for the server.
func (s *clients) headers(o *kv.Op) natsgo.Header {
	switch {
	case o.Kind != kv.Delete:
		return nil
	case s.cluster.Purge:
		return natsgo.Header{"KV-Operation": {"PURGE"}, jetstream.MsgRollup: {jetstream.MsgRollupSubject}}
	}
	return natsgo.Header{"KV-Operation": {"DEL"}}
}

// publish writes a value, or a deletion, and waits for the acknowledgment.
func (s *clients) publish(ctx context.Context, conn *natsgo.Conn, o *kv.Op, with ...jetstream.PublishOpt) (a answer,
	err error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return a, err
	}
	got, err := js.PublishMsg(
		ctx,
		&natsgo.Msg{Subject: subject(o.Key), Data: []byte(payload(o)), Header: s.headers(o)},
		append(with, jetstream.WithRetryAttempts(0))...)
	if err != nil {
		return a, err
	}
	return answer{Result: kv.Result{Value: kv.Value{Number: o.Value}, OK: true}, seq: got.Sequence}, nil
}

// cas sets a key to a value if it has a given one. It uses the number of the message that wrote the given value, and
// requests it if the clients do not know it. A key that was never written has the value 0, and so has a deleted key,
// but a deleted key has a message.
func (s *clients) cas(ctx context.Context, conn *natsgo.Conn, o *kv.Op) (a answer, err error) {
	s.mutex.Lock()
	revision, known := s.revisions[o.Old]
	s.mutex.Unlock()
	if !known && (o.Old != 0 || s.cluster.Mix.Delete > 0) {
		is, err := last(ctx, conn, o.Key)
		if err != nil || is.value != o.Old {
			return refused(is), err
		}
		revision = is.seq
	}
	a, err = s.publish(ctx, conn, o, jetstream.WithExpectLastSequencePerSubject(revision))
	if is(err, jetstream.JSErrCodeStreamWrongLastSequence) {
		is, err := last(ctx, conn, o.Key)
		return refused(is), err
	}
	return a, err
}

func refused(is entry) answer { return answer{Result: kv.Result{Value: kv.Value{Number: is.value}}} }

// entry is the value of a key, and the number of the message that wrote it.
type entry struct {
	value int32
	seq   uint64
}

// last asks the leader of the stream for the value of a key.
func last(ctx context.Context, conn *natsgo.Conn, key uint8) (e entry, err error) {
	request := fmt.Sprintf(`{"last_by_subj":%q}`, subject(key))
	got, err := conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+streamName, []byte(request))
	if err != nil {
		return e, err
	}
	var reply struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Seq  uint64 `json:"seq"`
			Data []byte `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(got.Data, &reply); err != nil {
		return e, err
	}
	switch {
	case reply.Error != nil && reply.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return e, nil
	case reply.Error != nil:
		return e, reply.Error
	}
	return held(reply.Message.Data, reply.Message.Seq)
}

// direct asks any server with a replica for the value of a key.
func direct(ctx context.Context, conn *natsgo.Conn, key uint8) (e entry, err error) {
	got, err := conn.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+streamName+"."+subject(key), nil)
	if err != nil {
		return e, err
	}
	switch status := got.Header.Get("Status"); status {
	case "":
		seq, err := strconv.ParseUint(got.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err != nil {
			return e, err
		}
		return held(got.Data, seq)
	case "404": // it was never written
		return e, nil
	default:
		return e, fmt.Errorf("nats: a direct get was answered with status %s", status)
	}
}

// held is the value of a key according to its last message.
func held(data []byte, seq uint64) (entry, error) {
	if strings.HasPrefix(string(data), deleted) {
		return entry{seq: seq}, nil
	}
	value, err := strconv.Atoi(strings.TrimSpace(string(data)))
	return entry{int32(value), seq}, err
}

func text(v int32) string { return strconv.Itoa(int(v)) }
