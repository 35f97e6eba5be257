package cassandra

import (
	"flag"
	"math"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/kit/published"
	"github.com/lockstep-go/lockstep/strategy"
)

var (
	long     = flag.Bool("long", false, "make many runs of servers")
	seed     = flag.Uint64("seed", 1, "seed of the runs that are compared with the model")
	agreeing = flag.Int("agreeing", 50, "runs that are compared with the model with -long")
)

// The plans of all rows are valid.
func TestRows(t *testing.T) {
	rows := Tables(TableOptions{Seed: 1, Sampler: strategy.Paper})
	for _, r := range rows {
		info, err := r.Plan.System.Describe()
		if err != nil {
			t.Fatal(r.Name, err)
		}
		if _, err := r.Plan.Strategy.Fit(info); err != nil {
			t.Error(r.Name, err)
		}
	}
	if n := len(rows); n != 5+6+3 {
		t.Errorf("%d rows", n)
	}
}

// Without faults a run has three phases of six closed rounds, in each of which every server gets or sends a message.
// The paper counts as many: 54 messages, of which 18 are servers' messages to themselves.
func TestMetrics(t *testing.T) {
	o := TableOptions{Seed: 1, Model: true}
	r := o.row("calm", strategy.Uniform{Period: 6, Rounds: publishedRounds}, 0, nil)
	m, err := published.Measure(t.Context(), r, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0, 18, 18, 3, 3, 54} {
		if m.Values[i] != want {
			t.Errorf("%s: %g, want %g", m.Cells[i].Name, m.Values[i], want)
		}
	}
}

// The simulated tool of the paper has the published means: phases and rounds within 4 %, messages within 8 % for the
// paper's period. With other periods, where the bound is larger than the phase, it is within a quarter. Reading at one
// server shows the defect in about a third of the runs that have it.
func TestTool(t *testing.T) {
	runs := tier.Pick(2000, 20_000)
	all, one := 0, 0
	for _, p := range publishedRows {
		got := Tool(runs, p.period, p.isolations, 1)
		t.Logf("k%d:d%d: paper %.2f, %d of 1000; tool %.2f, %d and %d of %d", p.period, p.isolations, p.means, p.buggy,
			got.Means, got.All, got.One, runs)
		all, one = all+got.All, one+got.One
		for i, want := range p.means {
			tolerance := []float64{0.04, 0.05, 0.04, 0.25, 0.08}[i]
			if p.period != 6 {
				tolerance = 0.35
			}
			if d := math.Abs(got.Means[i]-want) / want; d > tolerance {
				t.Errorf("k%d:d%d: %s is %.2f, published are %.2f", p.period, p.isolations, meanNames[i], got.Means[i], want)
			}
		}
	}
	if all == 0 || one == 0 || one >= all {
		t.Errorf("a read at all servers shows the defect %d times, a read at one %d times", all, one)
	}
}
