package realtoys_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// oneOwner is violated when a second node takes the lock.
var oneOwner = spec.OnEvent("one owner", "locked",
	func(owner *lockstep.Node, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		if *owner != 0 {
			return &lockstep.Finding{Text: "two nodes have the lock"}
		}
		*owner = e.Node
		return nil
	})

func strategies() []lockstep.Strategy {
	return []lockstep.Strategy{
		strategy.DefaultWalk,
		strategy.DefaultUniform,
		strategy.DefaultBaseline,
		strategy.DefaultPCTCP,
		strategy.DefaultPOS,
	}
}

// wholeWay lets the default strategies find a failure and replays it. In between it shrinks the failure to at most most
// steps of the exploring stage.
func wholeWay(t *testing.T, plan lockstep.Plan, most int) {
	for _, s := range strategies() {
		t.Run(s.String(), func(t *testing.T) {
			plan := plan
			plan.Strategy = s
			f := enginetest.First(t, plan)
			small, err := shrink.Run(t.Context(), plan, f.Trace, shrink.Options{Attempts: 2000})
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Trace.Rounds) == 0 && enginetest.Explored(small.Trace) > most {
				t.Errorf("shrunk from %s to %s", small.Was, small.Is)
			}
			enginetest.FailsAgain(t, plan, small.Trace)
		})
	}
}

// shrinkTwice shrinks by repetition: it removes a step only if the run still fails in two of three attempts.
func shrinkTwice(t *testing.T, plan lockstep.Plan, tr *trace.Trace) (*shrink.Shrunk, error) {
	return shrink.Run(t.Context(), plan, tr, shrink.Options{Attempts: 120, Repetitions: 3, Share: 0.6})
}

// replayed replays a run, which must fail again.
func replayed(t *testing.T, plan lockstep.Plan, tr *trace.Trace) {
	t.Helper()
	again, err := replay.Run(t.Context(), plan, tr)
	if err != nil || again.Failed == 0 || again.Trace.Outcome.Finding == nil {
		t.Fatalf("%+v, %v", again, err)
	}
	t.Logf("replayed: %s", again.Words(tr))
}
