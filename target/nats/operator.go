package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
)

// The operator's duties.
const (
	read         = iota // take the next messages that a consumer has not acknowledged
	stepDown            // ask the leader of the stream to step down
	move                // take the server's copy of the stream from it
	metaStepDown        // let the leader of all servers step down, where it is this one
	remove              // remove the server for good
)

// consumer is the name of the one that reads.
const consumer = "reader"

// ask performs a duty at a server as soon as it is up, and then offers the next of its kind. The caller has the
// lock.
func (s *clients) ask(n *bubble.Node, up <-chan door, id int32) {
	duty, _ := s.operator.Given(id)
	s.duties[n.Self()] = append(s.duties[n.Self()], duty)
	n.Go(func() {
		select {
		case to := <-up:
			s.perform(n, to, duty) // what fails is not tried again: nobody promises that it works
		case <-n.Context().Done():
			return
		}
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
		if request(ctx, to.conn, "STREAM.LEADER.STEPDOWN."+streamName, nil) == nil {
			n.Emit(EventStepDown, streamName)
		}
	case metaStepDown: // as the server does when the system's account asks
		if group := meta(to.server); group != nil && group.Leader() && group.StepDown() == nil {
			n.Emit(EventMetaStepDown, to.server.Name())
		}
	case move:
		if request(ctx, to.conn, "STREAM.PEER.REMOVE."+streamName, map[string]string{"peer": to.server.Name()}) == nil {
			n.Emit(EventMove, to.server.Name())
		}
	case remove:
		s.dismiss(n, to)
	}
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

// tries is how often an operator looks whether a server can go.
const tries = 30

// dismiss stops a server for good, as soon as no other is about to go and all copies of the stream are up to date: what
// the server alone has would be lost.
func (s *clients) dismiss(n *bubble.Node, to door) {
	for range tries {
		if healthy(n.Context(), to.conn, s.cluster.Replicas) && s.leave(n.Self(), meta(to.server)) {
			close(to.left)
			return
		}
		if !wait(n, pause) {
			return
		}
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

// healthy reports whether the stream has all of its copies, each up to date, as its leader knows.
func healthy(ctx context.Context, conn *natsgo.Conn, replicas int) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	js, err := jetstream.New(conn)
	if err != nil {
		return false
	}
	in, err := js.Stream(ctx, streamName)
	if err != nil {
		return false
	}
	group := in.CachedInfo().Cluster
	return group != nil && len(group.Replicas) == replicas-1 &&
		!slices.ContainsFunc(group.Replicas, func(p *jetstream.PeerInfo) bool { return !p.Current || p.Offline || p.Lag > 0 })
}

// leave notes that a server goes, unless another does already.
func (s *clients) leave(n lockstep.Node, group server.RaftNode) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if group == nil || len(s.leaving) > 0 {
		return false
	}
	s.leaving[n] = group.ID()
	s.copies[n] = nil
	return true
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
		if wrong := (*jetstream.APIError)(nil); errors.As(err, &wrong) && wrong.ErrorCode == notMember {
			s.mutex.Lock()
			delete(s.leaving, n.Self())
			s.gone[n.Self()]++
			s.mutex.Unlock()
			n.Emit(EventRemoved, name)
			return nil
		}
		wait(n, pause)
	}
	return nil
}

// notMember is the server's error that a server is no member of the cluster.
const notMember jetstream.ErrorCode = 10044

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
