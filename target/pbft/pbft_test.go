package pbft_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/replay"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/pbft"
	"github.com/lockstep-go/lockstep/trace"
)

// asynchronous is a network without loss: messages in any order, and ticks.
var asynchronous = strategy.Walk{Deliver: 20, Timer: 3, Request: 3, Steps: 1500}

// lossy loses one message in ten, too.
var lossy = strategy.Walk{Deliver: 20, Drop: 2, Duplicate: 1, Timer: 3, Request: 3, Steps: 800}

// inView holds when the moment concerns a message of a view.
func inView(v int32) Condition {
	return Body(fmt.Sprintf("view %d", v), func(m pbft.Message) bool { return m.View == v })
}

// decidesOnce adds the machine of the paper's Fig. 2: if one node decides a at index 1, no node decides b there, and
// vice versa.
func decidesOnce(sc *Scenario) {
	decided := func(request string) Condition {
		return Value(pbft.Decided, "a decision for "+request, func(d *pbft.Decision) bool {
			return d.Index == 1 &&
				d.Request == request
		})
	}
	m := sc.Machine("decided once")
	m.On(decided("a"), "a").MarkSuccess().On(decided("b"), Fail)
	m.On(decided("b"), "b").MarkSuccess().On(decided("a"), Fail)
}

// expect checks that a scenario has no findings, that no part of it is vacuous, and that it succeeds in all runs or
// most of them.
func expect(t *testing.T, sc *Scenario, s lockstep.Strategy, least float64) {
	t.Helper()
	result := enginetest.Explore(t, lockstep.Plan{System: pbft.Cluster{}, Strategy: s, Scenario: sc,
		Spec: pbft.Agreement, Runs: 200, Seed: 1})
	if f := result.First(); f != nil {
		t.Fatalf("run %d: %s", f.Run, f.Finding)
	}
	if parts := result.VacuousParts(); len(parts) > 0 || result.Verdict() != trace.Pass {
		t.Errorf("verdict %s %v, never: %q", result.Verdict(), result.Reasons, parts)
	}
	if got := float64(Successes(result)) / float64(result.Runs); got < least {
		t.Errorf("success in %.0f%% of the runs, want at least %.0f%%", 100*got, 100*least)
	}
}

// The examples of section 2 of the Netrix paper. Example 2.1: Prepare messages to one node are lost. It asks for a
// view change, no other node does, and the others decide.
func TestExample21(t *testing.T) {
	sc := New("Example 2.1").Faults(lockstep.Budget{Links: 3})
	decidesOnce(sc)
	m := sc.Machine("one asks")
	m.On(IsSend().And(Type(pbft.ViewChange), From(4)), "asked").MarkSuccess().
		On(IsSend().And(Type(pbft.NewView)), Fail)
	sc.If(Did(trace.Start)).Named("hold the timers of the others").Then(HoldTimers(Only(1, 2, 3)))
	sc.If(Type(pbft.Prepare), To(4)).Then(Drop())
	expect(t, sc, asynchronous, 1)
}

// Example 2.2: Prepare messages to three nodes are lost in view 0. They ask for a view change, and its leader
// announces the new view, in which nodes decide the requests.
func TestExample22(t *testing.T) {
	sc := New("Example 2.2").Faults(lockstep.Budget{Links: 9})
	decidesOnce(sc)
	m := sc.Machine("view change")
	// Three nodes send three messages each.
	asked := m.On(IsSend().And(Type(pbft.ViewChange), inView(1), Count("asking").Ge(8)), "expected")
	asked.On(IsSend().And(Type(pbft.NewView), inView(1), From(2)), "new view").MarkSuccess()
	sc.If(IsSend(), Type(pbft.ViewChange), inView(1)).Then(Count("asking").Incr())
	sc.If(Type(pbft.Prepare), To(2, 3, 4), inView(0)).Then(Drop())
	expect(t, sc, asynchronous, 0.9)
}

// Example 2.3: the Prepare messages of one node are changed to nil. The other three decide nevertheless.
func TestExample23(t *testing.T) {
	sc := New("Example 2.3").Faults(lockstep.Budget{Byzantine: 1})
	decidesOnce(sc)
	forger := pbft.Forger{Faulty: trace.NodesOf(3), Nodes: 4}
	sc.If(Type(pbft.Prepare), From(3)).
		Then(Rewrite("change to nil", func(m pbft.Message, _ lockstep.Node) pbft.Message {
			m.Request = ""
			return mustSign(forger, 3, m)
		}))
	expect(t, sc, asynchronous, 1)
}

// Example 2.4: the PrePrepare of view 0 reaches one node only when that of view 1 is in flight. Prepare messages of
// view 0 are lost, so that there is a view 1.
func TestExample24(t *testing.T) {
	sc := New("Example 2.4").Faults(lockstep.Budget{Links: 12})
	decidesOnce(sc)
	late := sc.Machine("late")
	late.On(IsReceive().And(Type(pbft.PrePrepare), inView(0), To(4)), "received").MarkSuccess()
	sc.If(Type(pbft.Prepare), inView(0)).Then(Drop())
	sc.If(Type(pbft.PrePrepare), To(4), inView(0)).Then(Store("reordered"))
	sc.If(IsSend(), Type(pbft.PrePrepare), inView(1)).Then(DeliverAll("reordered"))
	expect(t, sc, asynchronous, 0.9)
}

func mustSign(f pbft.Forger, by lockstep.Node, m pbft.Message) pbft.Message {
	m, err := f.Sign(by, m)
	if err != nil {
		panic(err) // the test itself is wrong
	}
	return m
}

// equivocation is a leader that proposes b to node 3 and a to all others, and votes for both.
func equivocation() *Scenario {
	sc := New("equivocation").Faults(lockstep.Budget{Byzantine: 1})
	forger := pbft.Forger{Faulty: trace.NodesOf(1), Nodes: 4}
	first := Body("index 1", func(m pbft.Message) bool { return m.Index == 1 })
	sc.If(Type(pbft.PrePrepare, pbft.Prepare, pbft.Commit), From(1), inView(0), first).Named("two truths").
		Then(Rewrite("a, but b to 3", func(m pbft.Message, to lockstep.Node) pbft.Message {
			m.Request = "a"
			if to == 3 {
				m.Request = "b"
			}
			return mustSign(forger, 1, m)
		}))
	return sc
}

// TestSmallQuorum checks that an equivocating leader splits nodes whose quorum is 2f, and cannot split correct ones.
func TestSmallQuorum(t *testing.T) {
	plan, found := onlyWith(t, pbft.Cluster{SmallQuorum: true}, equivocation())
	if again, err := replay.Run(t.Context(), plan, found.Trace); err != nil || again.Difference != "" ||
		again.Trace.Outcome.Verdict != trace.Fail {
		t.Errorf("the run with forged messages does not replay: %v %+v", err, again)
	}
}

// onlyWith looks for a bug under a scenario, which finds nothing without the bug.
func onlyWith(t *testing.T, bug pbft.Cluster, sc *Scenario) (lockstep.Plan, *lockstep.Failure) {
	t.Helper()
	plan := lockstep.Plan{
		System:   pbft.Cluster{},
		Strategy: asynchronous,
		Scenario: sc,
		Spec:     pbft.Agreement,
		Runs:     300,
		Seed:     1,
	}
	if result := enginetest.Explore(t, plan); result.Verdict() != trace.Pass || len(result.VacuousParts()) > 0 {
		t.Errorf("correct nodes: verdict %s, %v, never %q", result.Verdict(), result.First(), result.VacuousParts())
	}
	plan.System = bug
	found := enginetest.First(t, plan)
	t.Logf("run %d: %s", found.Run, found.Finding)
	return plan, found
}

// forgetting lets one node alone decide in view 0; then all others change the view.
func forgetting() *Scenario {
	sc := New("forgetting").Faults(lockstep.Budget{Links: 9})
	sc.If(Type(pbft.Commit), To(1).Not(), inView(0)).Named("only node 1 decides in view 0").Then(Drop())
	return sc
}

// TestForgetful checks that view 1 does not decide differently from a node in view 0.
func TestForgetful(t *testing.T) {
	onlyWith(t, pbft.Cluster{Forgetful: true}, forgetting())
}

// Byzantine node is a scenario in which f nodes, drawn for each run, forge random messages.
func byzantine(c pbft.Cluster) *Scenario {
	sc := New(
		"Byzantine nodes",
	).Faults(lockstep.Budget{Byzantine: c.Faulty(), Losses: lockstep.Unlimited, Duplicates: lockstep.Unlimited})
	faulty := sc.Pick("faulty", c.Faulty())
	sc.If(FromGroup(faulty), WithProbability(0.4)).Then(Forge("falsify", func(m *Moment) string {
		forger := pbft.Forger{Faulty: trace.NodesOf(m.Message.From), Nodes: m.Run.Info().Nodes, Requests: c.Clients()}
		return forger.Falsify(m.Rand(), m.Message.From, m.Body().(pbft.Message)).String()
	}))
	return sc
}

// TestCorrect checks that correct nodes agree with up to f Byzantine nodes, in any order of delivery and with losses.
func TestCorrect(t *testing.T) {
	tier.NotShort(t)
	for _, c := range []pbft.Cluster{{}, {Nodes: 7, Requests: 2}} {
		for _, s := range []lockstep.Strategy{asynchronous, lossy, strategy.PCTCP{Depth: 5, Steps: 800}} {
			t.Run(fmt.Sprintf("%d nodes, %s", max(4, c.Nodes), s), func(t *testing.T) {
				runs := 600
				if c.Nodes > 4 {
					runs = 100
				}
				result := enginetest.Explore(
					t,
					lockstep.Plan{System: c, Strategy: s, Scenario: byzantine(c), Spec: pbft.Agreement, Runs: runs, Seed: 7},
				)
				if f := result.First(); f != nil {
					t.Fatalf("run %d: %s", f.Run, f.Finding)
				}
				if parts := result.VacuousParts(); len(parts) > 0 || result.Verdict() != trace.Pass {
					t.Errorf("verdict %s %v, never: %q", result.Verdict(), result.Reasons, parts)
				}
				t.Logf("agreement was checked %d times in %d runs", result.Checked[0].N, result.Runs)
			})
		}
	}
}

// TestByzantineNodesFindTheBugs checks that the same Byzantine nodes expose the protocol's bugs.
func TestByzantineNodesFindTheBugs(t *testing.T) {
	c := pbft.Cluster{SmallQuorum: true}
	result := enginetest.Explore(
		t,
		lockstep.Plan{System: c, Strategy: asynchronous, Scenario: byzantine(c), Spec: pbft.Agreement, Runs: 3000, Seed: 7},
	)
	if result.First() == nil {
		t.Error("nothing was found in 3000 runs")
	}
}

// TestTooManyByzantine checks that one Byzantine node more than tolerated does not lead to findings.
func TestTooManyByzantine(t *testing.T) {
	c := pbft.Cluster{}
	sc := New("two Byzantine nodes").Faults(lockstep.Budget{Byzantine: c.Faulty()})
	sc.If(From(1, 2), WithProbability(0.5)).Then(Forge("falsify", func(m *Moment) string {
		forger := pbft.Forger{Faulty: trace.NodesOf(1, 2), Nodes: 4, Requests: c.Clients()}
		return forger.Falsify(m.Rand(), m.Message.From, m.Body().(pbft.Message)).String()
	}))
	result := enginetest.Explore(t,
		lockstep.Plan{System: c, Strategy: asynchronous, Scenario: sc, Spec: pbft.Agreement, Runs: 200, Seed: 7})
	if len(result.Failures) > 0 || result.Reasons["fault budget exceeded: 2 Byzantine nodes, 1 allowed"] == 0 {
		t.Errorf("%d findings, reasons %v", len(result.Failures), result.Reasons)
	}
}

// TestParse checks that Parse reads the output of String, for the messages of runs.
func TestParse(t *testing.T) {
	seen := map[string]int{}
	sc := New("parse")
	sc.If(IsSend()).Then(Do("compare", func(m *Moment, _ *lockstep.Control) {
		was := m.Body().(pbft.Message)
		is, err := pbft.Parse(was.String())
		if err != nil || is.String() != was.String() {
			t.Errorf("%s became %s, %v", was, is, err)
		}
		seen[was.Kind]++
	}))
	plan := lockstep.Plan{System: pbft.Cluster{}, Strategy: lossy, Scenario: sc, Runs: 20, Workers: 1}
	enginetest.Explore(t, plan)
	if len(seen) != 6 {
		t.Errorf("only these types were seen: %v", seen)
	}
	for _, bad := range []string{"", "Prepar view=1", "Prepare view=x", "Prepare shape=1",
		"ViewChange view=1 prepared=1:a(3.ff)",
		"ViewChange view=1 prepared=1:a@0(x.ff)", "NewView view=1 changes=2[]ff", "Prepare view=1 sign=zz"} {
		if _, err := pbft.Parse(bad); err == nil {
			t.Errorf("%q was read as a message", bad)
		}
	}
}

func ExampleForger_Sign() {
	f := pbft.Forger{Faulty: trace.NodesOf(4), Nodes: 4}
	m := pbft.Message{Kind: pbft.Prepare, View: 0, Index: 1, Request: "b"}
	forged, err := f.Sign(4, m)
	fmt.Println(forged, err)
	_, err = f.Sign(2, m)
	fmt.Println(err)
	// Output:
	// Prepare view=0 index=1 request=b sign=2957b3e906e24c85 <nil>
	// pbft: the forger has no key of node 2, only of 4
}

func ExampleForger_Falsify() {
	f := pbft.Forger{Faulty: trace.NodesOf(4), Nodes: 4, Requests: []string{"a", "b"}}
	source := rand.New(rand.NewPCG(1, 2))
	m := pbft.Message{Kind: pbft.Prepare, View: 0, Index: 1, Request: "b"}
	fmt.Println(f.Falsify(source, 4, m))
	fmt.Println(f.Falsify(source, 2, m)) // not one of its own
	// Output:
	// Prepare view=0 index=1 request=a sign=ce152caebcb77052
	// Prepare view=0 index=1 request=b sign=0
}

func ExampleParse() {
	m, err := pbft.Parse("Prepare view=0 index=1 request=a sign=ff")
	fmt.Println(m.Index, m.Request, err)
	_, err = pbft.Parse("Prepar view=0")
	fmt.Println(err)
	// Output:
	// 1 a <nil>
	// pbft: "Prepar view=0" begins with no type of message
}
