package shrink_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/strategy"
)

// delivered returns the number of messages delivered in a run.
func delivered(r *lockstep.Run) int { return len(r.Messages()) - len(r.FreeMessages()) }

// A run that fails in its settling stage is shrunk to its necessary steps, chosen or fair. Only a run that fails
// because it has settled keeps the stage.
func TestSettlingIsShrunk(t *testing.T) {
	for _, c := range []struct {
		name   string
		fails  func(*lockstep.Run) bool
		settle int
		steps  int
	}{
		{"whenever three arrived", func(r *lockstep.Run) bool { return delivered(r) >= 3 }, 0, 4},
		{"settled", func(r *lockstep.Run) bool { return r.Settled() }, 20, 20},
	} {
		checker := toy.Checker{AtEnd: func(r *lockstep.Run) *lockstep.Finding {
			if c.fails(r) {
				return &toy.Anything
			}
			return nil
		}}
		plan := lockstep.Plan{
			System:   toy.Cluster(nil),
			Spec:     checker,
			Strategy: strategy.Walk{Timer: 1, Steps: 5},
			Settle:   20,
		}
		small, err := shrink.Run(t.Context(), plan, toy.One(t, plan), shrink.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if h, o := small.Trace.Header, small.Trace.Outcome; h.Settle != c.settle || o.Steps != c.steps {
			t.Errorf("%s: %s, %d steps, settling %d", c.name, small.Is, o.Steps, h.Settle)
		}
	}
}
