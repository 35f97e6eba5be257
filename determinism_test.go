package lockstep_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// recordedAlways makes every run of a system a recorded one.
func recordedAlways(s lockstep.System) lockstep.System {
	return toy.Wrapped{System: s, Info: func(i *lockstep.Info) { i.Determinism = lockstep.BestEffort }}
}

// traceHash records every run of one campaign of 1000 runs, or of ten campaigns with different seeds, and hashes the
// files.
func traceHash(t *testing.T, s lockstep.Strategy, workers int) string {
	h := sha256.New()
	for seed := range uint64(tier.Pick(1, 10)) {
		result, err := lockstep.Explore(
			context.Background(),
			lockstep.Plan{
				System:      recordedAlways(smr.Cluster{Nodes: 3, Requests: 3}),
				Strategy:    s,
				Spec:        toy.AtEnd,
				Repetitions: 1,
				Seed:        seed,
				Runs:        1000,
				Workers:     workers,
				KeepGoing:   true,
				Keep:        1000,
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Failures) != 1000 {
			t.Fatalf("%d traces of 1000", len(result.Failures))
		}
		for _, f := range result.Failures {
			if err := trace.Write(h, f.Trace); err != nil {
				t.Fatal(err)
			}
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// The same plan and seed give byte-identical traces, twice and with one or two workers, over 1,000 run seeds for each
// strategy, or 10,000 in the full test.
func TestTracesAreByteIdentical(t *testing.T) {
	tier.NotShort(t)
	walk := strategy.Walk{
		Deliver:   10,
		Drop:      1,
		Duplicate: 1,
		Timer:     1,
		Request:   1,
		Crash:     1,
		Restart:   1,
		Cut:       1,
		Heal:      1,
		Steps:     40,
	}
	for _, s := range []lockstep.Strategy{
		walk,
		strategy.Baseline{Drop: 0.25, Steps: 40},
		strategy.Lossy{Rounds: 8, Loss: 0.2},
		strategy.Uniform{Period: 4, Isolations: 3, Rounds: 8},
	} {
		t.Run(s.String(), func(t *testing.T) {
			first := traceHash(t, s, 1)
			if again := traceHash(t, s, 2); again != first {
				t.Errorf("two workers: %s, one worker: %s", again, first)
			}
		})
	}
}

// The digest identifies the steps of a campaign. It is equal for equal plans with any number of workers, and differs
// for another seed or another number of runs.
func TestDigest(t *testing.T) {
	explore := func(seed uint64, runs, workers int) uint64 {
		result, err := lockstep.Explore(
			context.Background(),
			lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultWalk,
				Spec: smr.Prefix, Seed: seed, Runs: runs, Workers: workers},
		)
		if err != nil {
			t.Fatal(err)
		}
		return result.Digest
	}
	base := explore(1, 500, 1)
	for workers := 1; workers <= 4; workers++ {
		if d := explore(1, 500, workers); d != base {
			t.Errorf("%d workers: %x, one: %x", workers, d, base)
		}
	}
	if explore(2, 500, 1) == base || explore(1, 501, 1) == base {
		t.Error("the digest does not distinguish campaigns")
	}
}

// The first finding and all counts are the same for any number of workers.
func TestResultsDoNotDependOnWorkers(t *testing.T) {
	var first *lockstep.Result
	for workers := 1; workers <= 3; workers++ {
		for _, keepGoing := range []bool{false, true} {
			result, err := lockstep.Explore(
				context.Background(),
				lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: strategy.DefaultUniform,
					Spec: smr.Prefix, Seed: 5, Runs: 2000, Workers: workers, KeepGoing: keepGoing},
			)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = result
			}
			if result.First().Run != first.First().Run {
				t.Errorf("%d workers: first finding in run %d, with one worker in %d", workers, result.First().Run,
					first.First().Run)
			}
			if !keepGoing &&
				(result.Runs != first.Runs || result.Steps != first.Steps ||
					result.Digest != first.Digest || result.Checked[0] != first.Checked[0]) {
				t.Errorf("%d workers: %+v, one: %+v", workers, result, first)
			}
		}
	}
}

// A run leaves nothing behind that changes the next: runs made alone and in a campaign are the same.
func TestRunsAreIndependent(t *testing.T) {
	tier.NotShort(t)
	for _, k := range strategy.All() {
		whole, err := lockstep.Explore(
			context.Background(),
			lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: k.Default,
				Spec: smr.Prefix, Runs: 3000, Workers: 1, KeepGoing: true},
		)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range whole.Failures {
			if f.Flaky != "" {
				t.Errorf("%s: run %d: %s", k.Name, f.Run, f.Flaky)
			}
		}
		if terms, err := k.Default.Fit(lockstep.Info{Nodes: 3, Supports: ^trace.Kinds(0)}); err != nil ||
			len(whole.Failures) == 0 && !terms.Sequential {
			t.Errorf("%s: nothing found in 3000 runs", k.Name)
		}
	}
}
