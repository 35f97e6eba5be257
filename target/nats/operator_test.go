package nats

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep"
)

// A careful operator continues when all replicas exist, are up to date, and none is at its former server.
func TestComplete(t *testing.T) {
	current := func(name string) *jetstream.PeerInfo { return &jetstream.PeerInfo{Name: name, Current: true} }
	group := func(leader string, list ...*jetstream.PeerInfo) *jetstream.ClusterInfo {
		return &jetstream.ClusterInfo{Leader: leader, Replicas: list}
	}
	for name, c := range map[string]struct {
		group   *jetstream.ClusterInfo
		without string
		want    bool
	}{
		"all there":             {group("n1", current("n2"), current("n3")), "", true},
		"taken from another":    {group("n1", current("n2"), current("n3")), "n4", true},
		"no answer":             {nil, "", false},
		"no leader":             {group("", current("n2"), current("n3")), "", false},
		"one missing":           {group("n1", current("n2")), "", false},
		"one too many":          {group("n1", current("n2"), current("n3"), current("n4")), "", false},
		"the leader is to go":   {group("n1", current("n2"), current("n3")), "n1", false},
		"another is to go":      {group("n1", current("n2"), current("n3")), "n3", false},
		"one has not caught up": {group("n1", current("n2"), &jetstream.PeerInfo{Name: "n3"}), "", false},
		"one is behind": {group("n1", current("n2"), &jetstream.PeerInfo{Name: "n3", Current: true,
			Lag: 1}), "", false},
		"one has not been heard of": {group("n1", current("n2"), &jetstream.PeerInfo{Name: "n3", Current: true,
			Offline: true}), "", false},
	} {
		if got := complete(c.group, 3, c.without); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The operator purges the stream of messages older than the newest of every key, and deletes single messages once,
// never the newest.
func TestOutdated(t *testing.T) {
	s := &clients{cluster: Cluster{Keys: 2}, newest: map[uint8]uint64{}}
	if s.oldest() != 0 || s.outdated() != 0 {
		t.Error("there is nothing to delete")
	}
	for _, m := range []struct {
		key uint8
		seq uint64
	}{{0, 3}, {0, 2}, {0, 5}} {
		s.wrote(m.key, m.seq)
	}
	if got := s.oldest(); got != 0 {
		t.Errorf("purged before message %d, though a key has none", got)
	}
	s.wrote(1, 4)
	if got := s.oldest(); got != 4 {
		t.Errorf("purged before message %d", got)
	}
	for _, want := range []uint64{2, 3, 0} {
		if got := s.outdated(); got != want {
			t.Errorf("message %d is deleted, want %d", got, want)
		}
	}
}

// The last message to a key determines its value, or its deletion.
func TestHeld(t *testing.T) {
	for data, want := range map[string]entry{"104": {104, 7}, "-1.3": {0, 7}} {
		if got, err := held([]byte(data), 7); err != nil || got != want {
			t.Errorf("%s: %v, %v", data, got, err)
		}
	}
	if _, err := held([]byte("x"), 7); err == nil {
		t.Error("x is a value")
	}
}

// A change that has begun is the only one until it is done, and that of a leaving server until it has left.
func TestClaim(t *testing.T) {
	s := &clients{leaving: map[lockstep.Node]string{}}
	if !s.claim(1) || s.claim(2) {
		t.Error("two changes at a time")
	}
	s.done(2)
	if s.claim(2) {
		t.Error("another ended it")
	}
	s.leaving[1] = "x"
	s.done(1)
	if s.claim(2) {
		t.Error("it has not left")
	}
	delete(s.leaving, 1)
	s.done(1)
	if !s.claim(2) {
		t.Error("it is done")
	}
}
