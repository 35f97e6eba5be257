package strategy

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/trace"
)

// chatter answers every message until one has been passed on often enough.
type chatter struct{}

func (chatter) Start(c *sim.Context[int])                { c.SetTimeout(1) }
func (chatter) Request(*sim.Context[int], int32, string) {}
func (chatter) Timeout(c *sim.Context[int])              { c.Broadcast(3); c.SetTimeout(1) }
func (chatter) Receive(c *sim.Context[int], from lockstep.Node, left int) {
	if left > 0 {
		c.Send(from, left-1)
	}
}

var chatters = sim.Cluster[int]{
	Name:  "chatters",
	Nodes: 3,
	New:   func(lockstep.Node, int) sim.Node[int] { return chatter{} },
}

// busybody is a scenario that takes several steps in a row, and holds, releases and loses messages.
type busybody struct {
	rand *rand.Rand
	held []trace.ID
}

func (*busybody) Name() string                                { return "busybody" }
func (*busybody) Fit(lockstep.Info) (*lockstep.Budget, error) { return nil, nil }
func (*busybody) New(lockstep.Info) lockstep.Director         { return &busybody{} }
func (b *busybody) Reset(r *rand.Rand)                        { b.rand, b.held = r, b.held[:0] }
func (*busybody) Idle(*lockstep.Run, *lockstep.Control) bool  { return false }
func (*busybody) End(*lockstep.Run, *lockstep.Control)        {}
func (*busybody) Report() (string, []lockstep.Count)          { return "", nil }

func (b *busybody) Observe(run *lockstep.Run, hand *lockstep.Control) {
	if b.rand.IntN(4) > 0 {
		return
	}
	for i, id := range run.FreeMessages() {
		switch {
		case i > 6:
			return
		case b.rand.IntN(3) == 0:
			hand.Do(lockstep.Step{Kind: trace.Deliver, Msg: id})
		case b.rand.IntN(3) == 0:
			hand.Do(lockstep.Step{Kind: trace.Drop, Msg: id})
		}
	}
	if flying := run.FreeMessages(); len(flying) > 0 && b.rand.IntN(2) == 0 {
		b.held = append(b.held, flying[len(flying)-1])
		hand.Hold(flying[len(flying)-1])
	} else if len(b.held) > 0 {
		hand.Release(b.held[0])
		b.held = b.held[1:]
	}
	hand.Do(lockstep.Step{Kind: trace.Timer, Node: 1})
}

// overseen is pctcp whose state is compared with the run after each choice.
type overseen struct {
	PCTCP
	t     *testing.T
	steps *[4]int32 // number of events by node
}

func (o overseen) New(info lockstep.Info) lockstep.Scheduler {
	return &overseer{o.PCTCP.New(info).(*pctcp), o}
}

type overseer struct {
	*pctcp
	overseen
}

func (o *overseer) Reset(s *lockstep.Start)                   { *o.steps = [4]int32{}; o.pctcp.Reset(s) }
func (o *overseer) Report(words bool) lockstep.SchedulerStats { return o.pctcp.Report(words) }

func (o *overseer) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	ok := o.pctcp.Next(turn, next)
	for n := 1; n <= 3; n++ {
		if got, want := o.count[n-1], o.steps[n]; got != want {
			o.t.Fatalf("step %d: the chains saw %d events at node %d, there were %d", turn.Steps(), got, n, want)
		}
	}
	mail := 0
	for _, index := range o.open {
		if e := &o.events[index]; e.kind == trace.Deliver {
			mail++
			if !turn.IsFree(e.msg) {
				o.t.Fatalf("step %d: message %d is open and not in flight", turn.Steps(), e.msg)
			}
			if last := o.last[e.chain]; last < 0 {
				o.t.Fatalf("step %d: message %d is in an empty chain", turn.Steps(), e.msg)
			}
		}
	}
	if mail != len(turn.FreeMessages()) {
		o.t.Fatalf("step %d: %d messages are open, %d are in flight", turn.Steps(), mail, len(turn.FreeMessages()))
	}
	for c, last := range o.last {
		if e := max(last, 0); last >= 0 && o.events[e].at == 0 && !turn.IsFree(o.events[e].msg) &&
			o.events[e].kind == trace.Deliver {
			o.t.Fatalf("step %d: chain %d ends in message %d, which will not arrive", turn.Steps(), c, o.events[e].msg)
		}
	}
	return ok
}

// counter counts the events at each node.
type counter struct{ steps *[4]int32 }

func (c counter) New(lockstep.Info) lockstep.Watcher { return c }
func (counter) Collect(int, any)                     {}
func (counter) Reset()                               {}
func (counter) Noted() any                           { return nil }
func (c counter) Observe(run *lockstep.Run) {
	switch last := run.Last(); last.Kind {
	case trace.Deliver:
		c.steps[run.Message(last.Msg).To]++
	case trace.Timer, trace.Request:
		c.steps[last.Node]++
	}
}

// The chains see every step in order, including those of a scenario. Lost and held messages are in no chain.
func TestChainsSeeEverything(t *testing.T) {
	var steps [4]int32
	for _, fifo := range []bool{false, true} {
		system := chatters
		system.FIFO = fifo
		result, err := lockstep.Explore(
			context.Background(),
			lockstep.Plan{System: system, Scenario: &busybody{}, Runs: 200, Workers: 1,
				Strategy: overseen{
					PCTCP{Depth: 6, Events: 100, Steps: 300},
					t,
					&steps,
				}, Observers: []lockstep.Observer{counter{&steps}}},
		)
		if err != nil || result.Steps < 200*300 {
			t.Fatal(result, err)
		}
	}
}

// thief is a scenario that loses nearly all messages, and holds the rest.
type thief struct{ busybody }

func (*thief) Name() string                        { return "thief" }
func (*thief) New(lockstep.Info) lockstep.Director { return &thief{} }
func (t *thief) Observe(run *lockstep.Run, hand *lockstep.Control) {
	for _, m := range run.Sent() {
		switch {
		case t.rand.IntN(20) == 0:
		case t.rand.IntN(2) == 0:
			hand.Hold(m.ID)
		default:
			hand.Do(lockstep.Step{Kind: trace.Drop, Msg: m.ID})
		}
	}
}

// robber is a scenario that loses messages that were deliverable for some time.
type robber struct{ thief }

func (*robber) Name() string                        { return "robber" }
func (*robber) New(lockstep.Info) lockstep.Director { return &robber{} }
func (r *robber) Observe(run *lockstep.Run, hand *lockstep.Control) {
	for _, id := range slices.Clone(run.FreeMessages()) {
		if r.rand.IntN(8) == 0 {
			hand.Do(lockstep.Step{Kind: trace.Drop, Msg: id})
		}
	}
}

// Messages that a scenario loses or holds use up no change points and no chains, neither at sending nor later. All
// change points of a run delay a possible event, and the campaign reports that.
func TestLostMessagesUseNoChangePoints(t *testing.T) {
	for sc, width := range map[lockstep.Scenario]int{&thief{}: 12, &robber{}: 20} {
		plan := lockstep.Plan{
			System:   chatters,
			Scenario: sc,
			Strategy: PCTCP{Depth: 6, Events: 20, Steps: 300},
			Runs:     100,
		}
		result, err := lockstep.Explore(context.Background(), plan)
		if err != nil {
			t.Fatal(err)
		}
		if result.Stats.Hits != 5*result.Runs || result.Stats.Width > width {
			t.Errorf("%s: %d of %d change points delayed something, width %d", sc.Name(), result.Stats.Hits,
				5*result.Runs, result.Stats.Width)
		}
		if want := "of 5 change points a run 5.0 delayed an event that could happen"; !slices.Contains(
			result.Guarantee.Assumes, want) {
			t.Errorf("%s: %q, want %q", sc.Name(), result.Guarantee.Assumes, want)
		}
	}
}
