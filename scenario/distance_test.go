package scenario_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// The asks are messages 1 and 2, the answers 3 and 4. The ask to node 2 (message 1) is released when node 1 hears the
// answer of node 3. By then all four have been sent, three of them after message 1.
func ExampleDistances() {
	sc := New("distances")
	sc.If(Type("Ask"), To(2)).Named("hold the ask").Then(Store("late"))
	sc.If(IsReceive(), Type("Answer"), From(3)).Named("release it").Then(ReleaseAll("late"))
	sc.If(Type("Answer"), From(2)).Named("lose an answer").Then(Drop())
	sc.If(Type("Answer"), From(3)).Named("forge an answer").Then(Replace("Answer 7"))
	list, err := Distances(context.Background(), lockstep.Plan{System: bell(), Scenario: sc})
	for _, d := range list {
		fmt.Println(d.Name, d.Class, d, d.Captured)
	}
	fmt.Println(err)
	// Output:
	// filter 1 (hold the ask) reorder 3 1
	// filter 2 (release it) neutral - 0
	// filter 3 (lose an answer) drop ∞ 1
	// filter 4 (forge an answer) byzantine ∞ 1
	// <nil>
}

// Node 1 hears node 3 before node 2. In a random order that happens occasionally; a forged answer does not.
func ExampleAblate() {
	sc := New("3 before 2, and a forgery")
	m := sc.Machine("order")
	m.On(IsReceive().And(From(3)), "3 first").On(IsReceive().And(From(2)), "then 2").MarkSuccess()
	m.On(IsReceive().And(From(2)), "2 first").MarkOptional()
	forgery := sc.Machine("forgery")
	forgery.On(IsReceive().And(Body("7", func(n note) bool { return n.Number == 7 })), "heard").MarkSuccess()
	sc.If(Type("Answer"), From(3)).Named("forge").Then(Replace("Answer 7"))
	sc.If(Type("Answer"), From(2), m.InState(Start)).Named("hold").Then(Store("late"))
	sc.If(IsReceive(), From(3)).Named("release").Then(ReleaseAll("late"))
	a, err := Ablate(context.Background(), lockstep.Plan{System: bell(), Scenario: sc, Seed: 1, Runs: 1000,
		Strategy: strategy.Walk{Deliver: 1, Timer: 1}}, nil)
	fmt.Print(a, err)
	// Output:
	// 3 before 2, and a forgery with walk:deliver=1,drop=0,timer=1,request=0,steps=0, 1000 runs each
	// successes  distance  class      without
	//      1000                       nothing
	//         0         ∞  byzantine  filter 1 (forge)
	//       494         1  reorder    filter 2 (hold)
	//       236         -  neutral    filter 3 (release)
	//  <nil>
}

// The filter that counts is not needed, and the one that drops is.
func ExampleMinimize() {
	sc := New("nothing from 2")
	m := sc.Machine()
	m.On(IsEvent("heard"), "one").On(IsEvent("heard"), "two").MarkOptional()
	m.At("one").MarkSuccess()
	sc.If(IsReceive(), Type("Answer")).Named("count").Then(Count("answers").Incr())
	sc.If(Type("Answer"), From(2)).Named("drop").Then(Drop())
	sc.If(Type("Answer"), From(3)).Named("at once").Then(Deliver())
	smaller, err := Minimize(context.Background(), lockstep.Plan{System: bell(), Scenario: sc, Seed: 1, Runs: 100,
		Strategy: strategy.Walk{Deliver: 1, Timer: 1}}, 0.9, nil)
	fmt.Println(smaller, err)
	// Output:
	// nothing from 2: 100 of 100 runs succeed without filter 3 (at once), filter 1 (count), 100 with all <nil>
}

// TestMinimizeRefuses: without successes there is no rate to keep.
func TestMinimizeRefuses(t *testing.T) {
	sc := New("never")
	sc.Machine().On(Did(trace.Crash), "crashed").MarkSuccess()
	sc.If(Type("Ask")).Then(Drop())
	plan := lockstep.Plan{System: bell(), Scenario: sc, Runs: 10, Strategy: Synchronous{}}
	for want, hold := range map[string]float64{"no run succeeds with all filters": 0.9, "allowed is (0,1]": 1.5} {
		if _, err := Minimize(context.Background(), plan, hold, nil); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestDistancesAreAveraged: the captures of a filter are counted over many runs.
func TestDistancesAreAveraged(t *testing.T) {
	sc := New("until the output")
	sc.If(Round("Promise")).Once().Then(DelayUntil(IsEvent(smr.Output)))
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Scenario: sc, Strategy: Synchronous{}, Steps: 200, Runs: 20}
	many, err := Distances(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	plan.Runs = 1
	one, err := Distances(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if many[0].Captured != 20*one[0].Captured || one[0].Captured != 1 || many[0].Kept > 0 {
		t.Errorf("one run %+v, twenty %+v", one[0], many[0])
	}
}

func TestDelayDistances(t *testing.T) {
	sc := New("delays")
	sc.If(Type("Ask"), To(2)).Then(DelayUntil(IsEvent("done")))
	sc.If(Type("Ask"), To(3)).Then(Delay(5))
	list, err := Distances(context.Background(), lockstep.Plan{System: asking(), Scenario: sc})
	if err != nil {
		t.Fatal(err)
	}
	// Two of the three asks go from node 1 to node 2, each three messages before done.
	if d := list[0]; d.Captured != 2 || d.Kept != 0 || d.Mean != 3 || d.Max != 3 {
		t.Errorf("delay until done: %+v", d)
	}
	// The clock moves only with the timer, which fires after the requests. Their asks wait for it, and the ask of the
	// timer itself waits indefinitely.
	if d := list[1]; d.Captured != 3 || d.Kept != 1 {
		t.Errorf("delay by 5: %+v", d)
	}
}

// TestObservationMovesNothing: measuring distances causes no fault in the run.
func TestObservationMovesNothing(t *testing.T) {
	sc := New("everything")
	sc.If(Did(trace.Start)).Then(Crash(Only(2)), Cut(Only(1), Only(3)), HoldTimers(Only(1)), Continue())
	sc.If(Type("Ask")).Named("asks").Then(Drop())
	sc.If(Type("Answer")).Named("answers").Then(Drop())
	sc.If(IsEvent("heard")).Then(Finish())
	list, err := Distances(context.Background(), lockstep.Plan{System: bell(), Scenario: sc})
	if err != nil || list[1].Captured != 2 || list[2].Captured != 2 {
		t.Errorf("%v %+v: the asks and their answers should all have been sent", err, list)
	}
}

// foreign is a scenario that is not one of this package.
type foreign struct{ lockstep.Scenario }

// TestForeignScenarios: a plan without a scenario, or with one that is not of this package, has no filters to explain
// or measure.
func TestForeignScenarios(t *testing.T) {
	for what, plan := range map[string]lockstep.Plan{
		"must be one of this package, not <nil>": {System: bell(), Strategy: Synchronous{}},
		"must be one of this package, not scenario_test.foreign": {
			System:   bell(),
			Strategy: Synchronous{},
			Scenario: foreign{New("mine")},
		},
	} {
		for _, err := range []error{
			Explain(context.Background(), plan, io.Discard),
			second(Distances(context.Background(), plan)),
			second(Ablate(context.Background(), plan, nil)),
			second(Minimize(context.Background(), plan, 1, nil)),
		} {
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("error %v, want one with %q", err, what)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }
