package rounds_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// gossip is a system without tags. A node that receives a rumor for the first time sends it to all, and a timer
// starts a new one.
func gossip() sim.Cluster[int] {
	return sim.Cluster[int]{Name: "gossip", Nodes: 3, Requests: []string{"x", "y", "z"},
		New: func(self lockstep.Node, _ int) sim.Node[int] { return &gossiper{} }}
}

// tagged is gossip in rounds: a rumor belongs to the round of its number, so that its echoes come too late for it.
func tagged() sim.Cluster[int] {
	system := gossip()
	system.Rounds = []string{"A", "B", "C"}
	system.Tag = func(rumour int) trace.Tag { return trace.Tag{Phase: 1, Round: int32(rumour % 3)} }
	return system
}

type gossiper struct {
	heard  []int
	silent bool // it sets no timer
}

func (g *gossiper) Start(c *sim.Context[int]) {
	if !g.silent {
		c.SetTimeout(1)
	}
}
func (g *gossiper) Timeout(c *sim.Context[int]) {
	g.send(c, int(c.Self())<<8|len(g.heard))
	c.SetTimeout(1)
}
func (g *gossiper) Request(c *sim.Context[int], id int32, _ string)          { g.send(c, int(id)<<16) }
func (g *gossiper) Receive(c *sim.Context[int], _ lockstep.Node, rumour int) { g.send(c, rumour) }
func (g *gossiper) send(c *sim.Context[int], rumour int) {
	if !slices.Contains(g.heard, rumour) {
		g.heard = append(g.heard, rumour)
		c.Broadcast(rumour)
	}
}

// turns is a strategy of rounds with kernels in turn, and with requests and perhaps other steps in some of them. It
// reports on its driver.
type turns struct {
	number  int
	kernels []lockstep.Nodes
	give    map[int][]lockstep.Step // by index of the round
	silent  bool                    // no timers except those given
	reverse bool                    // the newest message first
	driver  **rounds.Driver
}

func (t turns) String() string { return "turns" }
func (t turns) Fit(info lockstep.Info) (lockstep.Terms, error) {
	return lockstep.Terms{}, info.Require("turns", rounds.Need(info))
}
func (t turns) New(info lockstep.Info) lockstep.Scheduler {
	p := &turning{turns: t}
	p.inner = rounds.New(info, t.number, p)
	if t.driver != nil {
		*t.driver = p.inner
	}
	return p
}

type turning struct {
	turns
	inner  *rounds.Driver
	kernel lockstep.Nodes
	left   []lockstep.Step
}

func (t *turning) Reset(s *lockstep.Start) { t.inner.Reset(t.number - s.Run) } // run i is i rounds shorter
func (t *turning) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	return t.inner.Next(turn, next)
}
func (t *turning) Report(bool) lockstep.SchedulerStats { return lockstep.SchedulerStats{} }
func (t *turning) Open(round int, _ *lockstep.Turn) (int, lockstep.Nodes) {
	t.kernel, t.left = t.kernels[round%len(t.kernels)], t.give[round]
	return round/len(t.kernels) + 1, t.kernel
}
func (t *turning) Loses(m *trace.Message) bool {
	return !t.kernel.Has(m.From) || !t.kernel.Has(m.To)
}
func (t *turning) Give(_ *lockstep.Turn, next *lockstep.Step) bool {
	if len(t.left) == 0 {
		return false
	}
	*next, t.left = t.left[0], t.left[1:]
	return true
}
func (t *turning) Fire(byRule lockstep.Nodes) lockstep.Nodes {
	if t.silent {
		return 0
	}
	return byRule
}
func (t *turning) Order(_ *lockstep.Turn, mail []trace.ID) {
	if t.reverse {
		slices.Reverse(mail)
	}
}

func record(t *testing.T, system lockstep.System, s turns) *trace.Trace {
	t.Helper()
	tr, err := lockstep.Record(t.Context(), lockstep.Plan{System: system, Strategy: s}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// fates computes, by the rules alone, the round in which each message is taken. It is the first that begins to
// deliver after the message was sent. With tags, it is the first of those with the message's round name, or a later
// one in the phase, in which the message is lost. It is 0 if there is no such round any more.
func fates(tr *trace.Trace) (due map[trace.ID]int, late map[trace.ID]bool) {
	names := len(tr.Header.Rounds)
	due, late = map[trace.ID]int{}, map[trace.ID]bool{}
	for i := range tr.Records {
		r := &tr.Records[i]
		for _, m := range r.Sent {
			from := max(r.Round, 1)
			if r.Step.Kind == trace.Deliver { // its round was under way
				from++
			}
			for ; from <= len(tr.Rounds) && due[m.ID] == 0; from++ {
				here := 0
				if names > 0 {
					here = (from - 1) % names
					late[m.ID] = here > int(m.Tag.Round) || r.Round > 0 && (from-1)/names > (r.Round-1)/names
				}
				if names == 0 || here == int(m.Tag.Round) || late[m.ID] {
					due[m.ID] = from
				}
			}
		}
	}
	return due, late
}

// checkRounds checks a trace against the rules of rounds.
func checkRounds(t *testing.T, tr *trace.Trace, kernels []lockstep.Nodes) {
	t.Helper()
	names := len(tr.Header.Rounds)
	due, late := fates(tr)
	taken := map[trace.ID]bool{}
	var flying, order []trace.ID // at the start of the round, and in the order of its steps
	round, open := 0, []trace.ID(nil)
	for i := range tr.Records {
		r := &tr.Records[i]
		if r.Round != round {
			round, flying, order = r.Round, slices.Clone(open), nil
			if want := kernels[(round-1)%len(kernels)]; tr.Rounds[round-1].Kernel != want {
				t.Fatalf("round %d has the kernel %s, want %s", round, tr.Rounds[round-1].Kernel, want)
			}
		}
		switch s := &r.Step; s.Kind {
		case trace.Deliver, trace.Drop:
			m, _ := tr.Message(s.Msg)
			heard := tr.Rounds[round-1].Kernel.Has(m.From) && tr.Rounds[round-1].Kernel.Has(m.To) && !late[s.Msg]
			if due[s.Msg] != round || heard != (s.Kind == trace.Deliver) {
				t.Fatalf("step %d, %s, in round %d with kernel %s: its round is %d", r.Number, r.Text, round,
					tr.Rounds[round-1].Kernel, due[s.Msg])
			}
			if order = append(order, s.Msg); !slices.IsSorted(order) {
				t.Fatalf("round %d takes messages in the order %v", round, order)
			}
			taken[s.Msg] = true
			open = slices.DeleteFunc(open, func(id trace.ID) bool { return id == s.Msg })
		case trace.Timer:
			first := names > 0 && (round-1)%names == 0 || names == 0 && len(flying) == 0
			if !first || !tr.Rounds[round-1].Kernel.Has(s.Node) || len(order) > 0 {
				t.Fatalf("the timer of node %d fires in round %d with kernel %s, in flight were %v", s.Node, round,
					tr.Rounds[round-1].Kernel, flying)
			}
		}
		for _, m := range r.Sent {
			open = append(open, m.ID)
		}
	}
	for id, at := range due {
		if taken[id] != (at > 0) {
			t.Errorf("message %d is due in round %d, and was taken: %v", id, at, taken[id])
		}
	}
}

// TestRules checks runs with and without tags against the rules, with kernels that leave some nodes out and some that
// are empty.
func TestRules(t *testing.T) {
	set := trace.NodesOf
	for _, kernels := range [][]lockstep.Nodes{
		{set(1, 2, 3)},
		{set(1, 2), set(1, 2, 3), set(2, 3), set(1), set(1, 2, 3), set(1, 2, 3), set(1, 3)},
		{0, set(1, 2, 3), set(1, 2, 3)},
	} {
		for _, system := range []lockstep.System{
			smr.Cluster{Nodes: 3},
			smr.Cluster{Nodes: 3, Requests: 3},
			gossip(),
			tagged(),
		} {
			s := turns{number: 25, kernels: kernels, give: map[int][]lockstep.Step{}}
			if info, _ := system.Describe(); info.Name == "gossip" {
				s.give[3] = []lockstep.Step{
					{Kind: trace.Request, Node: 1, Request: 1},
					{Kind: trace.Request, Node: 2, Request: 2},
				}
				s.give[9] = []lockstep.Step{{Kind: trace.Request, Node: 3, Request: 3}}
			}
			tr := record(t, system, s)
			checkRounds(t, tr, kernels)
			if err := rounds.Check(tr); err != nil {
				t.Error(err)
			}
			if len(tr.Rounds) != 25 {
				t.Errorf("%d rounds", len(tr.Rounds))
			}
			given := map[int]int{}
			for _, r := range tr.Records {
				if r.Step.Kind == trace.Request {
					given[r.Round-1]++
				}
			}
			for round, steps := range s.give {
				if given[round] != len(steps) {
					t.Errorf("%d requests were given in round %d, want %d", given[round], round+1, len(steps))
				}
			}
		}
	}
}

// TestOwnDecisions checks that a plan can keep timers from firing, fire others, and choose the order of arrival.
func TestOwnDecisions(t *testing.T) {
	all := []lockstep.Nodes{trace.AllNodes(3)}
	tr := record(t, gossip(), turns{number: 4, kernels: all, silent: true, reverse: true,
		give: map[int][]lockstep.Step{1: {{Kind: trace.Timer, Node: 2}}}})
	var got []string
	for _, r := range tr.Records[1:] {
		got = append(got, fmt.Sprint(r.Round, " ", &r.Step))
	}
	want := []string{"2 timer node 2", "2 deliver message 3", "2 deliver message 2", "2 deliver message 1"}
	if len(got) < 4 || !slices.Equal(got[:4], want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, r := range tr.Records[2:] {
		if r.Step.Kind == trace.Timer {
			t.Errorf("another timer: %s", &r.Step)
		}
	}
}

// TestMessagesToTheDown checks that a message to a crashed node is lost.
func TestMessagesToTheDown(t *testing.T) {
	tr := record(t, gossip(), turns{number: 3, kernels: []lockstep.Nodes{trace.AllNodes(3)},
		give: map[int][]lockstep.Step{1: {{Kind: trace.Crash, Node: 3}}}})
	lost := 0
	for _, r := range tr.Records {
		m, ok := tr.Message(r.Step.Msg)
		if !ok || r.Round < 2 {
			continue
		}
		if (r.Step.Kind == trace.Drop) != (m.To == 3) {
			t.Errorf("step %d: %s %s", r.Number, &r.Step, r.Text)
		}
		if r.Step.Kind == trace.Drop {
			lost++
		}
	}
	if lost == 0 {
		t.Error("nothing was sent to the node that is down")
	}
}

// ticking is a system whose time passes by waits instead of timers.
type ticking struct{ sim.Cluster[int] }

func (t ticking) Describe() (lockstep.Info, error) {
	info, err := t.Cluster.Describe()
	info.Supports = info.Supports&^trace.KindsOf(trace.Timer) | trace.KindsOf(trace.Wait)
	return info, err
}

func ticker() ticking {
	system := gossip()
	system.New = func(lockstep.Node, int) sim.Node[int] { return &gossiper{silent: true} }
	return ticking{system}
}

// TestWaitsInPlaceOfTimers checks a system without timers whose messages the engine controls. Time passes once in
// each round in which timers would fire.
func TestWaitsInPlaceOfTimers(t *testing.T) {
	s := turns{
		number:  6,
		kernels: []lockstep.Nodes{trace.AllNodes(3)},
		give:    map[int][]lockstep.Step{2: {{Kind: trace.Request, Node: 1, Request: 1}}},
	}
	var got []int
	for _, r := range record(t, ticker(), s).Records {
		if r.Step.Kind == trace.Wait {
			got = append(got, r.Round)
		}
	}
	// The rumor of round 3 is delivered in it, its echoes in round 4.
	if want := []int{1, 2, 3, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("time passes in rounds %v, want %v", got, want)
	}
}

// TestCounts checks the number of rounds opened and of those with messages, and that a driver can be reused for
// another number.
func TestCounts(t *testing.T) {
	var d *rounds.Driver
	s := turns{number: 5, kernels: []lockstep.Nodes{trace.AllNodes(3)}, silent: true, driver: &d,
		give: map[int][]lockstep.Step{1: {{Kind: trace.Request, Node: 1, Request: 1}}}}
	b, err := lockstep.NewRunner(lockstep.Plan{System: gossip(), Strategy: s})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	for _, run := range []int{0, 2} {
		if _, err := b.Run(t.Context(), run, nil); err != nil {
			t.Fatal(err)
		}
		// The rumor is in round 2, its echoes are in round 3.
		if d.Opened() != 5-run || d.Active() != 2 {
			t.Errorf("%d rounds opened, %d with messages", d.Opened(), d.Active())
		}
	}
}

func ExampleNeed() {
	info, _ := smr.Cluster{Nodes: 3}.Describe()
	fmt.Println(rounds.Need(info))
	info, _ = servers{3, cuts | crashes}.Describe()
	fmt.Println(rounds.Need(info))
	// Output:
	// deliver, drop, timer
	// cut, heal, wait
}

func ExampleNeedIsolation() {
	info, _ := servers{3, cuts | crashes}.Describe()
	fmt.Println(rounds.NeedIsolation(info, false))
	fmt.Println(rounds.NeedIsolation(info, true))
	// Output:
	// cut, heal, wait
	// crash, restart, wait
}

func ExampleCoarse() {
	cluster, _ := smr.Cluster{Nodes: 3}.Describe()
	server, _ := servers{3, cuts}.Describe()
	fmt.Println(rounds.Coarse(cluster), rounds.Coarse(server))
	// Output: false true
}

func ExampleTicks() {
	cluster, _ := smr.Cluster{Nodes: 3}.Describe()
	server, _ := servers{3, cuts}.Describe()
	fmt.Println(rounds.Ticks(&cluster), rounds.Ticks(&server))
	// Output: false true
}

// ExampleDriver isolates node 3 of the replicated log in the second round of each phase.
func ExampleDriver() {
	set := trace.NodesOf
	s := turns{number: 8, kernels: []lockstep.Nodes{set(1, 2, 3), set(1, 2), set(1, 2, 3), set(1, 2, 3)}}
	tr, err := lockstep.Record(context.Background(), lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: s}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range tr.Records {
		if r.Step.Kind == trace.Drop {
			fmt.Println("round", r.Round, tr.Rounds[r.Round-1].Name, "loses", r.Text)
		}
	}
	// Output:
	// round 2 Ack loses 3->1 Ack phase=1 last=0 log=-
	// round 6 Ack loses 3->2 Ack phase=2 last=1 log=a
}
