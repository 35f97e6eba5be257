package nats

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep/bubble"
)

const (
	// taker is the name of the consumer through which the subscribers of all servers take messages.
	taker = "taker"
	// redelivery is the time after which an unacknowledged message is redelivered.
	redelivery = 10 * time.Second
)

// subscribe takes messages of the stream and acknowledges each, as long as the server runs.
func (s *clients) subscribe(n *bubble.Node, at door) {
	js, err := jetstream.New(at.conn)
	if err != nil {
		return
	}
	var by jetstream.Consumer
	for {
		select {
		case <-time.After(pause):
		case <-at.left:
			return
		case <-n.Context().Done():
			return
		}
		if !s.isCreated() {
			continue
		}
		if by == nil {
			by = s.takerOf(n.Context(), js)
		}
		if by != nil && s.pull(n, by) != nil {
			by = nil // the consumer may be gone
		}
	}
}

// takerOf is the consumer, or nil. It creates the consumer if there is none.
func (s *clients) takerOf(ctx context.Context, js jetstream.JetStream) jetstream.Consumer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	by, err := js.CreateConsumer(
		ctx,
		streamName,
		jetstream.ConsumerConfig{
			Durable:   taker,
			Replicas:  s.cluster.Replicas,
			AckPolicy: jetstream.AckExplicitPolicy,
			AckWait:   redelivery,
		},
	)
	if err != nil {
		return nil
	}
	return by
}

// pull takes the next messages, and acknowledges each until the server confirms the acknowledgment.
func (s *clients) pull(n *bubble.Node, by jetstream.Consumer) error {
	began := n.World().Now()
	batch, err := by.Fetch(20, jetstream.FetchMaxWait(time.Second))
	if err != nil {
		return err
	}
	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		n.Emit(
			EventDelivered,
			&Delivered{Message: Message{Seq: meta.Sequence.Stream, Subject: m.Subject(), Data: string(m.Data())},
				Place: meta.Sequence.Consumer, Times: meta.NumDelivered, Asked: began},
		)
		ctx, cancel := context.WithTimeout(n.Context(), timeout)
		if m.DoubleAck(ctx) == nil {
			n.Emit(EventTaken, &Taken{Seq: meta.Sequence.Stream, At: n.World().Now()})
		}
		cancel()
	}
	return batch.Error()
}
