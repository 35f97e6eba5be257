package lockstep_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"pgregory.net/rapid"
)

// severally is a campaign of a strategy that learns in several lineages.
func severally(lineages, epoch, runs int) lockstep.Plan {
	g := strategy.Guided{
		Inner:    strategy.Inner{Strategy: strategy.POS{Steps: 40}},
		Fresh:    0.25,
		Keep:     20,
		Lineages: lineages,
		Epoch:    epoch,
	}
	return lockstep.Plan{
		System:    smr.Cluster{Nodes: 3, Bug: true},
		Strategy:  g,
		Spec:      smr.Prefix,
		Runs:      runs,
		KeepGoing: true,
		Keep:      2,
		Seed:      6,
	}
}

// The result of a strategy with several lineages depends on their number and not on the distribution of runs: several
// workers, or several batch runners that exchange what they have learned.
func TestLineages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := severally(rapid.IntRange(2, 4).Draw(t, "lineages"), rapid.IntRange(5, 30).Draw(t, "epoch"),
			rapid.IntRange(1, 300).Draw(t, "runs"))
		plan.Workers = 1
		want, err := lockstep.Explore(t.Context(), plan)
		if err != nil || want.Runs != plan.Runs {
			t.Fatal(want, err)
		}
		plan.Workers = rapid.IntRange(2, 5).Draw(t, "workers")
		at, err := lockstep.Explore(t.Context(), plan)
		if err != nil || at.Digest != want.Digest || at.Verdicts["fail"] != want.Verdicts["fail"] {
			t.Fatalf("%d workers: digest %x, one %x: %v", plan.Workers, at.Digest, want.Digest, err)
		}
		var runners []*lockstep.BatchRunner
		for range rapid.IntRange(1, 3).Draw(t, "runners") {
			c, err := lockstep.NewBatchRunner(plan)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			runners = append(runners, c)
		}
		var sum *lockstep.Result
		_, _, terms := runners[0].Prepared()
		for first := 0; first < plan.Runs; first += terms.Epoch {
			by := rapid.SampledFrom(runners).Draw(t, "by")
			part, err := by.Make(t.Context(), first, min(first+terms.Epoch, plan.Runs), 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range runners {
				c.Learn(first, by.Learned(first))
			}
			if sum == nil {
				sum = part
			} else {
				sum.Add(part, plan.Keep)
			}
		}
		if sum.Digest != want.Digest || sum.Steps != want.Steps {
			t.Errorf("digest %x, in one piece %x", sum.Digest, want.Digest)
		}
	})
}

// A batch runner that lacks what other lineages have learned reports an error, and so does one that is to begin in
// the middle.
func TestLineagesRefuse(t *testing.T) {
	for first, want := range map[int]string{
		40: "what was learned from run 0 on is missing",
		7:  "begins at a multiple of 20 runs",
	} {
		runner, err := lockstep.NewBatchRunner(severally(2, 20, 100))
		if err != nil {
			t.Fatal(err)
		}
		defer runner.Close()
		if _, err := runner.Make(t.Context(), first, first+20, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("run %d: %v", first, err)
		}
	}
}

// Two batch runners share a campaign of two lineages. Each makes the runs of one lineage, and they exchange what they
// have learned.
func ExampleBatchRunner_Learn() {
	plan := severally(2, 50, 200)
	one, _ := lockstep.NewBatchRunner(plan)
	two, _ := lockstep.NewBatchRunner(plan)
	defer one.Close()
	defer two.Close()
	digest := uint64(0)
	for epoch := 0; epoch < 200; epoch += 100 {
		for i, runner := range []*lockstep.BatchRunner{one, two} {
			first := epoch + 50*i
			part, err := runner.Make(context.Background(), first, first+50, 0)
			if err != nil {
				fmt.Println(err)
				return
			}
			digest += part.Digest
			one.Learn(first, runner.Learned(first))
			two.Learn(first, runner.Learned(first))
		}
	}
	whole, err := lockstep.Explore(context.Background(), plan)
	fmt.Println(digest == whole.Digest, err)
	// Output: true <nil>
}
