package nats

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/strategy"
)

// shows is the event in which a server reports its replica of a stream that follows.
func shows(event string, n lockstep.Node, list ...Message) lockstep.Event {
	e := holds(n, list...)
	e.Type = event
	return e
}

// The spec compares the streams that follow with the stream, long enough after faults and writes have stopped.
func TestFollowing(t *testing.T) {
	a, b, c := Message{1, "k", "a"}, Message{2, "l", "b"}, Message{4, "k", "c"}
	other := Message{4, "k", "d"}
	second := Drop{ID: "x", Seq: 2}
	gone := []lockstep.Event{dropping(second), dropped(second)}
	origin := holds(1, a, b, c)
	const after = "4m0s after the last fault the "
	const has = "; server 1 has the stream with messages 1 to 4, 3 in all"
	for _, c := range []struct {
		name    string
		spec    lockstep.Spec
		before  []lockstep.Event
		shown   []lockstep.Event
		found   string
		checked int
	}{
		{"the same", Mirrored, nil, []lockstep.Event{origin, shows(EventMirror, 2, a, b, c), shows(EventMirror, 3)}, "",
			3},
		{"reported before the stream", Mirrored, nil, []lockstep.Event{shows(EventMirror, 2, a, b, c), origin}, "", 3},
		{"one less", Mirrored, nil, []lockstep.Event{origin, shows(EventMirror, 2, a, b, c),
			shows(EventMirror, 3, a, b)},
			after + "mirror of server 3, with messages 1 to 2, 2 in all, lacks 1 messages, first message 4, c" + has,
			6},
		{"a hole", Mirrored, nil, []lockstep.Event{origin, shows(EventMirror, 2, a, c)},
			after + "mirror of server 2, with messages 1 to 4, 2 in all, lacks 1 messages, first message 2, b" + has,
			3},
		{"one more", Mirrored, nil, []lockstep.Event{holds(1, a, b), shows(EventMirror, 2, a, b, c)},
			after + "mirror of server 2, with messages 1 to 4, 3 in all, has message 4, c, which is not there; server 1 " +
				"has the stream with messages 1 to 2, 2 in all",
			2},
		{"another in its place", Mirrored, nil, []lockstep.Event{origin, shows(EventMirror, 2, a, b, other)},
			after + "mirror of server 2, with messages 1 to 4, 3 in all, has d as message 4, which is c" + has, 3},
		{"under another number", Mirrored, nil,
			[]lockstep.Event{origin, shows(EventMirror, 2, a, b, Message{3, "k", "c"})},
			after + "mirror of server 2, with messages 1 to 3, 3 in all, has message 3, c, which is not there" + has,
			3},
		{"deleted in the stream alone", Mirrored, gone,
			[]lockstep.Event{holds(1, a, c), shows(EventMirror, 2, a, b, c)}, "", 2},
		{"deleted before it was mirrored", Mirrored, gone,
			[]lockstep.Event{holds(1, a, c), shows(EventMirror, 2, a, c)}, "", 2},
		{"no stream to compare with", Mirrored, nil, []lockstep.Event{holds(1), shows(EventMirror, 2, a)}, "", 0},
		{"a client writes", Mirrored, nil, []lockstep.Event{asked(1), origin, shows(EventMirror, 2, a)}, "", 0},
		{"each once", Sourced, nil, []lockstep.Event{origin, shows(EventSources, 2, a, b, c),
			shows(EventSources, 3, a, b, c)}, "", 6},
		{"another key first", Sourced, nil, []lockstep.Event{origin, shows(EventSources, 2, b, a, c)}, "", 3},
		{"not in the same order everywhere", Sourced, nil, []lockstep.Event{origin, shows(EventSources, 2, b, a, c),
			shows(EventSources, 3, a, b, c)},
			after + "sources of servers 2 and 3 differ: messages 2 to 4, 3 in all; messages 1 to 4, 3 in all", 6},
		{"twice", Sourced, nil, []lockstep.Event{origin, shows(EventSources, 2, a, b, a, c)},
			after + "sources of server 2, with messages 1 to 4, 4 in all, has message 1 of k after 1" + has, 3},
		{"out of order", Sourced, nil, []lockstep.Event{origin, shows(EventSources, 2, c, b, a)},
			after + "sources of server 2, with messages 4 to 1, 3 in all, has message 1 of k after 4" + has, 3},
		{"one lost", Sourced, nil, []lockstep.Event{origin, shows(EventSources, 2, a, c)},
			after + "sources of server 2, with messages 1 to 4, 2 in all, lacks 1 messages, first message 2, b" + has,
			3},
		{"deleted", Sourced, gone, []lockstep.Event{holds(1, a, c), shows(EventSources, 2, b, a, c)}, "", 2},
		{"the mirror is no stream with sources", Sourced, nil, []lockstep.Event{origin, shows(EventMirror, 2, a)}, "",
			0},
	} {
		if found, checked := inTheEnd(t, c.spec, map[string]string{"mirror": "true", "sources": "true"}, c.before,
			c.shown, 5); found != c.found || checked != c.checked {
			t.Errorf("%s: %q, checked %d times; want %q, %d", c.name, found, checked, c.found, c.checked)
		}
	}
}

// The spec checks nothing before a stream has had the time to catch up.
func TestFollowingLater(t *testing.T) {
	events := []lockstep.Event{holds(1, Message{1, "k", "a"}), shows(EventMirror, 2, Message{2, "k", "b"})}
	for minutes, checked := range map[time.Duration]int{4: 0, 5: 1} {
		system := enginetest.Timed{Options: map[string]string{"mirror": "true"}}
		for minute := time.Duration(1); minute <= minutes; minute++ {
			system.Moments = append(system.Moments, enginetest.Moment{At: minute * time.Minute, Events: events})
		}
		r := enginetest.Explore(
			t,
			lockstep.Plan{
				System:   system,
				Strategy: strategy.Walk{Wait: 1, Steps: 1},
				Spec:     Mirrored,
				Settle:   int(minutes) - 1,
				Runs:     1,
			},
		)
		if r.Checked[0].N != checked || (r.First() != nil) != (checked > 0) {
			t.Errorf("after %d minutes: checked %d times, %v", minutes-2, r.Checked[0].N, r.First())
		}
	}
}

// The header of a message of a stream with sources holds its number at the source.
func TestOriginOf(t *testing.T) {
	for header, want := range map[string]uint64{
		"": 0,
		"NATS/1.0\r\nNats-Stream-Source: KV_lockstep:x 12 $KV.lockstep.a > $KV.lockstep.a\r\n\r\n":              12,
		"NATS/1.0\r\nKV-Operation: DEL\r\nNats-Stream-Source: KV_lockstep 7 a > a identity\r\nOther: 1\r\n\r\n": 7,
		"NATS/1.0\r\nNats-Stream-Source: x\r\n\r\n":                                                             0,
		"NATS/1.0\r\nNats-Stream-Source: x y z\r\n\r\n":                                                         0,
	} {
		if got := originOf([]byte(header)); got != want {
			t.Errorf("%q: %d, want %d", header, got, want)
		}
	}
}
