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

// The operator's duties.
const (
	read         = iota // take the next messages that a consumer has not acknowledged
	stepDown            // ask the leader of the stream to step down, and those of streams that follow it
	move                // take the server's copy of the stream from it
	metaStepDown        // let the leader of all servers step down, where it is this one
	remove              // remove the server for good
	purge               // purge the stream of messages before the newest of any key
	erase               // delete a single message that is not the newest of its key
)

// consumer is the name of the one that reads.
const consumer = "reader"

// ask performs a duty at a server, and then offers the next of its kind. The caller has the lock.
func (s *clients) ask(n *bubble.Node, to door, id int32) {
	duty, _ := s.operator.Given(id)
	s.duties[n.Self()] = append(s.duties[n.Self()], duty)
	n.Go(func() {
		s.perform(n, to, duty) // what fails is not tried again: nobody promises that it works
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if n.Alive() {
			s.duties[n.Self()] = without(s.duties[n.Self()], duty)
			s.operator.Next(duty)
		}
	})
}

// perform does what is asked for, and tells what has happened.
func (s *clients) perform(n *bubble.Node, to door, duty int) {
	ctx, cancel := context.WithTimeout(n.Context(), patience)
	defer cancel()
	switch duty {
	case read:
		if list := take(ctx, to.conn, s.cluster.Replicas); n.Alive() && len(list) > 0 {
			n.Emit(EventRead, list)
		}
	case stepDown:
		for _, name := range s.cluster.streams() {
			if request(ctx, to.conn, "STREAM.LEADER.STEPDOWN."+name, nil) == nil {
				n.Emit(EventStepDown, name)
			}
		}
	case metaStepDown: // as the server does when the system's account asks
		if group := meta(to.server); group != nil && group.Leader() && group.StepDown() == nil {
			n.Emit(EventMetaStepDown, to.server.Name())
		}
	case move:
		s.moveCopy(n, to)
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

// drop asks for messages to be deleted.
func (s *clients) drop(ctx context.Context, n *bubble.Node, conn *natsgo.Conn, d *Drop, how string) {
	d.ID = d.String()
	n.Emit(EventDropping, d)
	if request(ctx, conn, how, map[string]uint64{"seq": d.Seq}) == nil {
		n.Emit(EventDropped, d)
	}
}

// oldest is the oldest of the newest messages of all keys, before which nobody misses anything, or 0 where a key has none.
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

// request asks JetStream for something, and returns what the answer complains of.
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

// tries is how often an operator looks whether something can be done, or is.
const tries = 30

// moveCopy takes a server's copy of the stream from it, and waits until another has one instead. A careless operator does
// neither look before nor wait.
func (s *clients) moveCopy(n *bubble.Node, to door) {
	if !s.cluster.Careless {
		if !s.change(n, to) {
			return
		}
		defer s.done(n.Self())
	}
	name := to.server.Name()
	s.moves(name)
	ctx, cancel := context.WithTimeout(n.Context(), patience)
	defer cancel()
	err := request(ctx, to.conn, "STREAM.PEER.REMOVE."+streamName, map[string]string{"peer": name})
	switch wrong := (*jetstream.APIError)(nil); {
	case is(err, noPeer):
		s.moves("") // there is no copy to be taken
		return
	case errors.As(err, &wrong): // and yet versions before v2.15 may do it
		n.Emit(EventRefused, name)
		return
	case err != nil:
		return
	}
	n.Emit(EventMove, name)
	for i := 0; i < tries && !s.cluster.Careless && !s.healthy(n.Context(), to.conn) && wait(n, pause); i++ {
	}
}

// moves says whose copy may be on its way to another server, until that has been seen: a request may have its effect long
// after the operator has given it up, or died.
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
		s.copies[n.Self()] = nil
		s.mutex.Unlock()
		close(to.left)
	}
}

// change begins a change of who has what, as soon as no other is under way and all copies of the stream are up to date, and
// reports whether that came: what the server alone has would be lost.
func (s *clients) change(n *bubble.Node, to door) bool {
	for range tries {
		if s.claim(n.Self()) {
			if s.healthy(n.Context(), to.conn) {
				return true
			}
			s.done(n.Self())
		}
		if !wait(n, pause) {
			return false
		}
	}
	return false
}

// claim lets a server's operator begin a change, unless another one is under way.
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

// wait lets time pass, and reports whether the server still lives.
func wait(n *bubble.Node, long time.Duration) bool {
	select {
	case <-time.After(long):
		return true
	case <-n.Context().Done():
		return false
	}
}

// healthy reports whether the stream, those that follow it, and the consumer of the subscribers where there is one, have all of
// their copies, each up to date and none at a server that it was to be taken from, as their leaders know.
func (s *clients) healthy(ctx context.Context, conn *natsgo.Conn) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
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

// isComplete asks for that.
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
		if err != nil || !complete(follows.CachedInfo().Cluster, s.cluster.Replicas, "") { // their copies are not moved
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

// complete reports whether there are so many copies, each up to date and none at a server of this name.
func complete(group *jetstream.ClusterInfo, copies int, without string) bool {
	return group != nil && group.Leader != "" && group.Leader != without && len(group.Replicas) == copies-1 &&
		!slices.ContainsFunc(group.Replicas, func(p *jetstream.PeerInfo) bool { return !p.Current || p.Offline || p.Lag > 0 || p.Name == without })
}

// isLeaving reports whether a server was stopped for good, and with which number others know it.
func (s *clients) isLeaving(n lockstep.Node) (peer string, yes bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	peer, yes = s.leaving[n]
	return peer, yes
}

// name is that of the server at a place: each that takes the place of another has its own.
func (s *clients) name(n lockstep.Node) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if before := s.gone[n]; before > 0 {
		return fmt.Sprintf("n%d-%d", n, before+1)
	}
	return fmt.Sprint("n", n)
}

// replace lets the other servers remove one that was stopped for good, and makes its place free for another. They are
// asked until they say that it is none of theirs: an answer that it was removed may come before that is sure.
func (s *clients) replace(n *bubble.Node, peer string) error {
	conn, err := dial(n.Others(), natsgo.UserInfo(system, system))
	if err != nil {
		return err
	}
	n.OnStop(conn.Close)
	defer conn.Close()
	name := s.name(n.Self())
	for n.Alive() {
		ctx, cancel := context.WithTimeout(n.Context(), patience)
		err := request(ctx, conn, "SERVER.REMOVE", map[string]string{"peer": name, "peer_id": peer})
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
		wait(n, pause)
	}
	return nil
}

// The server's errors that a server has no copy of a stream, and that it is no member of the cluster.
const (
	noPeer    jetstream.ErrorCode = 10040
	notMember jetstream.ErrorCode = 10044
)

// is reports whether an error is this one of the server.
func is(err error, code jetstream.ErrorCode) bool {
	wrong := (*jetstream.APIError)(nil)
	return errors.As(err, &wrong) && wrong.ErrorCode == code
}

// take lets the consumer, which is made where there is none, take and acknowledge messages.
func take(ctx context.Context, conn *natsgo.Conn, replicas int) (list Messages) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil
	}
	by, err := js.CreateOrUpdateConsumer(ctx, streamName, jetstream.ConsumerConfig{Durable: consumer, Replicas: replicas, AckPolicy: jetstream.AckExplicitPolicy})
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
