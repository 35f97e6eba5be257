package nats

import (
	"testing"

	"github.com/lockstep-go/lockstep"
)

// dropping is the event of a request to delete messages, dropped that of its acknowledgment.
func dropping(d Drop) lockstep.Event {
	return lockstep.Event{Node: 1, Type: EventDropping, Value: &d}
}

func dropped(d Drop) lockstep.Event {
	return lockstep.Event{Node: 1, Type: EventDropped, Value: &d}
}

// A deleted message may be gone from the moment of the request, and must be gone after the acknowledgment.
func TestDrops(t *testing.T) {
	one, below := Drop{ID: "1", Seq: 5}, Drop{ID: "2", Seq: 5, Below: true}
	key, all := Drop{ID: "3", Subject: "k", Seq: 5, Below: true},
		Drop{ID: "3", Subject: "k", Seq: anything, Below: true}
	for name, c := range map[string]struct {
		events    []lockstep.Event
		subject   string
		seq       uint64
		may, must bool
	}{
		"nothing":                 {nil, "k", 1, false, false},
		"one":                     {[]lockstep.Event{dropping(one), dropped(one)}, "k", 5, true, true},
		"another":                 {[]lockstep.Event{dropping(one), dropped(one)}, "k", 4, false, false},
		"below":                   {[]lockstep.Event{dropping(below), dropped(below)}, "k", 4, true, true},
		"the first that stays":    {[]lockstep.Event{dropping(below), dropped(below)}, "k", 5, false, false},
		"asked for":               {[]lockstep.Event{dropping(below)}, "k", 4, true, false},
		"a key, asked for":        {[]lockstep.Event{dropping(all)}, "k", 9, true, false},
		"another key, asked for":  {[]lockstep.Event{dropping(all)}, "l", 4, false, false},
		"a key":                   {[]lockstep.Event{dropping(all), dropped(key)}, "k", 4, true, true},
		"what came after to it":   {[]lockstep.Event{dropping(all), dropped(key)}, "k", 9, false, false},
		"another key":             {[]lockstep.Event{dropping(all), dropped(key)}, "l", 4, false, false},
		"one is not acknowledged": {[]lockstep.Event{dropping(all), dropping(one), dropped(key)}, "l", 5, true, false},
	} {
		var d drops
		for i := range c.events {
			d.drop(&c.events[i])
		}
		if may, must := d.may(c.subject, c.seq), d.must(c.subject, c.seq) != nil; may != c.may || must != c.must {
			t.Errorf("%s: may be gone %t, must %t; want %t, %t", name, may, must, c.may, c.must)
		}
	}
	for _, c := range []struct {
		drop  Drop
		words string
	}{{one, "message 5"}, {below, "all before message 5"}, {key, "all before message 5 of k"},
		{all, "all messages of k"}} {
		if got := c.drop.String(); got != c.words {
			t.Errorf("%q, want %q", got, c.words)
		}
	}
}
