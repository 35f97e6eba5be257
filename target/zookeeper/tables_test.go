package zookeeper

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/exact"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/servertest"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// Flags that select the rows of the paper's tables 6 and 7 to reproduce. The rows are div:0..9, sc:0..15, random:4,
// random:6, div:baseline and sc:baseline: `go test -run Tables -long -rows div:6,div:baseline -each 1h -timeout 0 .`
var (
	version = flag.String("version", "3.5.8", "version of the servers")
	seed    = flag.Uint64("seed", 1, "seed of a row")
)

// phases bounds the phases with isolations, which are the first ones. The default is that of the authors' tool
// (Config.phases), where a run of "sc" has five phases. With all five, the model predicts divergences for nine
// isolations and more, where the paper has none.
var phases = flag.Int("phases", 3, "isolations fall into the first so many phases; 0: all")

// row is a row of the paper: a harness, a number of isolations, of which -1 is the baseline, and a number of runs. The
// counts are the runs in which servers diverged, no order explained the state, or a client was dropped.
type row struct {
	harness    string
	isolations int
	counts
	tried int
}

// counts are numbers of runs, by violation.
type counts struct{ diverged, sc, dropped int }

// count counts findings.
func count(found []lockstep.Failure) (c counts) {
	for _, f := range found {
		switch f.Finding.Property {
		case "equal-data":
			c.diverged++
		case "client-comes-back":
			c.dropped++
		default:
			c.sc++
		}
	}
	return c
}

func (c counts) String() string { return fmt.Sprintf("%d, %d, %d", c.diverged, c.sc, c.dropped) }

func (r row) String() string {
	if r.isolations < 0 {
		return r.harness + ":baseline"
	}
	return fmt.Sprint(r.harness, ":", r.isolations)
}

// table returns the paper's tables 6 (div, random) and 7 (sc).
func table() (all []row) {
	for d, n := range []int{0, 0, 0, 2, 2, 0, 5, 4, 3, 0} {
		all = append(all, row{"div", d, counts{n, 0, 0}, 1000})
	}
	all = append(
		all,
		row{"div", -1, counts{2, 0, 1}, 1000},
		row{"random", 4, counts{15, 0, 0}, 12000},
		row{"random", 6, counts{13, 1, 7}, 12000},
	)
	for d, n := range []int{0, 0, 0, 2, 1, 2, 2, 5, 6, 0, 0, 0, 0, 0, 0, 0} {
		dropped := 0
		if d == 6 {
			dropped = 2
		}
		all = append(all, row{"sc", d, counts{n, 0, dropped}, 1000})
	}
	return append(all, row{"sc", -1, counts{7, 0, 2}, 1000})
}

// plan returns the campaign of a row. A random harness has 3 steps with 2 requests for 4 isolations, and 5 with 4 for
// 6.
func (r row) plan(scratch string) lockstep.Plan {
	c := Cluster{
		Version:      *version,
		Harness:      r.harness,
		Warm:         true,
		Steps:        3,
		Requests:     2,
		StartTimeout: 5 * time.Minute,
		Free:         r.isolations < 0,
	}
	steps := map[string]int{"div": 3, "sc": 5, "random": 3}[r.harness]
	if r.harness == "random" && r.isolations == 6 {
		steps, c.Steps, c.Requests = 5, 5, 4
	}
	plan := lockstep.Plan{
		System:      c,
		Spec:        Properties,
		Settle:      Settle,
		Workers:     1,
		Runs:        1 << 20,
		Seed:        *seed,
		KeepGoing:   true,
		Keep:        1 << 20,
		Repetitions: 1,
		Scratch:     scratch,
	}
	if r.isolations < 0 {
		plan.Scenario, plan.Strategy = Baseline(), strategy.DefaultWalk
		return plan
	}
	isolations := r.isolations
	if *phases > 0 {
		isolations = min(isolations, 3**phases)
	}
	plan.Strategy = strategy.Uniform{
		Period:     2,
		Rounds:     2 * steps,
		Phases:     *phases,
		Isolations: isolations,
		By:         strategy.ByRestart,
		Sampler:    strategy.Paper,
	}
	return plan
}

// TestTables reproduces rows of tables 6 and 7 of the paper, as far as the time permits, and prints them beside the
// paper's.
func TestTables(t *testing.T) {
	if !*long {
		t.Skip("takes as long as it is given; -long makes it")
	}
	outside.JVM(t)
	fmt.Println(
		"| row | paper: diverged, no order, client dropped | ours: the same | inconclusive | 95 % of ours together | " +
			"runs an hour |\n|---|---|---|---|---|---|",
	)
	for _, r := range table() {
		if !servertest.Wanted(r.String()) {
			continue
		}
		result, perHour, err := servertest.Row(t, r.plan(t.TempDir()))
		if err != nil {
			t.Errorf("%s: %v", r, err)
			continue
		}
		got := count(result.Failures)
		low, high := exact.Limits(len(result.Failures), max(result.Runs, 1), 0.025)
		fmt.Printf(
			"| %s | %s of %d | %s of %d | %d | %.2f %% to %.2f %% | %.0f |\n",
			r,
			r.counts,
			r.tried,
			got,
			result.Runs,
			result.Verdicts[trace.Unknown],
			100*low,
			100*high,
			perHour,
		)
	}
}

// The plans of all rows are valid: a row is as long as its harness.
func TestRows(t *testing.T) {
	for _, r := range table() {
		plan := r.plan(t.TempDir())
		info, err := plan.System.Describe()
		if err != nil {
			t.Fatal(r, err)
		}
		if _, err := plan.Strategy.Fit(info); err != nil {
			t.Error(r, err)
		}
		if u, ok := plan.Strategy.(strategy.Uniform); ok &&
			u.Rounds != 2*len(target.Fill(plan.System.(Cluster)).harness(1)) {
			t.Errorf("%s has %d rounds for %s", r, u.Rounds, target.Fill(plan.System.(Cluster)).harness(1))
		}
	}
	if n := len(table()); n != 11+2+17 {
		t.Errorf("%d rows", n)
	}
}
