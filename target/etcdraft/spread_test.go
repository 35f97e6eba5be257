package etcdraft_test

import (
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/shrink"
)

// TestSpread finds each deliberate fault with many seeds and shrinks it: the results should hardly depend on
// where shrinking began. LOCKSTEP_SPREAD=20 takes so many seeds instead of a few.
func TestSpread(t *testing.T) {
	seeds := 2
	if n, err := strconv.Atoi(os.Getenv("LOCKSTEP_SPREAD")); err == nil {
		seeds = n
	}
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			var lengths, tries []int
			for seed := range uint64(seeds) {
				plan := f.plan(seed)
				result, err := lockstep.Explore(t.Context(), plan)
				if err != nil || result.First() == nil {
					t.Fatalf("seed %d: nothing found, %v", seed, err)
				}
				small, err := shrink.Run(t.Context(), plan, result.First().Trace, shrink.Options{})
				if err != nil {
					t.Fatal(err)
				}
				lengths, tries = append(lengths, small.Trace.Outcome.Steps), append(tries, small.Tries)
			}
			slices.Sort(lengths)
			slices.Sort(tries)
			near := 0
			for _, n := range lengths {
				if n <= f.best+f.best/10 {
					near++
				}
			}
			t.Logf("%d of %d within a tenth of %d steps; median %d; lengths %v, tries %v", near, seeds, f.best, lengths[seeds/2], lengths, tries)
			if lengths[0] < f.best || 20*near < 19*seeds {
				t.Errorf("the best known is %d steps, and 95 %% should be within a tenth of it", f.best)
			}
		})
	}
}
