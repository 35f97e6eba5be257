package etcdraft_test

import (
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/shrink"
)

// TestSpread finds each deliberate fault with many seeds and shrinks it: the results should hardly depend on the run
// that the shrinking starts from. By default it takes one seed of a few faults; LOCKSTEP_SPREAD=10 takes 10 seeds of
// all faults.
func TestSpread(t *testing.T) {
	seeds, err := strconv.Atoi(os.Getenv("LOCKSTEP_SPREAD"))
	few := err != nil
	if few {
		seeds = 1
	}
	all, allNear := 0, 0
	for i, f := range faults() {
		if few && i%4 != 3 {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			var lengths, attempts []int
			near := 0
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
				property, steps := small.Trace.Outcome.Finding.Property, small.Trace.Outcome.Steps
				best := f.best[property]
				if steps <= best+best/10 {
					near++
				} else {
					t.Logf("seed %d: %d steps, the best known for %s is %d", seed, steps, property, best)
				}
				if steps < best {
					t.Errorf("seed %d: only %d steps for %s, which is better than the best known, %d", seed, steps,
						property, best)
				}
				lengths, attempts = append(lengths, steps), append(attempts, small.Attempts)
			}
			slices.Sort(lengths)
			slices.Sort(attempts)
			t.Logf("| %s | %v | %d | %d | %d of %d | %d |", f.name, f.best, lengths[0], lengths[seeds/2], near, seeds,
				attempts[seeds/2])
			all, allNear = all+seeds, allNear+near
		})
	}
	if t.Logf("%d of %d are within a tenth of the best known", allNear, all); 20*allNear < 19*all {
		t.Error("that should be 95 %")
	}
}
