package nats

import (
	"regexp"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/strategy"
)

func delivered(place, seq, times uint64, asked time.Duration) lockstep.Event {
	return lockstep.Event{
		Node:  1,
		Type:  EventDelivered,
		Value: &Delivered{Message: Message{Seq: seq, Data: "x"}, Place: place, Times: times, Asked: asked},
	}
}

func taken(seq uint64, at time.Duration) lockstep.Event {
	return lockstep.Event{Node: 2, Type: EventTaken, Value: &Taken{Seq: seq, At: at}}
}

// The spec checks deliveries to subscribers as they come.
func TestDeliveries(t *testing.T) {
	for name, c := range map[string]struct {
		checker checker
		events  []lockstep.Event
		found   string
	}{
		"in order, and one again": {&inTurn{}, []lockstep.Event{delivered(1, 1, 1, 0), delivered(2, 3, 1, 0),
			delivered(3, 1, 2, 0), delivered(4, 4, 1, 0)}, ""},
		"reported in another order": {&inTurn{}, []lockstep.Event{delivered(4, 4, 1, 0), delivered(3, 1, 2, 0),
			delivered(1, 1, 1, 0), delivered(2, 3, 1, 0)}, ""},
		"one delivery reported twice": {&inTurn{}, []lockstep.Event{delivered(1, 1, 1, 0), delivered(1, 1, 1, 0)}, ""},
		"out of order": {&inTurn{}, []lockstep.Event{delivered(1, 2, 1, 0), delivered(2, 5, 2, 0),
			delivered(3, 1, 1, 0)},
			"delivery 1 was message 2, and delivery 3 is message 1, both for the first time"},
		"out of order, reported late": {&inTurn{}, []lockstep.Event{delivered(3, 1, 1, 0), delivered(2, 5, 2, 0),
			delivered(1, 2, 1, 0)},
			"delivery 1 was message 2, and delivery 3 is message 1, both for the first time"},
		"a first time again": {&inTurn{}, []lockstep.Event{delivered(1, 2, 1, 0), delivered(2, 2, 1, 0)},
			"delivery 1 was message 2, and delivery 2 is message 2, both for the first time"},
		"after a later one, because its delivery reached no subscriber": {&inTurn{}, []lockstep.Event{delivered(1, 1, 1, 0),
			delivered(2, 1, 2, 0), delivered(4, 3, 1, 0), delivered(5, 2, 1, 0)}, ""},
		"whose delivery would have been another": {&inTurn{}, []lockstep.Event{delivered(1, 1, 1, 0),
			delivered(2, 1, 2, 0), delivered(4, 3, 1, 0), delivered(5, 2, 1, 0), delivered(3, 1, 3, 0)},
			"delivery 4 was message 3, and delivery 5 is message 2, both for the first time"},
		"which does not excuse an earlier turn": {&inTurn{},
			[]lockstep.Event{delivered(1, 2, 1, 0), delivered(3, 3, 1, 0), delivered(4, 1, 1, 0)},
			"delivery 1 was message 2, and delivery 4 is message 1, both for the first time"},
		"one number for two": {&inTurn{}, []lockstep.Event{delivered(1, 1, 1, 0),
			delivered(1, 2, 2, 0)}, "delivery 1 was message 1, and now it is message 2"},
		"again before it was confirmed": {&takenOnce{}, []lockstep.Event{delivered(1, 1, 1, 1), taken(1, 5),
			delivered(2, 1, 2, 4)}, ""},
		"again, asked for in the same moment": {&takenOnce{}, []lockstep.Event{taken(1, 5), delivered(2, 1, 2, 5)}, ""},
		"another one":                         {&takenOnce{}, []lockstep.Event{taken(1, 5), delivered(2, 2, 1, 6)}, ""},
		"again, asked for after the confirmation": {&takenOnce{},
			[]lockstep.Event{taken(1, time.Second), taken(1, 3*time.Second), delivered(2, 1, 2, 2*time.Second)},
			"the acknowledgment of message 1 was confirmed at 1s, and a subscriber that asked at 2s received it, for " +
				"the 2. time"},
	} {
		if found := findings(c.checker, c.events); found != c.found {
			t.Errorf("%s: %q, want %q", name, found, c.found)
		}
	}
}

// holds is the event in which a server reports its replica of the stream, of two expected replicas.
func holds(n lockstep.Node, list ...Message) lockstep.Event {
	c := &Replica{Exists: len(list) > 0, messages: list, wanted: 2}
	if c.Exists {
		c.First, c.Last = list[0].Seq, list[len(list)-1].Seq
	}
	return lockstep.Event{Node: n, Type: EventReplica, Value: c}
}

// far is the event in which a server reports its replica of the consumer.
func far(n lockstep.Node, floor uint64) lockstep.Event {
	return lockstep.Event{
		Node:  n,
		Type:  EventProgress,
		Value: &Progress{Delivered: Place{3, 2}, Floor: Place{floor, floor}},
	}
}

var hashes = regexp.MustCompile(", hash [0-9a-f]*")

// unhashed is a text without hashes.
func unhashed(text string) string { return hashes.ReplaceAllString(text, "") }

// Some specs check the state after faults have stopped, at the end of the run.
func TestInTheEnd(t *testing.T) {
	one, two, other := Message{1, "k", "a"}, Message{2, "k", "b"}, Message{2, "k", "c"}
	first := Drop{ID: "x", Seq: 1}
	removed := lockstep.Event{Node: 3, Type: EventRemoved, Value: "n3"}
	for _, c := range []struct {
		name          string
		spec          lockstep.Spec
		before, after []lockstep.Event
		found         string
		checked       int
	}{
		{"all there", Durable, []lockstep.Event{ack(1, 1, "a"), ack(1, 2, "b")},
			[]lockstep.Event{holds(1, one, two), holds(2, one, two), holds(3)}, "", 1},
		{"one lost", Durable, []lockstep.Event{ack(1, 1, "a"), ack(1, 2, "b")},
			[]lockstep.Event{holds(1, one, two), holds(2, one)},
			"2m0s after the last fault server 2, with messages 1 to 1, 1 in all, lacks 1 of 2 messages that were " +
				"acknowledged, first b is message 2",
			1},
		{"another in its place", Durable, []lockstep.Event{ack(1, 2, "b")}, []lockstep.Event{holds(1, one, other)},
			"2m0s after the last fault server 1, with messages 1 to 2, 2 in all, lacks 1 of 1 messages that were " +
				"acknowledged, first b is message 2",
			1},
		{"no replica left", Durable, []lockstep.Event{ack(1, 1, "a")}, []lockstep.Event{holds(1), holds(2), holds(3)},
			"2m0s after the last fault no server has the stream any more; 1 messages were acknowledged", 1},
		{"one deleted", Durable, []lockstep.Event{ackTo("k", 1, "a"), ackTo("k", 2, "b"), dropping(first),
			dropped(first)}, []lockstep.Event{holds(1, two), holds(2, two)}, "", 1},
		{"another deleted", Durable, []lockstep.Event{ackTo("k", 1, "a"), ackTo("k", 2, "b"), dropping(first),
			dropped(first)}, []lockstep.Event{holds(1, one)},
			"2m0s after the last fault server 1, with messages 1 to 1, 1 in all, lacks 1 of 2 messages that were " +
				"acknowledged, first b is message 2",
			1},
		{"deleted, and another in its place", Durable, []lockstep.Event{ackTo("k", 1, "a"), dropping(first),
			dropped(first)}, []lockstep.Event{holds(1, Message{1, "k", "z"})},
			"2m0s after the last fault server 1, with messages 1 to 1, 1 in all, lacks 1 of 1 messages that were " +
				"acknowledged, first a is message 1",
			1},
		{"gone", Gone, []lockstep.Event{dropping(first), dropped(first)}, []lockstep.Event{holds(1, two), holds(2)}, "",
			1},
		{"not gone everywhere", Gone, []lockstep.Event{dropping(first), dropped(first)},
			[]lockstep.Event{holds(1, two), holds(2, one, two)},
			"2m0s after the last fault server 2, with messages 1 to 2, 2 in all, has message 1 of k; it was acknowledged " +
				"that message 1 is deleted",
			1},
		{"not gone, without an acknowledgment", Gone, []lockstep.Event{dropping(first)}, []lockstep.Event{holds(1, one)}, "",
			0},
		{"purged, and still there", Gone, []lockstep.Event{dropped(Drop{Subject: "k", Seq: 2, Below: true})},
			[]lockstep.Event{holds(1, one, two)},
			"2m0s after the last fault server 1, with messages 1 to 2, 2 in all, has message 1 of k; it was acknowledged " +
				"that all before message 2 of k is deleted",
			1},
		{"another key purged", Gone, []lockstep.Event{dropped(Drop{Subject: "l", Seq: 2, Below: true})},
			[]lockstep.Event{holds(1, one, two)}, "", 1},
		{"deleted before it came", Delivering, []lockstep.Event{ackTo("k", 1, "a"), dropping(first)},
			[]lockstep.Event{holds(1, two), far(1, 1)}, "", 1},
		{"equal", Equal, nil, []lockstep.Event{holds(1, one, two), holds(2), holds(3, one, two)}, "", 1},
		{"different", Equal, nil, []lockstep.Event{holds(1, one, two), holds(3, one, other)},
			"2m0s after the last fault the replicas of servers 1 and 3 differ: messages 1 to 2, 2 in all; messages 1 to 2, " +
				"2 in all",
			1},
		{"replaced", Restored, []lockstep.Event{removed}, []lockstep.Event{holds(1, one), holds(2, one), holds(3)}, "",
			1},
		{"not replaced", Restored, []lockstep.Event{removed}, []lockstep.Event{holds(1, one), holds(2), holds(3)},
			"2m0s after the last fault, and 1 moves of replicas or removals of servers, 1 servers have the stream (1), and " +
				"2 should",
			1},
		{"refused, and yet done", Restored, []lockstep.Event{{Node: 2, Type: EventRefused, Value: "n2"}},
			[]lockstep.Event{holds(1, one), holds(2), holds(3)},
			"2m0s after the last fault, and 1 moves of replicas or removals of servers, 1 servers have the stream (1), and " +
				"2 should",
			1},
		{"one left over", Restored, []lockstep.Event{removed}, []lockstep.Event{holds(1, one), holds(2, one),
			holds(3, one)},
			"2m0s after the last fault, and 1 moves of replicas or removals of servers, 3 servers have the stream (1,2,3), " +
				"and 2 should",
			1},
		{"nothing was moved", Restored, nil, []lockstep.Event{holds(1, one), holds(2), holds(3)}, "", 0},
		{"one is silent", Restored, []lockstep.Event{removed}, []lockstep.Event{holds(1, one), holds(2)}, "", 0},
		{"all came", Delivering, []lockstep.Event{ack(1, 1, "a"), delivered(1, 1, 1, 0)},
			[]lockstep.Event{holds(1, one), far(1, 1)}, "", 1},
		{"one never came", Delivering, []lockstep.Event{ack(1, 1, "a"), ack(1, 2, "b"), delivered(1, 1, 1, 0)},
			[]lockstep.Event{holds(1, one, two), far(1, 1)},
			"2m0s after the last fault 1 of 2 messages that were acknowledged reached no subscriber, first b is " +
				"message 2; at server 1 the consumer has " +
				"delivered up to message 2 (delivery 3), acknowledged up to message 1 (delivery 1), 0 open", 1},
		{"no consumer", Delivering, []lockstep.Event{ack(1, 1, "a")}, []lockstep.Event{holds(1, one)}, "", 0},
		{"equally far", Together, []lockstep.Event{taken(1, 0)},
			[]lockstep.Event{holds(1, one), far(1, 1), holds(2, one), far(2, 1)}, "", 1},
		{"not equally far", Together, []lockstep.Event{taken(1, 0)},
			[]lockstep.Event{holds(1, one), far(1, 1), holds(2, one), far(2, 0)},
			"2m0s after the last fault the replicas of the consumer at servers 1 and 2 differ: delivered up to message 2 " +
				"(delivery 3), acknowledged up to message 1 (delivery 1), 0 open; " +
				"delivered up to message 2 (delivery 3), acknowledged up to message 0 (delivery 0), 0 open", 1},
		{"still at work", Together, nil, []lockstep.Event{taken(1, 0), holds(1, one), far(1, 1), holds(2, one),
			far(2, 0)}, "", 0},
	} {
		if found, checked := inTheEnd(t, c.spec, map[string]string{"consume": "true", "removals": "1", "purges": "1"},
			c.before, c.after, 3); found != c.found || checked != c.checked {
			t.Errorf("%s: %q, checked %d times; want %q, %d", c.name, found, checked, c.found, c.checked)
		}
	}
}

// inTheEnd lets a spec check a run. Some events happen at first, and others once a minute, for so many minutes, after
// faults have stopped.
func inTheEnd(t *testing.T, s lockstep.Spec, options map[string]string, before, after []lockstep.Event,
	minutes int) (found string, checked int) {
	t.Helper()
	system := enginetest.Timed{Options: options, Moments: []enginetest.Moment{{At: time.Minute, Events: before}}}
	for i := range minutes {
		system.Moments = append(system.Moments, enginetest.Moment{At: time.Duration(2+i) * time.Minute, Events: after})
	}
	r := enginetest.Explore(t,
		lockstep.Plan{System: system, Strategy: strategy.Walk{Wait: 1, Steps: 1}, Spec: s, Settle: minutes, Runs: 1})
	if f := r.First(); f != nil {
		found = unhashed(f.Finding.Text)
	}
	return found, r.Checked[0].N
}

// Without subscribers, removals and moves, their specs count no checks.
func TestNotCounted(t *testing.T) {
	r := enginetest.Explore(
		t,
		lockstep.Plan{
			System:   enginetest.Timed{},
			Strategy: strategy.Walk{Wait: 1, Steps: 1},
			Spec:     Everything,
			Settle:   1,
			Runs:     1,
		},
	)
	for _, j := range r.Checked[5:] {
		if j.N != lockstep.NotCounted {
			t.Errorf("%s was checked %d times", j.Name, j.N)
		}
	}
}
