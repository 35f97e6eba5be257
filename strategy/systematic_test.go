package strategy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// echo has two nodes: the first sends a number of messages, the second sends each one back.
func echo(messages int) lockstep.System {
	return sim.Cluster[int]{
		Name:  "echo",
		Nodes: 2,
		New:   func(lockstep.Node, int) sim.Node[int] { return &echoNode{messages} },
	}
}

type echoNode struct{ messages int }

func (e *echoNode) Start(c *sim.Context[int]) {
	for i := range e.messages {
		if c.Self() == 1 {
			c.Send(2, i)
		}
	}
}

func (e *echoNode) Receive(c *sim.Context[int], from lockstep.Node, m int) {
	if c.Self() == 2 {
		c.Send(from, m)
	}
}

func (e *echoNode) Timeout(*sim.Context[int])                {}
func (e *echoNode) Request(*sim.Context[int], int32, string) {}

// TestShadowCounts compares the number of action sequences on the echo system with counts computed by hand.
//
// One message without faults: commit, run, commit, run. A loss may replace either commit: two more. Two messages in
// flight at once pass through four stages (commit, run, commit, run), each in order. These are the standard Young
// tableaux of two rows of four, Catalan(4) = 14. Two messages through two stages give Catalan(2) = 2.
//
// One duplicate: none (1), of the message, which must come first (14), of its echo (2).
//
// One duplicate and one loss: no duplicate 3. The echo duplicated: with two messages on the network, losing none gives
// 2, and losing the second 2. The first is lost right after dup (a forbidden pair): 1. The message duplicated: then a
// commit comes first. After it, no message is lost (14), or the second copy is (4 positions in the chain run, commit,
// run). Or the echo of the first copy is lost (5), or that of the second (14): 37 in sum. Or a loss comes right after
// dup: 1. The sum is 3+4+37 = 44, and with the forbidden pairs 46.
//
// Two messages that may be swapped by one position: the messages are swapped first, or not. After either, the echoes
// are both on the network before one is committed, and are swapped (2*2 = 4 ways) or not swapped (14): 2*18. With one
// duplicate of one message: none 1, of the message 18, of the echo 2, whose copies must not be swapped.
func TestShadowCounts(t *testing.T) {
	for _, c := range []struct {
		messages int
		search   strategy.Systematic
		want     int
	}{
		{1, strategy.Systematic{}, 1},
		{1, strategy.Systematic{Losses: 1}, 3},
		{2, strategy.Systematic{}, 14},
		{1, strategy.Systematic{Duplicates: 1}, 17},
		{1, strategy.Systematic{Duplicates: 1, Losses: 1}, 44},
		{1, strategy.Systematic{Duplicates: 1, Losses: 1, Redundant: true}, 46},
		{2, strategy.Systematic{Distance: 1}, 36},
		{1, strategy.Systematic{Duplicates: 1, Distance: 1}, 21},
	} {
		c.search.Network, c.search.Steps, c.search.Delays = strategy.QueueNetwork, 100, strategy.Unbounded
		result := enginetest.Explore(t, lockstep.Plan{System: echo(c.messages), Strategy: c.search, Runs: 1000})
		if want := fmt.Sprintf("complete to this bound: %d executions", c.want); result.Reached != want ||
			result.Runs != c.want {
			t.Errorf("%s: %d runs, %s, want %s", c.search, result.Runs, result.Reached, want)
		}
	}
}

// extensions yields every order in which the messages of a partial order can be delivered if at most losses of them are
// lost. A lost message is negative; its causes count as delivered only if they were.
func extensions(p poset, losses int, yield func(order []int)) {
	var order []int
	done := make([]int, len(p.before)) // 0 waiting, 1 delivered, 2 lost
	var grow func(losses int)
	grow = func(losses int) {
		stuck := true
		for i, before := range p.before {
			ready := done[i] == 0
			for _, b := range before {
				ready = ready && done[b] == 1
			}
			if !ready {
				continue
			}
			stuck = false
			for way := 1; way <= 2; way++ {
				if way == 2 && losses == 0 {
					continue
				}
				done[i] = way
				order = append(order, (i+1)*(3-2*way))
				grow(losses - way + 1)
				order = order[:len(order)-1]
				done[i] = 0
			}
		}
		if stuck {
			yield(order)
		}
	}
	grow(losses)
}

// class names the orders that differ only in the order of independent events: it contains the deliveries at each node
// in order, and the losses.
func class(p poset, order []int) string {
	at := map[lockstep.Node][]int{}
	var lost []int
	for _, o := range order {
		if o < 0 {
			lost = append(lost, -o)
		} else {
			at[p.to(o-1)] = append(at[p.to(o-1)], o)
		}
	}
	slices.Sort(lost)
	return fmt.Sprint(at, lost) // fmt prints maps in key order
}

// steps is a spec that never fails and passes on the choices of every run. A choice is the number of a delivered
// message, or the negative number of a lost one.
type steps struct {
	noFinding
	run func(order []int)
}

type stepsMonitor struct {
	steps
	order []int
}

func (s steps) New(lockstep.Info) lockstep.Monitor          { return &stepsMonitor{steps: s} }
func (s *stepsMonitor) Reset()                              { s.order = s.order[:0] }
func (s *stepsMonitor) End(*lockstep.Run) *lockstep.Finding { s.run(s.order); return nil }
func (s *stepsMonitor) Step(run *lockstep.Run) *lockstep.Finding {
	switch last := run.Last(); last.Kind {
	case trace.Deliver:
		s.order = append(s.order, run.View().(*posetRun).which[last.Msg-1]+1)
	case trace.Drop:
		s.order = append(s.order, -run.View().(*posetRun).which[last.Msg-1]-1)
	}
	return nil
}

// TestSystematicAgainstBruteForce compares the runs of a search on systems of three nodes with all orders of a
// brute-force enumeration. Without a reduction each order occurs exactly once; with sleep sets, exactly one of each
// class of equivalent orders occurs.
func TestSystematicAgainstBruteForce(t *testing.T) {
	for _, c := range []struct {
		name string
		poset
		losses int
	}{
		{"antichain", poset{before: make([][]int, 5), at: []lockstep.Node{1, 2, 2, 3, 3}}, 0},
		{"antichain, losses", poset{before: make([][]int, 4), at: []lockstep.Node{1, 2, 2, 3}}, 2},
		{"chains", poset{before: [][]int{nil, {0}, nil, {2}, nil}, at: []lockstep.Node{1, 2, 3, 2, 1}}, 1},
		{"broadcast", poset{before: [][]int{nil, {0}, {0}, {1}, {2}, {2}}, at: []lockstep.Node{1, 2, 3, 1, 1, 3}}, 1},
		{"join", poset{before: [][]int{nil, nil, {0, 1}, {1}, {2}}, at: []lockstep.Node{1, 2, 3, 3, 1}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			orders, classes := map[string]int{}, map[string]int{}
			extensions(c.poset, c.losses, func(order []int) {
				orders[fmt.Sprint(order)]++
				classes[class(c.poset, order)]++
			})
			got := visit(t, c.poset, strategy.Systematic{Losses: c.losses},
				func(o []int) string { return fmt.Sprint(o) })
			compare(t, "orders", got, orders)
			reduced := strategy.Systematic{Losses: c.losses, Reduce: strategy.SleepSets}
			compare(t, "classes", visit(t, c.poset, reduced, func(o []int) string { return class(c.poset, o) }),
				classes)
		})
	}
}

// visit counts the complete executions of a search by name.
func visit(t *testing.T, p poset, s strategy.Systematic, name func([]int) string) map[string]int {
	t.Helper()
	s.Steps, s.Delays = 100, strategy.Unbounded
	got := map[string]int{}
	result := enginetest.Explore(
		t,
		lockstep.Plan{System: p, Strategy: s, Runs: 100_000, Spec: steps{run: func(order []int) {
			if complete(p, order) {
				got[name(order)]++
			}
		}}},
	)
	if !strings.HasPrefix(result.Reached, "complete to this bound: ") {
		t.Errorf("%s", result.Reached)
	}
	return got
}

// complete reports whether no message remains after an order. Runs that a search truncates as equivalent are not
// complete.
func complete(p poset, order []int) bool {
	for i, before := range p.before {
		ready := !slices.Contains(order, i+1) && !slices.Contains(order, -i-1)
		for _, b := range before {
			ready = ready && slices.Contains(order, b+1)
		}
		if ready {
			return false
		}
	}
	return true
}

func compare(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	for name := range want {
		if got[name] != 1 {
			t.Errorf("%s: %s was made %d times", what, name, got[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d %s, brute force gives %d", len(got), what, len(want))
	}
}

// TestIsolations counts the executions of one message and its echo with one isolation by hand. The message may be
// delivered first (5). Then its echo is delivered (1), or one of two nodes is isolated, which does not affect messages
// in flight. That node reconnects or not before the echo is delivered (2*2). Or one of two nodes is isolated first
// (2*2). Then the message is delivered and its echo is lost, or the node reconnects and both are delivered.
func TestIsolations(t *testing.T) {
	s := strategy.Systematic{Steps: 20, Isolations: 1, Delays: strategy.Unbounded}
	result := enginetest.Explore(t, lockstep.Plan{System: echo(1), Strategy: s})
	if want := "complete to this bound: 9 executions"; result.Reached != want {
		t.Errorf("%s, want %s", result.Reached, want)
	}
}

// TestDelayBound checks that a bound on delays restricts the tree to orders with at most that many delays. For an
// antichain of n events, these are the orders with at most d inversions of the counted kind.
func TestDelayBound(t *testing.T) {
	// The i-th choice skips i others: with 3 messages the orders cost 0, 1, 1, 2, 2, 3.
	for delays, want := range []int{1, 3, 5, 6, 6} {
		s := strategy.Systematic{Steps: 10, Delays: delays}
		result := enginetest.Explore(t, lockstep.Plan{System: chain(1, 1, 1), Strategy: s, Runs: 100})
		if result.Runs != want {
			t.Errorf("%d orders with %d delays, want %d", result.Runs, delays, want)
		}
	}
}

// TestStates checks that comparing states reaches the same final states with fewer runs.
func TestStates(t *testing.T) {
	system := smr.Cluster{Nodes: 2}
	finals := map[strategy.Reduction]map[string]bool{}
	runs := map[strategy.Reduction]int{}
	for _, reduce := range []strategy.Reduction{strategy.NoReduction, strategy.SleepSets, strategy.States} {
		set := map[string]bool{}
		s := strategy.Systematic{Steps: 30, Timers: 1, Losses: 1, Delays: strategy.Unbounded, Reduce: reduce}
		result := enginetest.Explore(t,
			lockstep.Plan{System: system, Strategy: s, Runs: 1_000_000, Spec: final{states: set}})
		if !strings.HasPrefix(result.Reached, "complete to this bound: ") {
			t.Fatalf("%s: %s", reduce, result.Reached)
		}
		finals[reduce], runs[reduce] = set, result.Runs
	}
	if len(finals[strategy.NoReduction]) < 2 {
		t.Fatalf("final states %v", finals[strategy.NoReduction])
	}
	for reduce, set := range finals {
		if fmt.Sprint(set) != fmt.Sprint(finals[strategy.NoReduction]) {
			t.Errorf("%s: %d final states, without reduction %d", reduce, len(set), len(finals[strategy.NoReduction]))
		}
	}
	if runs[strategy.SleepSets] >= runs[strategy.NoReduction] || runs[strategy.States] >= runs[strategy.SleepSets] {
		t.Errorf("the reductions save nothing: %v", runs)
	}
}

// final is a spec that never fails and collects the states in which no message is in flight.
type final struct {
	noFinding
	states map[string]bool
}

func (f final) New(lockstep.Info) lockstep.Monitor { return f }
func (f final) End(run *lockstep.Run) *lockstep.Finding {
	if len(run.FreeMessages()) == 0 {
		var b strings.Builder
		for n := lockstep.Node(1); int(n) <= run.Info().Nodes; n++ {
			h, _ := run.Fingerprint(n)
			fmt.Fprintf(&b, "%x ", h)
		}
		f.states[b.String()] = true
	}
	return nil
}

// moody is the lock with numbers that node 2 draws.
type moody struct{ lock }

func (m *moody) Start(c *sim.Context[int]) {
	for _, i := range c.Rand().Perm(m.n) {
		if c.Self() == 2 {
			c.Send(1, i)
		}
	}
}

// TestSystematicOfRandomSystem checks that a search can backtrack in a system that draws random numbers, and that its
// finding replays. Exactly one order in 24 opens the lock.
func TestSystematicOfRandomSystem(t *testing.T) {
	system := sim.Cluster[int]{
		Name:  "moody",
		Nodes: 2,
		New:   func(lockstep.Node, int) sim.Node[int] { return &moody{lock{n: 4}} },
	}
	plan := lockstep.Plan{
		System:    system,
		Strategy:  strategy.Systematic{Steps: 10, Delays: strategy.Unbounded},
		Spec:      closed{},
		Seed:      9,
		KeepGoing: true,
	}
	result := enginetest.Explore(t, plan)
	if result.Reached != "complete to this bound: 24 executions" || len(result.Failures) != 1 {
		t.Fatalf("%s, %d findings", result.Reached, len(result.Failures))
	}
	again, err := replay.Run(t.Context(), plan, result.Failures[0].Trace)
	if err != nil || again.Difference != "" || again.Trace.Outcome.Verdict != trace.Fail {
		t.Errorf("the replay ended with %+v, %v", again, err)
	}
}

func ExampleSystematic() {
	result, err := lockstep.Explore(t0, lockstep.Plan{System: smr.Cluster{Nodes: 2}, Spec: smr.Prefix, Runs: 100_000,
		Strategy: strategy.Systematic{
			Reduce: strategy.SleepSets,
			Steps:  30,
			Timers: 1,
			Losses: 1,
			Delays: strategy.Unbounded,
		}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Verdict(), "after", result.Runs, "runs")
	fmt.Println(result.Reached)
	// Output:
	// pass after 198 runs
	// complete to this bound: 58 executions, and 140 runs that led to nothing new
}
