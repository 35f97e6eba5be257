package nats

import (
	"errors"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/trace"
)

func ack(client int, seq uint64, data string) lockstep.Event {
	return lockstep.Event{Type: EventAcknowledged, Value: &Acknowledged{Client: client, Seq: seq, Data: data}}
}

// ackTo is the acknowledgment of a message to a subject.
func ackTo(subject string, seq uint64, data string) lockstep.Event {
	return lockstep.Event{Type: EventAcknowledged, Value: &Acknowledged{Seq: seq, Subject: subject, Data: data}}
}

func asked(client int) lockstep.Event { return lockstep.Event{Type: EventAsked, Value: client} }

func reads(list ...Message) lockstep.Event {
	return lockstep.Event{Type: EventRead, Value: Messages(list)}
}

type checker interface {
	Reset()
	Event(*lockstep.Run, *lockstep.Event) *lockstep.Finding
}

// findings is the last finding of a checker for a history.
func findings(j checker, events []lockstep.Event) (found string) {
	j.Reset()
	for i := range events {
		if f := j.Event(nil, &events[i]); f != nil {
			found = f.Text
		}
	}
	return found
}

// The specs check numbers and order when they are reported.
func TestNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		checker checker
		events  []lockstep.Event
		found   string
	}{
		"each its own": {&unique{}, []lockstep.Event{ack(1, 1, "a"), ack(2, 2, "b"),
			reads(Message{Seq: 1, Data: "a"}, Message{Seq: 2, Data: "b"})}, ""},
		"read before acknowledged": {&unique{}, []lockstep.Event{reads(Message{Seq: 1, Data: "a"}), ack(1, 1, "a")},
			""},
		"one number for two": {&unique{}, []lockstep.Event{ack(1, 1, "a"), ack(2, 1, "b")},
			"a was acknowledged as message 1, and now b is acknowledged"},
		"another is read": {&unique{}, []lockstep.Event{ack(1, 1, "a"), reads(Message{Seq: 1, Data: "b"})},
			"a was acknowledged as message 1, and now b is read"},
		"another is delivered": {&unique{}, []lockstep.Event{ack(1, 1, "a"), delivered(1, 1, 1, 0)},
			"a was acknowledged as message 1, and now x is delivered"},
		"at once, in any order": {&ordered{}, []lockstep.Event{asked(1), asked(2), ack(2, 2, "b"), ack(1, 1, "a")},
			""},
		"one after the other": {&ordered{}, []lockstep.Event{asked(1), ack(1, 1, "a"), asked(1), ack(1, 2, "b"),
			asked(2), ack(2, 3, "c")}, ""},
		"back": {&ordered{}, []lockstep.Event{asked(1), ack(1, 5, "a"), asked(2), ack(2, 3, "b")},
			"b was acknowledged as message 3; before it was asked for, a had been as message 5"},
	} {
		if found := findings(c.checker, c.events); found != c.found {
			t.Errorf("%s: %q, want %q", name, found, c.found)
		}
	}
}

func TestReplica(t *testing.T) {
	one := &Replica{Exists: true, First: 2, Last: 4, messages: Messages{{2, "x", "a"}, {4, "x", "b"}}}
	other := &Replica{Exists: true, First: 2, Last: 4, messages: Messages{{2, "x", "a"}, {4, "x", "c"}}}
	if m, ok := one.at(4); !ok || m.Data != "b" {
		t.Error(m, ok)
	}
	if _, ok := one.at(3); ok {
		t.Error("there is no message 3")
	}
	if one.String() == other.String() || (&Replica{}).String() != "no stream" || one.messages.String() != "2: a, 4: b" {
		t.Error(one, other, one.messages)
	}
}

// Replicas count if they were reported a minute after the last fault, including pauses, and ten seconds after the
// last write.
func TestCalmReplicas(t *testing.T) {
	replicaOf := func(n lockstep.Node) lockstep.Event {
		return lockstep.Event{Node: n, Type: EventReplica, Value: &Replica{Exists: true}}
	}
	type at struct {
		seconds  int
		settling bool
		lockstep.Event
	}
	for name, c := range map[string]struct {
		events     []at
		conclusive trace.Nodes
	}{
		"during faults": {[]at{{100, false, replicaOf(1)}}, 0},
		"too early":     {[]at{{100, true, replicaOf(1)}, {219, true, replicaOf(1)}}, 0},
		"calm": {[]at{{100, true, replicaOf(1)}, {220, true, replicaOf(1)}, {221, true, replicaOf(2)}},
			trace.NodesOf(1, 2)},
		"a pause continues": {[]at{{100, true, replicaOf(1)}, {130, true, lockstep.Event{Node: 2, Type: bubble.Thawed}},
			{220, true, replicaOf(1)}, {250, true, replicaOf(2)}}, trace.NodesOf(2)},
		"clients continue": {[]at{{100, true, replicaOf(1)}, {225, true, replicaOf(1)}, {226, true, ack(1, 1, "a")},
			{230, true, replicaOf(2)}, {236, true, replicaOf(3)}}, trace.NodesOf(3)},
		"a client asks": {[]at{{100, true, replicaOf(1)}, {225, true, replicaOf(1)}, {226, true, asked(1)},
			{230, true, replicaOf(2)}}, 0},
	} {
		q := calmReplicas{began: -1}
		for _, e := range c.events {
			q.observe(trace.Time(time.Duration(e.seconds)*time.Second), e.settling, &e.Event)
		}
		if q.conclusive != c.conclusive {
			t.Errorf("%s: replicas of %v count, want %v", name, q.conclusive, c.conclusive)
		}
	}
}

// Clients that ask again and again do not hide that no server has the stream.
func TestStreamIsGone(t *testing.T) {
	none := func(n lockstep.Node) lockstep.Event {
		return lockstep.Event{Node: n, Type: EventReplica, Value: &Replica{}}
	}
	some := lockstep.Event{Node: 2, Type: EventReplica, Value: &Replica{Exists: true}}
	for name, c := range map[string]struct {
		began  int // in seconds, as the events
		events []lockstep.Event
		gone   bool
	}{
		"gone":                {100, []lockstep.Event{none(1), asked(1), none(2), none(3), asked(1)}, true},
		"too early":           {200, []lockstep.Event{none(1), none(2), none(3)}, false},
		"one has it":          {100, []lockstep.Event{none(1), none(2), none(3), some}, false},
		"one answers":         {100, []lockstep.Event{none(1), none(2), none(3), ack(1, 1, "a")}, false},
		"one was not noticed": {100, []lockstep.Event{none(1), none(3)}, false},
	} {
		q := calmReplicas{began: -1}
		q.observe(trace.Time(time.Duration(c.began)*time.Second), true, &lockstep.Event{})
		for i := range c.events {
			q.observe(trace.Time(time.Duration(230+i)*time.Second), true, &c.events[i])
		}
		if gone := trace.AllNodes(3) == q.without; gone != c.gone {
			t.Errorf("%s: servers %v have no stream, gone: %t", name, q.without, gone)
		}
	}
}

func TestOptions(t *testing.T) {
	if err := errors.Join(Cluster{Nodes: 5, Moves: 1, Removals: 1}.filled().check(), Cluster{Moves: 1}.filled().
		check()); err != nil {
		t.Error(err)
	}
	for _, c := range []Cluster{{Nodes: 8}, {Replicas: 4}, {Nodes: 3, Removals: 1}, {Power: 2}, {Sync: -1}} {
		if c.filled().check() == nil {
			t.Errorf("%+v is allowed", c)
		}
	}
}
