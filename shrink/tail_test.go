package shrink_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/trace"
)

// answered counts the requests that were answered in a run of the forgetful system.
func answered(r *lockstep.Run) (n int) {
	for _, m := range r.Messages() {
		if m.Type == "ok" && m.Fate == trace.Delivered {
			n++
		}
	}
	return n
}

// A spec that checks the whole history at the end lets a run continue long after its failure. Shrinking removes that
// tail first, with a few attempts. Neither its length nor its content after the last relevant step matters.
func TestTheTailGoesFirst(t *testing.T) {
	const enough = 3
	spec := toy.Checker{AtEnd: func(r *lockstep.Run) *lockstep.Finding {
		if answered(r) < enough {
			return nil
		}
		return &toy.Anything
	}}
	plan := lockstep.Plan{System: &forgetful{}, Spec: spec, Strategy: busy, Seed: 1}
	found := toy.One(t, plan)
	small, err := shrink.Run(t.Context(), plan, found, shrink.Options{Attempts: 15})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s became %s in %d attempts", small.Was, small.Is, small.Attempts)
	last := small.Trace.Records[len(small.Trace.Records)-1]
	if m, _ := small.Trace.Message(last.Step.Msg); last.Step.Kind != trace.Deliver || m.Type != "ok" {
		t.Errorf("the last step is %s %s, not the last of the %d answers", last.Step.Kind, last.Text, enough)
	}
	if is, was := len(small.Trace.Records), len(found.Records); is > was/2 {
		t.Errorf("%d steps became %d", was-1, is-1)
	}
}

// Interrupted shrinking never returns more steps, requests or faults than the original run has. A calm run may need
// more messages than the original one.
func TestShrinkingNeverGrows(t *testing.T) {
	tier.NotShort(t)
	for _, c := range []struct {
		system lockstep.System
		spec   lockstep.Spec
		walk   lockstep.Strategy
		seed   uint64
	}{
		{&chancy{one: 400, idle: true}, noticed, harmless, 5},
		{&chancy{one: 12}, kept(0), busy, 5},
	} {
		plan := lockstep.Plan{
			System:    c.system,
			Spec:      c.spec,
			Strategy:  c.walk,
			Seed:      c.seed,
			Runs:      300,
			KeepGoing: true,
			Keep:      300,
		}
		for _, f := range toy.Find(t, plan) {
			if len(f.Trace.Records) < 400 {
				continue
			}
			for _, attempts := range []int{1, 30, 100} {
				small, err := shrink.Run(t.Context(), plan, f.Trace, shrink.Options{Attempts: attempts})
				if err != nil {
					t.Fatal(err)
				}
				noMore(t, f.Trace, small.Trace)
			}
		}
	}
}

// In a run that fails before its first step, nothing can be removed.
func TestNothingToShrink(t *testing.T) {
	spec := toy.Checker{OnStep: func(*lockstep.Run) *lockstep.Finding { return &toy.Anything }}
	plan := lockstep.Plan{System: &forgetful{}, Spec: spec, Strategy: busy, Seed: 1}
	small, err := shrink.Run(t.Context(), plan, toy.One(t, plan), shrink.Options{Attempts: 15})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(small.Trace.Records); n != 1 || small.Trace.Records[0].Step.Kind != trace.Start {
		t.Errorf("%d steps are left", n-1)
	}
}
