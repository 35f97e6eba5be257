package shrink_test

import (
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/strategy"
)

// TestSpread finds the same bug with many seeds and shrinks it: the results should hardly depend on the initial run.
// LOCKSTEP_SPREAD=100 uses 100 seeds instead of a few.
func TestSpread(t *testing.T) {
	tier.NotShort(t)
	seeds := 8
	if n, err := strconv.Atoi(os.Getenv("LOCKSTEP_SPREAD")); err == nil {
		seeds = n
	}
	var lengths, attempts []int
	for seed := range seeds {
		plan := buggy
		plan.Strategy, plan.Seed, plan.Runs = strategy.DefaultWalk, uint64(seed), 20000
		result, err := lockstep.Explore(t.Context(), plan)
		if err != nil || result.First() == nil {
			t.Fatalf("seed %d: nothing found, %v", seed, err)
		}
		small, err := shrink.Run(t.Context(), plan, result.First().Trace, shrink.Options{})
		if err != nil {
			t.Fatal(err)
		}
		lengths, attempts = append(lengths, small.Trace.Outcome.Steps), append(attempts, small.Attempts)
	}
	slices.Sort(lengths)
	slices.Sort(attempts)
	near := 0
	for _, n := range lengths {
		if n <= best+best/10 {
			near++
		}
	}
	t.Logf("%d of %d within a tenth of %d steps; lengths %v, attempts %v", near, seeds, best, lengths, attempts)
	if lengths[0] < best || 20*near < 19*seeds {
		t.Errorf("the best known is %d steps, and 95 %% should be within a tenth of it: %v", best, lengths)
	}
}

// best is the smallest known number of steps that triggers the bug.
const best = 20
