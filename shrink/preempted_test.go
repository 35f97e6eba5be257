package shrink_test

import (
	"context"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// preempted is the forgetful system with draws about two goroutines in each step, of which most have no effect. A crash
// loses what node 3 holds only if the first draw about goroutine 2 in that step is above 50.
type preempted struct {
	forgetful
	source lockstep.Source
}

func (p *preempted) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return &preempted{}, nil
}

func (p *preempted) Reset(ctx context.Context, seed uint64, out *lockstep.Outbox) error {
	p.source.Seed(out, seed, 1)
	return p.forgetful.Reset(ctx, seed, out)
}

func (p *preempted) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	effect := 0
	for i := range 6 {
		p.source.Goroutine = uint32(1 + i%2)
		if n := p.source.IntN(100); i == 1 {
			effect = n
		}
	}
	if s.Kind == trace.Crash && effect <= 50 {
		holds := p.holds
		defer func() { p.holds = holds }()
	}
	return p.forgetful.Do(ctx, s, out)
}

// Shrinking leaves the preemptions that a finding needs, and no others.
func TestPreempted(t *testing.T) {
	plan := lockstep.Plan{
		System: &preempted{}, Spec: kept(0), Seed: 1, Runs: 100,
		Strategy: strategy.Walk{Deliver: 80, Request: 12, Wait: 16, Crash: 3, Restart: 40, Down: 1, Steps: 300},
	}
	found := toy.Find(t, plan)[0]
	small, err := shrink.Run(t.Context(), plan, found.Trace, shrink.Options{Attempts: 400})
	if err != nil {
		t.Fatal(err)
	}
	count := func(tr *trace.Trace) (n int) {
		for _, r := range tr.Records {
			n += len(slices.DeleteFunc(slices.Clone(r.Draws), func(d trace.Draw) bool { return d.N == 0 }))
		}
		return n
	}
	if before, after := count(found.Trace), count(small.Trace); before < 50 || after != 1 {
		t.Errorf("the finding has %d draws above 0, shrunk %d, want many and one", before, after)
	}
	repeats(t, plan, small.Trace)
}
