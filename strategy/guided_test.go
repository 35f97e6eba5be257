package strategy_test

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// combination is a lock. Node 1 receives the numbers below n in any order, and opens when they arrive in ascending
// order from the first on. Its state is the length of the ascending prefix.
func combination(n int, fingerprints bool) lockstep.System {
	return sim.Cluster[int]{Name: "combination", Nodes: 2, Type: func(m int) string { return fmt.Sprint(m) },
		New: func(lockstep.Node, int) sim.Node[int] {
			if fingerprints {
				l := &hashedLock{lock{n: n}}
				return sim.With(l, sim.Capabilities[int]{Fingerprint: l.Fingerprint})
			}
			return &lock{n: n}
		}}
}

type lock struct {
	n, got, right int
}

func (l *lock) Start(c *sim.Context[int]) {
	for i := range l.n {
		if c.Self() == 2 {
			c.Send(1, i)
		}
	}
}

func (l *lock) Receive(c *sim.Context[int], _ lockstep.Node, m int) {
	if l.got++; m == l.right && l.got == m+1 {
		l.right++
	}
	if l.right == l.n {
		c.Emit("open", nil)
	}
}

func (l *lock) Timeout(*sim.Context[int])                {}
func (l *lock) Request(*sim.Context[int], int32, string) {}

type hashedLock struct{ lock }

func (h *hashedLock) Fingerprint() uint64 { return uint64(h.right) }

// closed is the spec that the lock stays closed.
type closed struct{ noFinding }

func (closed) Properties() []string                 { return []string{"closed"} }
func (c closed) New(lockstep.Info) lockstep.Monitor { return c }
func (closed) Step(run *lockstep.Run) *lockstep.Finding {
	if len(run.Events()) > 0 {
		return &lockstep.Finding{Property: "closed", Text: "it opened"}
	}
	return nil
}

// TestGuidedOpensLock checks that feedback finds what blind sampling does not: one order of 8! = 40320. Each further
// state on the way to it is new.
func TestGuidedOpensLock(t *testing.T) {
	opened := func(s lockstep.Strategy, system lockstep.System) (n int) {
		for seed := range uint64(10) {
			if enginetest.Explore(t,
				lockstep.Plan{System: system, Strategy: s, Spec: closed{}, Seed: seed, Runs: 3000}).First() != nil {
				n++
			}
		}
		return n
	}
	for _, inner := range []lockstep.Strategy{strategy.POS{}, strategy.Walk{Deliver: 1}} {
		blind := opened(inner, combination(8, true))
		guided := opened(strategy.Guided{Inner: strategy.Inner{Strategy: inner}, Fresh: 0.1, Keep: 100},
			combination(8, true))
		t.Logf("%s: blind %d, guided %d of 10 campaigns", inner, blind, guided)
		if blind > 2 || guided < 9 {
			t.Errorf("%s opened the lock in %d of 10 campaigns, guided in %d", inner, blind, guided)
		}
	}
}

// TestGuidedWithoutFingerprints checks that a guided campaign also works on a system without fingerprints, and that its
// findings can be repeated.
func TestGuidedWithoutFingerprints(t *testing.T) {
	s := strategy.Guided{Inner: strategy.Inner{Strategy: strategy.POS{}}, Fresh: 0.1, Keep: 100}
	first := enginetest.Explore(t,
		lockstep.Plan{System: combination(4, false), Strategy: s, Spec: closed{}, Runs: 3000}).First()
	if first == nil {
		t.Fatal("one order of 24 was not found")
	}
	if first.Flaky != "" {
		t.Error(first.Flaky)
	}
}

// TestGuidedKeepsRounds checks that the trace of a guided run shows the rounds of the inner strategy, although it is
// recorded by its steps.
func TestGuidedKeepsRounds(t *testing.T) {
	s := strategy.Guided{Inner: strategy.Inner{Strategy: strategy.DefaultUniform}, Fresh: 0.2, Keep: 100}
	result := enginetest.Explore(
		t,
		lockstep.Plan{
			System:    smr.Cluster{Nodes: 3, Bug: true},
			Strategy:  s,
			Spec:      smr.Prefix,
			Runs:      3000,
			KeepGoing: true,
		},
	)
	if len(result.Failures) == 0 {
		t.Fatal("nothing found")
	}
	for _, f := range result.Failures {
		if f.Flaky != "" {
			t.Errorf("run %d: %s", f.Run, f.Flaky)
		}
		last := f.Trace.Records[len(f.Trace.Records)-1]
		if n := len(f.Trace.Rounds); n == 0 || n > 16 || last.Round != n {
			t.Fatalf("%d rounds, the last step belongs to round %d", n, last.Round)
		}
		for _, r := range f.Trace.Records[1:] {
			m, ok := f.Trace.Message(r.Step.Msg)
			kernel := f.Trace.Rounds[r.Round-1].Kernel
			if ok && r.Step.Kind == trace.Deliver && !(kernel.Has(m.From) && kernel.Has(m.To)) {
				t.Fatalf("step %d delivers %s although the kernel of its round is %s", r.Number, m, kernel)
			}
		}
	}
}

// TestGuidedOfRandomSystem checks that findings in a system that draws random numbers can be repeated and replayed,
// with the seed of the mutated schedule.
func TestGuidedOfRandomSystem(t *testing.T) {
	system := sim.Cluster[int]{
		Name:  "moody",
		Nodes: 2,
		New:   func(lockstep.Node, int) sim.Node[int] { return &moody{lock{n: 4}} },
	}
	plan := lockstep.Plan{
		System:    system,
		Strategy:  strategy.Guided{Inner: strategy.Inner{Strategy: strategy.POS{}}, Fresh: 0.1, Keep: 100},
		Spec:      closed{},
		KeepGoing: true,
	}
	result := enginetest.Explore(t, plan)
	borrowed := 0
	for _, f := range result.Failures {
		again, err := replay.Run(t.Context(), plan, f.Trace)
		if f.Flaky != "" || err != nil || again.Difference != "" || again.Trace.Outcome.Verdict != trace.Fail {
			t.Fatalf("run %d: %s %+v %v", f.Run, f.Flaky, again, err)
		}
		if f.Trace.Header.Run != f.Run {
			borrowed++
		}
	}
	if borrowed == 0 {
		t.Errorf("none of %d findings is of a mutated schedule", len(result.Failures))
	}
}

func ExampleGuided() {
	s, err := strategy.Parse("guided:inner=pctcp:depth=3;steps=100,fresh=0.1")
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := lockstep.Explore(t0,
		lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix, Strategy: s})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Strategy)
	fmt.Println(result.First().Finding)
	// Output:
	// guided:inner=pctcp:depth=3;events=114;steps=100,fresh=0.1,keep=1000
	// prefix: node 2 outputs bd, but node 3 had output c
}
