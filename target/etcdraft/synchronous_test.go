package etcdraft_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/trace"
)

// Runs in rounds are lossy-synchronous: in their traces no delivery crosses a round or a phase, whether terms change
// or not.
func TestRoundsAreSynchronous(t *testing.T) {
	for _, s := range []lockstep.Strategy{strategy.Uniform{Period: 4, Isolations: 12, Rounds: 48},
		strategy.Lossy{Rounds: 48, Loss: 0.2}} {
		bench, err := lockstep.NewRunner(
			lockstep.Plan{System: etcdraft.Cluster{Clients: 2, Requests: 4}, Strategy: s, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		delivered := 0
		for run := range 50 {
			tr, err := bench.Record(t.Context(), run, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := rounds.Check(tr); err != nil {
				t.Errorf("%s, run %d: %s", s, run, err)
			}
			for _, r := range tr.Records {
				if r.Step.Kind == trace.Deliver {
					delivered++
				}
			}
		}
		if err := bench.Close(); err != nil || delivered < 1000 {
			t.Errorf("%s: %d deliveries, %v", s, delivered, err)
		}
	}
}

// traffic counts the messages of a run by type. It also counts those lost between nodes of the kernel because they
// came too late for their round, in rounds without isolation.
type traffic struct{ sent, delivered, late map[string]int }

func trafficOf(t *testing.T, system etcdraft.Cluster, isolations int) traffic {
	t.Helper()
	bench, err := lockstep.NewRunner(
		lockstep.Plan{System: system, Strategy: strategy.Uniform{Isolations: isolations, Rounds: 48}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bench.Close() }()
	c := traffic{map[string]int{}, map[string]int{}, map[string]int{}}
	for run := range 50 {
		tr, err := bench.Record(t.Context(), run, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := rounds.Check(tr); err != nil {
			t.Errorf("%+v, run %d: %s", system, run, err)
		}
		for _, r := range tr.Records {
			for _, m := range r.Sent {
				c.sent[m.Type]++
			}
			m, _ := tr.Message(r.Step.Msg)
			switch r.Step.Kind {
			case trace.Deliver:
				c.delivered[m.Type]++
			case trace.Drop:
				if k := tr.Rounds[r.Round-1].Kernel; k.Has(m.From) && k.Has(m.To) {
					c.late[m.Type]++
				}
			}
		}
	}
	return c
}

// Every kind of message has a round that is still ahead when it is sent. Without isolations no message is late, and
// with them most messages within the kernel arrive.
func TestEveryMessageHasItsRound(t *testing.T) {
	for _, system := range []etcdraft.Cluster{{Requests: 4}, {Nodes: 5, Requests: 8, Compact: 2},
		{Requests: 4, PreVote: true}} {
		c := trafficOf(t, system, 0)
		if len(c.late) > 0 || c.delivered["MsgReadIndexResp"] == 0 || c.delivered["MsgAppResp"] < 100 {
			t.Errorf("%+v: of %v messages %v arrived, and %v came too late", system, c.sent, c.delivered, c.late)
		}
	}
	for _, system := range []etcdraft.Cluster{{Nodes: 5, Requests: 8, Compact: 2}, {Requests: 4, Transfers: 4},
		{Requests: 4, PreVote: true, Transfers: 4}} {
		c := trafficOf(t, system, 8)
		for name, late := range c.late {
			if late > c.sent[name]/3 {
				t.Errorf("%+v: of %d %s %d came too late, %d arrived", system, c.sent[name], name, late,
					c.delivered[name])
			}
		}
		if want := map[bool]string{true: "MsgSnap",
			false: "MsgTimeoutNow"}[system.Compact > 0]; c.delivered[want] < 10 {
			t.Errorf("%+v: %d %s arrived", system, c.delivered[want], want)
		}
	}
}
