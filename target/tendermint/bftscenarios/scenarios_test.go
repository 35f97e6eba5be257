package bftscenarios

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/processor"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target/tendermint"
)

var runs = flag.Int("table", 0, "make the table of the scenarios with so many iterations of each")

// The fifteen scenarios succeed without vacuous parts and without findings; but a polka for nil unlocks no validator
// in CometBFT 1.0. With -table the test measures the scenarios instead. -run 'Scenarios/(Expect|Lag)' selects some of
// them.
func TestScenarios(t *testing.T) {
	if *runs > 0 {
		fmt.Printf("%s, %d iterations each with %s, seed 20261\n\n%s", tendermint.Version(), *runs, Strategy, Head)
	}
	took, made := time.Duration(0), 0
	defer func() {
		if made > 0 {
			fmt.Printf(
				"\n%.1f s of processor time for %d iterations, %.0f s for 1,000\n",
				took.Seconds(),
				made,
				1000*took.Seconds()/float64(made),
			)
		}
	}()
	for _, c := range Cases {
		t.Run(c.Name, func(t *testing.T) {
			if *runs > 0 {
				took += measure(t, c)
				made += 3 * *runs // with our filters, with the published filters, and the control
				return
			}
			result, err := lockstep.Explore(t.Context(), Plan(c.Build(true), 1, 1))
			if err != nil {
				t.Fatal(err)
			}
			if f := result.First(); f != nil {
				t.Errorf("found %s", f.Finding)
			}
			want := 1
			if c.Name == "ExpectUnlock" && !deviates() {
				want = 0
			}
			if got := scenario.Successes(result); got != want {
				t.Errorf("%d successes, want %d; never: %v", got, want, result.VacuousParts())
			}
		})
	}
}

// deviates reports whether the library unlocks on a polka for nil.
func deviates() bool { return !strings.HasPrefix(tendermint.Version(), "v1.") }

// measure produces a line of the table, and returns the CPU time that it took.
func measure(t *testing.T, c Case) time.Duration {
	began := processor.Used()
	r, err := c.Measure(t.Context(), *runs, 20261)
	if err != nil {
		t.Fatal(err)
	}
	took := processor.Used() - began
	r.Write(os.Stdout)
	if r.Finding != "" {
		t.Errorf("found %s", r.Finding)
	}
	return took
}

// The published rule for locks, and the libraries that deviate from it.
func TestStrictLocking(t *testing.T) {
	plan := Plan(ExpectUnlock(true), 2, 1)
	plan.Spec = tendermint.StrictLocking
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if f := result.First(); deviates() != (f != nil) {
		t.Errorf("%s: found %+v", tendermint.Version(), f)
	} else if f != nil {
		t.Log(f.Finding)
	}
}
