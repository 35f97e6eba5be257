package nats

import (
	"context"
	"fmt"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep/bubble"
)

// The operator's duties.
const (
	read         = iota // take the next messages that a consumer has not acknowledged
	stepDown            // ask the leader of the stream to step down
	move                // take the server's copy of the stream from it
	metaStepDown        // let the leader of all servers step down, where it is this one
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
			ctx, cancel := context.WithTimeout(n.Context(), patience)
			defer cancel()
			s.perform(ctx, n, to, duty) // what fails is not tried again: nobody promises that it works
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

func (s *clients) perform(ctx context.Context, n *bubble.Node, to door, duty int) {
	switch duty {
	case read:
		if list := take(ctx, to.conn, s.cluster.Replicas); n.Alive() && len(list) > 0 {
			n.Emit(EventRead, list)
		}
	case stepDown:
		_, _ = to.conn.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+streamName, nil)
	case metaStepDown: // as the server does when the system's account asks
		if group := meta(to.server); group != nil && group.Leader() {
			_ = group.StepDown()
		}
	case move:
		_, _ = to.conn.RequestWithContext(ctx, "$JS.API.STREAM.PEER.REMOVE."+streamName, fmt.Appendf(nil, `{"peer":"n%d"}`, n.Self()))
	}
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
