package scenario_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/replay"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// replays records the messages that node 2 receives and delivers them again when node 3 has received three messages.
func replays() *Scenario {
	sc := New("replays")
	third := Count("third")
	sc.If(IsReceive(), To(2)).Then(Record("old"))
	sc.If(IsReceive(), To(3)).Then(third.Incr(), Continue())
	sc.If(IsReceive(), To(3), third.Ge(3)).Once().Named("again").Then(DeliverAll("old"))
	return sc
}

// gotOnce is the property that a node gets no number twice.
var gotOnce = spec.OnEvent(
	"once",
	"got",
	func(got *map[string]bool, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		if *got == nil {
			*got = map[string]bool{}
		}
		key := fmt.Sprint(e.Node, e.Value)
		if (*got)[key] {
			return &lockstep.Finding{Property: "once", Text: key + " again"}
		}
		(*got)[key] = true
		return nil
	},
)

// Messages that a node has received are delivered to it again, in the order of their recording: the replay fault of
// the paper's Table 2.
func TestStoredMessagesAreReplayed(t *testing.T) {
	plan := lockstep.Plan{
		System:   toy.Cluster(nil),
		Scenario: replays(),
		Strategy: strategy.Walk{Deliver: 5, Timer: 1, Steps: 60},
	}
	tr, err := lockstep.Record(t.Context(), plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	var first, again []string
	three := 0
	for _, r := range tr.Records {
		m, _ := tr.Message(r.Step.Msg)
		switch {
		case r.Step.Kind != trace.Deliver:
		case m.To == 3:
			three++
		case m.To == 2 && m.Copy != 0:
			again = append(again, m.Text)
		case m.To == 2 && three < 3:
			first = append(first, m.Text)
		}
	}
	if len(first) == 0 || !slices.Equal(first, again) {
		t.Errorf("node 2 received %q, and then again %q", first, again)
	}
	plan.Spec, plan.Runs = gotOnce, 100
	found := enginetest.Explore(t, plan).First()
	if found == nil || found.Flaky != "" {
		t.Fatalf("found %+v: no run replays anything", found)
	}
	if r, err := replay.Run(t.Context(), plan, found.Trace); err != nil || r.Difference != "" {
		t.Errorf("the run is not repeated: %v, %v", r, err)
	}
	small, err := shrink.Run(t.Context(), plan, found.Trace, shrink.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := replay.Run(t.Context(), plan, small.Trace); err != nil || r.Difference != "" ||
		small.Trace.Outcome.Steps > 4 {
		t.Errorf("%s became %s, and then: %v, %v", small.Was, small.Is, r,
			err) // send, deliver, duplicate, deliver the duplicate
	}
}

// An action without an effect has not acted: the set is empty, or its messages cannot arrive.
func TestNothingIsNotActed(t *testing.T) {
	for _, c := range []struct {
		name   string
		action Action
		record Condition
		acts   bool
	}{
		{"deliver what was received", DeliverAll("old"), IsReceive(), true},
		{"drop what was received", DropAll("old"), IsReceive(), false},
		{"release what was received", ReleaseAll("old"), IsReceive(), false},
		{"release what no set holds", ReleaseAll("old"), IsSend(), false},
		{"drop what was sent", DropAll("old"), IsSend(), true},
		{"deliver to a node that is down", DeliverAll("old"), IsReceive(), false},
	} {
		sc := New(c.name)
		third := Count("third")
		sc.If(c.record, To(2)).Then(Record("old"), Continue())
		sc.If(IsReceive(), To(3)).Then(third.Incr(), Continue())
		if c.name == "deliver to a node that is down" {
			sc.If(IsReceive(), To(3)).Once().Then(Crash(Only(2)), Continue())
		}
		sc.If(IsReceive(), To(3), third.Ge(2)).Once().Named("act").Then(c.action)
		plan := lockstep.Plan{
			System:   toy.Cluster(nil),
			Scenario: sc,
			Strategy: strategy.Walk{Deliver: 5, Timer: 1, Steps: 60},
			Runs:     20,
		}
		acted := 0
		for _, n := range enginetest.Explore(t, plan).Effects {
			if n.Name == fmt.Sprintf("filter %d (act) acted", sizeOf(sc)) {
				acted = n.N
			}
		}
		if (acted > 0) != c.acts {
			t.Errorf("%s: acted %d times", c.name, acted)
		}
	}
}

func sizeOf(sc *Scenario) int {
	filters, _ := sc.Size()
	return filters
}
