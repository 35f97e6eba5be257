package shrink_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// If no interval of a long run can be removed because relevant steps are everywhere, whole groups of steps go first.
// Here these are the deliveries to node 2, between the 120 messages that node 3 must receive. Few attempts are enough.
func TestGroups(t *testing.T) {
	often := spec.OnEvent("seldom", "got", func(got *int, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		if e.Node == 3 {
			*got++
		}
		if *got < 120 {
			return nil
		}
		return &lockstep.Finding{Property: "seldom", Text: "node 3 got too much"}
	})
	plan := lockstep.Plan{
		System:   toy.Cluster(nil),
		Spec:     often,
		Strategy: strategy.Walk{Deliver: 2, Timer: 1, Steps: 1000},
		Runs:     10,
	}
	tr := toy.Find(t, plan)[0].Trace
	plan.Strategy = nil
	small, err := shrink.Run(t.Context(), plan, tr, shrink.Options{Attempts: 100})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(small.Was, "became", small.Is, "in", small.Attempts)
	if was, is := len(tr.Records), len(small.Trace.Records); was < 300 || is > was-100 {
		t.Errorf("%s became %s in %d attempts", small.Was, small.Is, small.Attempts)
	}
}
