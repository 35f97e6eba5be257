package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
)

// The operator's tasks.
const (
	read         = iota // take the next messages that a consumer has not acknowledged
	stepDown            // ask the leader of the stream to step down, and those of streams that follow it
	move                // move the server's replica of the stream
	metaStepDown        // let the meta leader step down, if it is this server
	remove              // remove the server for good
	purge               // purge the stream of messages before the newest of any key
	erase               // delete a single message that is not the newest of its key
)

// consumer is the name of the reading consumer.
const consumer = "reader"

// ask performs a task at a server, and then offers the next of its kind. The caller has the lock.
func (s *clients) ask(n *bubble.Node, to door, id int32) {
	task, _ := s.operator.Given(id)
	s.tasks[n.Self()] = append(s.tasks[n.Self()], task)
	n.Go(func() {
		s.perform(n, to, task) // failures are not retried: no property promises success
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if n.Alive() {
			s.tasks[n.Self()] = without(s.tasks[n.Self()], task)
			s.operator.Next(task)
		}
	})
}

// perform executes a task, and reports its effects.
func (s *clients) perform(n *bubble.Node, to door, task int) {
	ctx, cancel := context.WithTimeout(n.Context(), timeout)
	defer cancel()
	switch task {
	case read:
		if list := receive(ctx, to.conn, s.cluster.Replicas); n.Alive() && len(list) > 0 {
			n.Emit(EventRead, list)
		}
	case stepDown:
		for _, name := range s.cluster.streams() {
			if ask(ctx, n, to.conn, "STREAM.LEADER.STEPDOWN."+name, nil) == nil {
				n.Emit(EventStepDown, name)
			}
		}
	case metaStepDown: // as the server does when the system account requests it
		if group := meta(to.server); group != nil && group.Leader() && group.StepDown() == nil {
			n.Emit(EventMetaStepDown, to.server.Name())
		}
	case move:
		s.moveReplica(n, to)
	case remove:
		s.dismiss(n, to)
	case purge:
		if seq := s.oldest(); seq > 0 {
			s.drop(ctx, n, to.conn, &Drop{Seq: seq, Below: true}, "STREAM.PURGE."+streamName)
		}
	case erase:
		if seq := s.outdated(); seq > 0 {
			s.drop(ctx, n, to.conn, &Drop{Seq: seq}, "STREAM.MSG.DELETE."+streamName)
		}
	}
}

// drop requests the deletion of messages.
func (s *clients) drop(ctx context.Context, n *bubble.Node, conn *natsgo.Conn, d *Drop, how string) {
	d.ID = d.String()
	n.Emit(EventDropping, d)
	if ask(ctx, n, conn, how, map[string]uint64{"seq": d.Seq}) == nil {
		n.Emit(EventDropped, d)
	}
}

// oldest is the oldest among the newest messages of all keys, or 0 if a key has none. No client needs earlier
// messages.
func (s *clients) oldest() (seq uint64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.newest) < s.cluster.Keys {
		return 0
	}
	seq = anything
	for _, newest := range s.newest { //lockstep:unordered a minimum
		seq = min(seq, newest)
	}
	return seq
}

// outdated is a message that is not the newest of its key, another one each time, or 0.
func (s *clients) outdated() uint64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.older) == 0 {
		return 0
	}
	seq := s.older[0]
	s.older = s.older[1:]
	return seq
}

// request sends a request to JetStream, and returns the error in the answer.
func request(ctx context.Context, conn *natsgo.Conn, what string, about any) error {
	var body []byte
	if about != nil {
		var err error
		if body, err = json.Marshal(about); err != nil {
			return err
		}
	}
	got, err := conn.RequestWithContext(ctx, "$JS.API."+what, body)
	if err != nil {
		return err
	}
	var reply struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(got.Data, &reply); err != nil {
		return err
	}
	if reply.Error != nil {
		return reply.Error
	}
	return nil
}

// attempts is the number of times that an operator checks whether a request is possible, or complete.
const attempts = 30

// moveReplica moves a server's replica of the stream, and waits until another server has it. An operator with the
// option UncheckedMoves neither checks before nor waits.
func (s *clients) moveReplica(n *bubble.Node, to door) {
	if !s.cluster.UncheckedMoves {
		if !s.change(n, to) {
			return
		}
		defer s.done(n.Self())
	}
	name := to.server.Name()
	s.moves(name)
	ctx, cancel := context.WithTimeout(n.Context(), timeout)
	defer cancel()
	err := ask(ctx, n, to.conn, "STREAM.PEER.REMOVE."+streamName, map[string]string{"peer": name})
	switch wrong := (*jetstream.APIError)(nil); {
	case is(err, noPeer):
		s.moves("") // there is no replica to move
		return
	case errors.As(err, &wrong): // and yet versions before v2.15 may do it
		n.Emit(EventRefused, name)
		return
	case err != nil:
		return
	}
	n.Emit(EventMove, name)
	for i := 0; i < attempts && !s.cluster.UncheckedMoves && !s.healthy(n.Context(), to.conn) && wait(n); i++ {
	}
}

// moves records the server whose replica may be moving, until the move is observed. A request may take effect long
// after the operator has timed out, or crashed.
func (s *clients) moves(name string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.moving = name
}

// dismiss stops a server for good.
func (s *clients) dismiss(n *bubble.Node, to door) {
	if group := meta(to.server); group != nil && s.change(n, to) {
		s.mutex.Lock()
		s.leaving[n.Self()] = group.ID()
		s.replicas[n.Self()] = nil
		s.mutex.Unlock()
		close(to.left)
	}
}

// change begins a change of replicas or members, as soon as no other is in progress and all replicas of the stream
// are up to date. It reports whether it could begin. Otherwise data that only this server has would be lost.
func (s *clients) change(n *bubble.Node, to door) bool {
	for range attempts {
		if s.claim(n.Self()) {
			if s.healthy(n.Context(), to.conn) {
				return true
			}
			s.done(n.Self())
		}
		if !wait(n) {
			return false
		}
	}
	return false
}

// claim lets a server's operator begin a change, unless another one is in progress.
func (s *clients) claim(n lockstep.Node) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.changing != 0 {
		return false
	}
	s.changing = n
	return true
}

// done ends a change.
func (s *clients) done(n lockstep.Node) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, leaves := s.leaving[n]; s.changing == n && !leaves {
		s.changing = 0
	}
}

// wait waits before the next attempt, and reports whether the server is still running.
func wait(n *bubble.Node) bool {
	select {
	case <-time.After(pause):
		return true
	case <-n.Context().Done():
		return false
	}
}

// healthy checks the stream, the streams that follow it, and the subscribers' consumer if there is one. It reports
// whether each has all its replicas, all up to date and none at a server that it was to leave. Their leaders provide
// the information.
func (s *clients) healthy(ctx context.Context, conn *natsgo.Conn) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s.mutex.Lock()
	without := s.moving
	s.mutex.Unlock()
	if !s.isComplete(ctx, conn, without) {
		return false
	}
	s.moves("")
	return true
}

// isComplete requests that information.
func (s *clients) isComplete(ctx context.Context, conn *natsgo.Conn, without string) bool {
	js, err := jetstream.New(conn)
	if err != nil {
		return false
	}
	in, err := js.Stream(ctx, streamName)
	if err != nil || !complete(in.CachedInfo().Cluster, s.cluster.Replicas, without) {
		return false
	}
	for _, name := range s.cluster.followers() {
		follows, err := js.Stream(ctx, name)
		// The replicas of these streams are not moved.
		if err != nil || !complete(follows.CachedInfo().Cluster, s.cluster.Replicas, "") {
			return false
		}
	}
	if !s.cluster.Consume {
		return true
	}
	by, err := in.Consumer(ctx, taker)
	if err != nil {
		return errors.Is(err, jetstream.ErrConsumerNotFound)
	}
	return complete(by.CachedInfo().Cluster, s.cluster.Replicas, without)
}

// complete reports whether there are so many replicas, each up to date and none at a server of this name.
func complete(group *jetstream.ClusterInfo, replicas int, without string) bool {
	return group != nil && group.Leader != "" && group.Leader != without && len(group.Replicas) == replicas-1 &&
		!slices.ContainsFunc(group.Replicas,
			func(p *jetstream.PeerInfo) bool { return !p.Current || p.Offline || p.Lag > 0 || p.Name == without })
}

// isLeaving reports whether a server was stopped for good, and the ID by which others know it.
func (s *clients) isLeaving(n lockstep.Node) (peer string, yes bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	peer, yes = s.leaving[n]
	return peer, yes
}

// name is the name of the server of a node: each replacement has its own.
func (s *clients) name(n lockstep.Node) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if before := s.gone[n]; before > 0 {
		return fmt.Sprintf("n%d-%d", n, before+1)
	}
	return fmt.Sprint("n", n)
}

// replace makes the other servers remove one that was stopped for good, and frees its node for another. It asks until
// they answer that it is no member: an answer that they removed it may come before the removal is certain.
func (s *clients) replace(n *bubble.Node, peer string) error {
	conn, err := dial(n.Others(), natsgo.UserInfo(system, system))
	if err != nil {
		return err
	}
	n.OnStop(conn.Close)
	defer conn.Close()
	name := s.name(n.Self())
	for n.Alive() {
		ctx, cancel := context.WithTimeout(n.Context(), timeout)
		err := ask(ctx, n, conn, "SERVER.REMOVE", map[string]string{"peer": name, "peer_id": peer})
		cancel()
		if is(err, notMember) {
			s.mutex.Lock()
			delete(s.leaving, n.Self())
			s.gone[n.Self()]++
			s.mutex.Unlock()
			s.done(n.Self())
			n.Emit(EventRemoved, name)
			return nil
		}
		wait(n)
	}
	return nil
}

// The server's error codes for a server that has no replica of a stream, and for one that is no member of the
// cluster.
const (
	noPeer    jetstream.ErrorCode = 10040
	notMember jetstream.ErrorCode = 10044
)

// is reports whether an error is this one of the server.
func is(err error, code jetstream.ErrorCode) bool {
	wrong := (*jetstream.APIError)(nil)
	return errors.As(err, &wrong) && wrong.ErrorCode == code
}

// receive takes messages through the consumer and acknowledges them. It creates the consumer if there is none.
func receive(ctx context.Context, conn *natsgo.Conn, replicas int) (list Messages) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil
	}
	by, err := js.CreateOrUpdateConsumer(ctx, streamName,
		jetstream.ConsumerConfig{Durable: consumer, Replicas: replicas, AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		return nil
	}
	batch, err := by.Fetch(20, jetstream.FetchMaxWait(2*time.Second))
	if err != nil {
		return nil
	}
	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			continue
		}
		list = append(list, Message{Seq: meta.Sequence.Stream, Subject: m.Subject(), Data: string(m.Data())})
		_ = m.Ack()
	}
	return list
}
