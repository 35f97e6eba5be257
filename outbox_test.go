package lockstep_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// gossip is nodes that send to all when their timer fires, and emit an event for every third message.
type gossip struct{ heard int }

func (*gossip) Start(c *sim.Context[int]) { c.SetTimeout(1) }
func (*gossip) Timeout(c *sim.Context[int]) {
	c.Broadcast(1)
	c.SetTimeout(1)
}
func (g *gossip) Receive(c *sim.Context[int], _ lockstep.Node, _ int) {
	if g.heard++; g.heard%3 == 0 {
		c.Emit("third", nil)
	}
}
func (*gossip) Request(*sim.Context[int], int32, string) {}

// flights compares the outbox's messages in flight with the fates that the run reports.
type flights struct {
	t    *testing.T
	out  **lockstep.Outbox
	held int
}

func (f *flights) New(lockstep.Info) lockstep.Watcher { return f }
func (*flights) Collect(int, any)                     {}
func (*flights) Reset()                               {}
func (*flights) Noted() any                           { return nil }

func (f *flights) Observe(run *lockstep.Run) {
	all, to1 := 0, []trace.ID{}
	for i := range run.Messages() {
		m := &run.Messages()[i]
		if held := run.IsHeld(m.ID); held || run.IsFree(m.ID) {
			all++
			if held {
				f.held++
			}
			if m.To == 1 {
				to1 = append(to1, m.ID)
			}
		}
	}
	if got := (*f.out).InFlight(); got != all {
		f.t.Fatalf("after step %d %d messages are in flight, the outbox says %d", run.Steps(), all, got)
	}
	for m := range (*f.out).Incoming(1) {
		if len(to1) == 0 || m.ID != to1[len(to1)-1] {
			f.t.Fatalf("after step %d message %d is said to come to node 1, on their way are %v", run.Steps(), m.ID,
				to1)
		}
		to1 = to1[:len(to1)-1]
	}
	if len(to1) > 0 {
		f.t.Fatalf("after step %d the messages %v to node 1 are not said to come", run.Steps(), to1)
	}
}

// The outbox reports the messages in flight, held or not, whatever happens to them.
func TestInFlight(t *testing.T) {
	var out *lockstep.Outbox
	system := sim.Cluster[int]{
		Name:  "gossip",
		Nodes: 3,
		New:   func(lockstep.Node, int) sim.Node[int] { return &gossip{} },
		Begin: func(o *lockstep.Outbox, _ *lockstep.Source) any { out = o; return nil },
	}
	guide := scenario.New("hold").
		Faults(lockstep.Budget{Losses: lockstep.Unlimited, Crashes: lockstep.Unlimited, Duplicates: lockstep.Unlimited})
	guide.If(scenario.IsEvent("third"), scenario.At(2)).Named("let go").Then(scenario.ReleaseAll("late"))
	guide.If(scenario.From(2)).Named("hold").Then(scenario.Store("late"))
	watch := &flights{t: t, out: &out}
	walk := strategy.Walk{
		Deliver:   6,
		Drop:      1,
		Duplicate: 1,
		Timer:     2,
		Crash:     1,
		Restart:   2,
		Cut:       1,
		Heal:      1,
		Steps:     120,
	}
	plan := lockstep.Plan{
		System:       system,
		Strategy:     walk,
		Scenario:     guide,
		Runs:         40,
		Seed:         1,
		Workers:      1,
		AllowVacuous: true,
		Observers:    []lockstep.Observer{watch},
	}
	if _, err := lockstep.Explore(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if watch.held == 0 {
		t.Error("nothing was ever held")
	}
}
