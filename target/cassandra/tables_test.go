package cassandra

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/exact"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/servertest"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// Flags that select the rows of the paper's table 2 to reproduce. The rows are k1:d8 ... k10:d8, k6:d3 ... k6:d10, and
// baseline:0.125, 0.25 and 0.5: `go test -run Tables -long -rows k6:d6,k6:d8 -each 1h -timeout 0 .`
var (
	long      = flag.Bool("long", false, "make many runs of servers")
	seed      = flag.Uint64("seed", 1, "seed of a row")
	modelRuns = flag.Int("model", 200_000, "runs of the model that predict the measurements")
	agreeing  = flag.Int("agreeing", 50, "runs that are compared with the model with -long")
	bounded   = flag.Bool("bounded", true, "nothing begins after the last round, as in the paper")
	quorums   = flag.Duration("quorums", 500*time.Millisecond, "how long servers wait for a quorum")
	sampler   = flag.String("sampler", "paper", "how isolations are drawn: paper, partial or exact")
)

// entry is a row of the paper: a strategy, and its results in 1000 runs. The baseline has only the number of runs with
// the defect.
type entry struct {
	name             string
	strategy         lockstep.Strategy
	phases, messages float64
	buggy            int
}

// table returns the paper's table 2, with the baseline of section 7.1.
func table() (all []entry) {
	drawn := slices.Index(strategy.Exact.Words(), *sampler)
	if drawn < 0 {
		panic(fmt.Sprintf("the sampler is %q, allowed are %v", *sampler, strategy.Exact.Words()))
	}
	add := func(k, d int, phases, messages float64, buggy int) {
		all = append(
			all,
			entry{
				fmt.Sprintf("k%d:d%d", k, d),
				strategy.Uniform{Period: k, Isolations: d, Rounds: 24, Sampler: strategy.Sampler(drawn)},
				phases,
				messages,
				buggy,
			},
		)
	}
	add(1, 8, 3.61, 49.13, 0)
	add(2, 8, 3.60, 48.87, 0)
	add(4, 8, 3.80, 46.76, 0)
	add(8, 8, 3.95, 20.23, 0)
	add(10, 8, 3.97, 19.60, 0)
	add(6, 3, 3.18, 48.47, 0)
	add(6, 4, 3.35, 48.62, 0)
	add(6, 5, 3.48, 47.90, 1)
	add(6, 6, 3.61, 47.13, 1)
	add(6, 8, 3.81, 44.78, 2)
	add(6, 10, 3.93, 41.83, 1)
	for _, p := range []float64{0.125, 0.25, 0.5} {
		all = append(all, entry{name: fmt.Sprint("baseline:", p), strategy: strategy.Baseline{Drop: p, Steps: 150}})
	}
	return all
}

// count counts ballots and messages of runs, and reports no findings.
type count struct{ ballots, messages *int }

func (count) Reset() {}

func (count) Checked() int { return 1 }

func (count) Event(*lockstep.Run, *lockstep.Event) *lockstep.Finding { return nil }

func (c count) End(run *lockstep.Run) *lockstep.Finding {
	ballots := int32(0)
	for _, m := range run.Messages() {
		ballots = max(ballots, m.Tag.Phase)
	}
	*c.ballots += int(ballots)
	*c.messages += len(run.Messages())
	return nil
}

// predicted returns the percentage of runs in which the model has the defect.
func predicted(t *testing.T, s lockstep.Strategy) float64 {
	result := enginetest.Explore(
		t,
		lockstep.Plan{
			System:    modelled{Cluster{Bounded: *bounded}},
			Spec:      Once,
			Strategy:  s,
			Settle:    modelSettle,
			Runs:      *modelRuns,
			Seed:      *seed,
			KeepGoing: true,
			Keep:      1,
		},
	)
	return 100 * float64(result.Verdicts[trace.Fail]) / float64(result.Runs)
}

// TestPredicted logs how often the rows have the defect according to the model.
func TestPredicted(t *testing.T) {
	if !*long {
		t.Skip("-long makes it")
	}
	for _, r := range table() {
		if !servertest.Wanted(r.name) {
			continue
		}
		t.Logf("%s: %.4f %%", r.name, predicted(t, r.strategy))
	}
}

// TestTables reproduces rows of table 2 of the paper, as far as the time permits, and prints them beside the paper's.
func TestTables(t *testing.T) {
	if !*long {
		t.Skip("takes as long as it is given; -long makes it")
	}
	outside.JVM(t)
	fmt.Println(
		"| row | paper: buggy of 1000, phases, messages | ours: once, linearizability, inconclusive, runs | 95 % of " +
			"ours | phases | messages | runs an hour |\n|---|---|---|---|---|---|---|",
	)
	for _, r := range table() {
		if !servertest.Wanted(r.name) {
			continue
		}
		var ballots, messages int
		counted := spec.New("counted", func(lockstep.Info) *count { return &count{&ballots, &messages} })
		result, perHour, err := servertest.Row(
			t,
			lockstep.Plan{
				System:      Cluster{Change5985: true, Bounded: *bounded, Timeout: *quorums, StartTimeout: 5 * time.Minute},
				Spec:        spec.All(Once, Linearizable, counted),
				Strategy:    r.strategy,
				Settle:      Settle,
				Workers:     1,
				Runs:        1 << 20,
				Seed:        *seed,
				KeepGoing:   true,
				Keep:        1 << 20,
				Repetitions: 1,
				Scratch:     t.TempDir(),
			},
		)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		found := map[string]int{}
		for _, f := range result.Failures {
			found[f.Finding.Property]++
			t.Logf("%s: run %d: %s", r.name, f.Run, f.Finding.Text)
		}
		n := max(result.Runs, 1)
		low, high := exact.Limits(found["once"], n, 0.025)
		fmt.Printf(
			"| %s | %d, %.2f, %.2f | %d, %d, %d of %d | %.2f %% to %.2f %% | %.2f | %.2f | %.0f |\n",
			r.name,
			r.buggy,
			r.phases,
			r.messages,
			found["once"],
			found["linearizability"],
			result.Verdicts[trace.Unknown],
			result.Runs,
			100*low,
			100*high,
			float64(ballots)/float64(n),
			float64(messages)/float64(n),
			perHour,
		)
	}
}

// The strategies of all rows are valid.
func TestRows(t *testing.T) {
	info, err := Cluster{}.Describe()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table() {
		if _, err := r.strategy.Fit(info); err != nil {
			t.Error(r.name, err)
		}
	}
	if n := len(table()); n != 5+6+3 {
		t.Errorf("%d rows", n)
	}
}
