package ratis

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/strategy"
)

func TestProperties(t *testing.T) {
	state := func(text string) State {
		s, err := parseState(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	lead, follow := state("leader 3 4 1 0 1c5 3s7"), state("follower 3 4 1 0 1c5 3s7")
	end := func(states ...State) lockstep.Event {
		return lockstep.Event{Type: EventEnd, Value: &End{states}}
	}
	send := func(n int) lockstep.Event { return lockstep.Event{Type: EventSend, Value: Send(n)} }
	answer := func(n int, text string) lockstep.Event {
		return lockstep.Event{Type: EventAnswer, Value: &Answer{n, text}}
	}
	for name, c := range map[string]struct {
		events          []lockstep.Event
		property, words string
	}{
		"all is well":     {[]lockstep.Event{send(1), answer(1, "1"), end(follow, lead, follow)}, "", ""},
		"no server leads": {[]lockstep.Event{end(follow, follow, follow)}, "leader", "no server leads"},
		"the leader is behind": {[]lockstep.Event{end(lead, state("follower 4 4 1 0 1c5 3s7"),
			follow)}, "leader", "no server leads"},
		"two lead, one is behind": {[]lockstep.Event{end(lead, state("leader 4 4 1 0 1c5 3s7"), follow)}, "", ""},
		"a log is shorter": {[]lockstep.Event{end(lead, follow,
			state("follower 3 4 1 0 1c5"))}, "logs-agree", "server 1 has entries 0 to 1, server 3 has 0 to 0"},
		"one has applied another": {[]lockstep.Event{end(lead, state("follower 3 4 1 0 1c5 2s7"),
			follow)}, "applied-agree", "at index 1 server 1 has applied 3s7 and server 2 has applied 2s7"},
		"a log has another entry": {[]lockstep.Event{end(lead, state("follower 3 4 0 0 1c5 2s7"),
			follow)}, "logs-agree", "at index 1 server 1 has 3s7 and server 2 has 2s7"},
		"there is no answer": {[]lockstep.Event{
			send(1),
			send(2),
			answer(1, "1"),
			{Type: EventWaits, Value: Waits("Connection.close")},
			end(lead, follow, follow),
		}, "answers", "no answer to request 2 of 2; the client waits in Connection.close"},
		"an error is no answer": {[]lockstep.Event{
			send(1),
			answer(1, "no: java.io.IOException: closed"),
			end(lead, follow, follow),
		}, "answers", "request 1: no: java.io.IOException: closed"},
		"the library broke": {[]lockstep.Event{
			send(1),
			answer(1, "broken: java.lang.NullPointerException"),
			end(lead, follow, follow),
		}, "library", "broke: request 1: broken: java.lang.NullPointerException"},
		"it did not come to its end": {[]lockstep.Event{send(1)}, "", ""},
	} {
		result, err := lockstep.Explore(
			t.Context(),
			lockstep.Plan{
				System:   enginetest.Prepared(c.events),
				Spec:     Properties,
				Strategy: strategy.Walk{Request: 1, Steps: 1},
				Settle:   1,
				Runs:     1,
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		property, text := "", ""
		if f := result.First(); f != nil {
			property, text = f.Finding.Property, f.Finding.Text
		}
		if property != c.property || !strings.Contains(text, c.words) {
			t.Errorf("%s: %q, %s", name, property, text)
		}
	}
}

// A server's state is unknown before the server reports it. A silent server does not count as a follower with an empty
// log, which would leave no leader.
func TestLast(t *testing.T) {
	tier.NotShort(t)
	for _, c := range []struct {
		silent int // number of requests that the third server does not answer properly
		known  bool
	}{{0, true}, {3, true}, {1 << 30, false}} {
		d := &deployment{options: Cluster{Nodes: 3, Within: time.Second}}
		for n := range 3 {
			asked, text := 0, "follower 3 4 1 0 1c5 3s7"
			if n == 2 {
				text = "leader 3 4 1 0 1c5 3s7"
			}
			d.orders = append(d.orders, orders(t, func() string {
				if asked++; n == 2 && asked <= c.silent {
					return "no: java.io.IOException"
				}
				return text
			}))
		}
		states, err := d.last(t.Context())
		var inconclusive *lockstep.Inconclusive
		switch {
		case c.known && (err != nil || leader(states) != 3):
			t.Errorf("silent %d times: %v, %v", c.silent, states, err)
		case !c.known && !errors.As(err, &inconclusive):
			t.Errorf("a server never says what it has: %v", err)
		}
	}
}

// orders listens for commands and answers each.
func orders(t *testing.T, answer func() string) string {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	t.Cleanup(func() { _ = at.Close(); served.Wait() })
	served.Go(func() {
		for {
			conn, err := at.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_, _ = fmt.Fprintln(conn, answer())
			_ = conn.Close()
		}
	})
	return at.Addr().String()
}

func TestState(t *testing.T) {
	s, err := parseState("follower 15 -1 -1 2 15c7b 15s0")
	if err != nil || s.String() != "follower term=15 commit=-1 applied=-1 log from 2: 15c7b 15s0" {
		t.Errorf("%s, %v", s, err)
	}
	for _, bad := range []string{
		"",
		"no: java.io.IOException",
		"leader 1 2",
		"leader 1 2 3",
		"leader x 2 1 0",
		"candidate 1 2 1 0",
	} {
		if s, err := parseState(bad); err == nil || !strings.Contains(err.Error(), "no state") {
			t.Errorf("%q is %s, %v", bad, s, err)
		}
	}
}

func TestWrongOptions(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want string
	}{
		{[]string{"nodes=9"}, "nodes is 9, allowed are 1..7"},
		{[]string{"transport=udp"}, `transport is "udp", allowed are grpc, netty`},
		{[]string{"control=what"}, `control is "what", allowed are log, time, messages`},
		{[]string{"timeout=1ms"}, "timeout is 1ms, it must be at least 10ms"},
		{[]string{"within=-1s"}, "within is -1s, it must be at least 1ms"},
	} {
		system, err := Targets[0].Build(c.set)
		if err == nil {
			_, err = system.Describe()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.set, err)
		}
	}
	info, err := (Cluster{Control: byMessage}).Describe()
	if err != nil || info.Options["version"] != "1.0.0" || info.Options["transport"] != "grpc" ||
		len(info.Types) == 0 ||
		len(info.Rounds) != 4 {
		t.Errorf("%+v, %v", info, err)
	}
}
