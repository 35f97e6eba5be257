//go:build !lockstep_overlay

package nats

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// mirrored makes a stream and a mirror of one of its keys, each with three replicas, and writes to another key and to
// that one, without the engine. With purged it purges the stream before it makes the mirror, so that the stream has
// no messages then.
func mirrored(t *testing.T, purged bool) *machines {
	t.Helper()
	m := gather(t, 3)
	js, err := jetstream.New(m.connect(m.leader()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	create := func(config jetstream.StreamConfig) {
		config.Replicas = 3
		m.until("there is a stream", func() bool {
			_, err := js.CreateStream(ctx, config)
			return err == nil
		})
	}
	write := func(key string) {
		if _, err := js.Publish(ctx, key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	create(jetstream.StreamConfig{Name: streamName, Subjects: []string{"key.*"}})
	if purged {
		write("key.other")
		stream, err := js.Stream(ctx, streamName)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Purge(ctx); err != nil {
			t.Fatal(err)
		}
	}
	create(
		jetstream.StreamConfig{
			Name:   mirrorName,
			Mirror: &jetstream.StreamSource{Name: streamName, FilterSubject: "key.mirrored"},
		},
	)
	time.Sleep(3 * time.Second) // the mirror requests the existing messages
	write("key.other")
	write("key.mirrored")
	return m
}

// shown is the number of messages in each replica of the mirror, as soon as each has one, or after a timeout.
func (m *machines) shown() (replicas []int) {
	within(100, func() bool {
		replicas = replicas[:0]
		for _, s := range m.up {
			_, list, _ := content(s, mirrorName)
			replicas = append(replicas, len(list))
		}
		return slices.Equal(replicas, everywhere)
	})
	return replicas
}

// everywhere is one message in each replica.
var everywhere = []int{1, 1, 1}

// A mirror of a purged stream receives later writes at every server, like one of a new stream. In v2.15 it does not
// if its first message is not the next one of the stream. The leader of the mirror records the beginning of the
// stream only in its own replica, and the gap in the numbers stops the other replicas.
func TestMirrorOfPurged(t *testing.T) {
	for _, purged := range []bool{false, true} {
		m := mirrored(t, purged)
		broken := purged && strings.HasPrefix(Version(), "v2.15.")
		replicas := m.shown()
		t.Logf("%s, purged %t: the replicas of the mirror have %d messages", Version(), purged, replicas)
		if slices.Equal(replicas, everywhere) == broken {
			t.Error("that is not what this version does")
		}
		if broken {
			m.stop(0, 1, 2)
			m.start(0, 1, 2)
			m.until("a server leads", func() bool { return m.leader() >= 0 })
			t.Logf("%s, started again: the replicas of the mirror have %d messages", Version(), m.shown())
		}
	}
}
