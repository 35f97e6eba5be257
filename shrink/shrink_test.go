package shrink_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
	"pgregory.net/rapid"
)

// buggy is the plan whose findings these tests shrink.
var buggy = lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix}

// Shrinking keeps the property, never enlarges the run, and is deterministic.
func TestShrinkProperties(t *testing.T) {
	tier.NotShort(t)
	rapid.Check(t, func(rt *rapid.T) {
		plan := buggy
		plan.Seed = rapid.Uint64().Draw(rt, "seed")
		plan.Runs = 3000
		plan.Strategy = rapid.SampledFrom(
			[]lockstep.Strategy{
				strategy.DefaultWalk,
				strategy.DefaultBaseline,
				strategy.DefaultLossy,
				strategy.Uniform{Period: 4, Isolations: 6, Rounds: 24},
				strategy.Uniform{Period: 3, Isolations: 8, Rounds: 24},
			},
		).
			Draw(rt, "strategy")
		result, err := lockstep.Explore(context.Background(), plan)
		if err != nil {
			rt.Fatal(err)
		}
		if result.First() == nil {
			rt.Skip("nothing found")
		}
		tr := result.First().Trace
		attempts := rapid.IntRange(1, 2000).Draw(rt, "attempts")
		small, err := shrink.Run(context.Background(), buggy, tr, shrink.Options{Attempts: attempts})
		if err != nil {
			rt.Fatal(err)
		}
		if small.Trace.Outcome.Finding.Property != "prefix" || small.Attempts > attempts {
			rt.Fatalf("%+v", small)
		}
		if len(tr.Rounds) == 0 && len(small.Trace.Records) > len(tr.Records) ||
			len(small.Trace.Rounds) > len(tr.Rounds) {
			rt.Fatalf("grew from %d steps to %d", len(tr.Records), len(small.Trace.Records))
		}
		again, err := shrink.Run(context.Background(), buggy, tr, shrink.Options{Attempts: attempts})
		if err != nil || again.Is != small.Is || again.Attempts != small.Attempts {
			rt.Fatalf("the second time %+v, the first %+v, %v", again, small, err)
		}
	})
}

func TestShrinkErrors(t *testing.T) {
	plan := buggy
	plan.Strategy, plan.Runs = strategy.DefaultWalk, 5000
	tr := toy.Find(t, plan)[0].Trace
	if _, err := shrink.Run(t.Context(), buggy, tr, shrink.Options{Attempts: -1}); err == nil {
		t.Error("negative attempts are accepted")
	}
	other := lockstep.Plan{
		System: toy.Wrapped{
			System: smr.Cluster{Nodes: 3},
			Info:   func(i *lockstep.Info) { i.Name, i.Options = "smr-bug", tr.Header.Options },
		},
		Spec: smr.Prefix,
	}
	if _, err := shrink.Run(t.Context(), other, tr, shrink.Options{}); err == nil ||
		!strings.Contains(err.Error(), "flaky") {
		t.Errorf("a run that does not fail again: %v", err)
	}
	pass := *tr
	pass.Outcome = trace.Outcome{Verdict: trace.Pass}
	if _, err := shrink.Run(t.Context(), buggy, &pass, shrink.Options{}); err == nil ||
		!strings.Contains(err.Error(), "no finding") {
		t.Errorf("a run without a finding: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := shrink.Run(ctx, buggy, tr, shrink.Options{}); err == nil {
		t.Error("a cancelled context is not noticed")
	}
}

// An environment that breaks during shrinking is an error, which must not be swallowed.
func TestErrorsAreNotSwallowed(t *testing.T) {
	plan := buggy
	plan.Strategy, plan.Runs = strategy.DefaultWalk, 5000
	for _, s := range []lockstep.Strategy{strategy.DefaultWalk, strategy.DefaultUniform} {
		plan.Strategy = s
		tr := toy.Find(t, plan)[0].Trace
		inUse := errors.New("port in use")
		steps := 0
		breaks := toy.Wrapped{
			System: buggy.System,
			Do: func(ctx context.Context, d lockstep.Deployment, s *lockstep.Step, out *lockstep.Outbox) error {
				if steps++; steps > 1000 {
					return inUse
				}
				return d.Do(ctx, s, out)
			},
		}
		if _, err := shrink.Run(t.Context(), lockstep.Plan{System: breaks, Spec: smr.Prefix}, tr,
			shrink.Options{}); !errors.Is(err, inUse) {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// In a system with best-effort determinism, a candidate counts only if it fails often enough. Here every run with
// enough deliveries fails, and one in four of the others by chance.
func TestBestEffort(t *testing.T) {
	system := toy.Wrapped{System: toy.Cluster(nil), Info: func(i *lockstep.Info) { i.Determinism = lockstep.BestEffort }}
	runs := 0
	spec := toy.Checker{AtEnd: func(r *lockstep.Run) *lockstep.Finding {
		delivered := 0
		for _, m := range r.Messages() {
			if !r.IsFree(m.ID) {
				delivered++
			}
		}
		if runs++; delivered >= 3 || runs%4 == 0 {
			return &toy.Anything
		}
		return nil
	}}
	plan := lockstep.Plan{
		System:   system,
		Spec:     spec,
		Strategy: strategy.Walk{Deliver: 3, Timer: 1, Steps: 40},
		Workers:  1,
	}
	tr := toy.Find(t, plan)[0].Trace
	small, err := shrink.Run(t.Context(), plan, tr, shrink.Options{Repetitions: 5, Share: 0.8})
	if err != nil {
		t.Fatal(err)
	}
	delivered := 0
	for _, r := range small.Trace.Records {
		if r.Step.Kind == trace.Deliver {
			delivered++
		}
	}
	if delivered != 3 || small.Trace.Outcome.Steps > 5 {
		t.Errorf("%s, %d deliveries: three fail always, and nothing less fails in four of five", small.Is, delivered)
	}
}

// A run in real time that passes when shrinking repeats it is not called flaky: it may fail in other repetitions, which
// the campaign has counted.
func TestNotCalledFlaky(t *testing.T) {
	for of, want := range map[lockstep.Determinism]string{
		lockstep.Deterministic: "it is flaky",
		lockstep.BestEffort:    "and may in others",
	} {
		system := toy.Wrapped{System: toy.Cluster(nil), Info: func(i *lockstep.Info) { i.Determinism = of }}
		fails := true
		spec := toy.Checker{AtEnd: func(*lockstep.Run) *lockstep.Finding {
			if fails {
				return &toy.Anything
			}
			return nil
		}}
		walk := strategy.Walk{Deliver: 3, Timer: 1, Steps: 40}
		plan := lockstep.Plan{System: system, Spec: spec, Strategy: walk, Workers: 1}
		tr := toy.Find(t, plan)[0].Trace
		fails = false
		_, err := shrink.Run(t.Context(), plan, tr, shrink.Options{Repetitions: 2, Share: 0.5})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func ExampleRun() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: strategy.DefaultWalk, Spec: smr.Prefix}
	result, _ := lockstep.Explore(context.Background(), plan)
	small, err := shrink.Run(context.Background(), plan, result.First().Trace, shrink.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("from", small.Was)
	fmt.Println("to", small.Is)
	// Output:
	// from 198 steps, 20 messages lost
	// to 20 steps, 0 messages lost
}
