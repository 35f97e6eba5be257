package compare_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/compare"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

var ctx = context.Background()

// TestShare compares with published values of the Clopper-Pearson interval.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		hits, trials int
		low, high    float64
	}{
		{0, 10, 0, 0.3085},
		{1, 20, 0.001265, 0.2487},
		{5, 10, 0.1871, 0.8129},
		{10, 10, 0.6915, 1},
		{2, 1000, 0.0002423, 0.0072058},
	} {
		got := compare.Share(c.hits, c.trials, 0.95)
		if math.Abs(got.Low-c.low) > 1e-4*(1+c.low) || math.Abs(got.High-c.high) > 1e-4*(1+c.high) {
			t.Errorf("%d of %d: %v, want [%g, %g]", c.hits, c.trials, got, c.low, c.high)
		}
	}
}

// TestHitRate compares with values computed by hand.
func TestHitRate(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	nothing := compare.HitRate([]int{0, 0, 0, 0}, 250, 0.95)
	near("nothing found, low", nothing.Low, 0)
	near("nothing found, high", nothing.High, compare.Share(0, 1000, 0.95).High)
	at := compare.HitRate([]int{1, 1, 1}, 100, 0.95)
	near("always at once, low", at.Low, math.Pow(0.025, 1./3))
	near("always at once, high", at.High, 1)
	one := compare.HitRate([]int{40}, 1000, 0.95) // P(first hit <= 40) = 1-(1-p)^40
	near("one campaign, low", one.Low, 1-math.Pow(0.975, 1./40))
	near("one campaign, high", one.High, 1-math.Pow(0.025, 1./39))
	few := compare.HitRate([]int{10, 0, 300, 20, 0, 0, 500, 7, 0, 0}, 1000, 0.95)
	if !(few.Low > 0.0002 && few.Low < 0.0005 && few.High > 0.001 && few.High < 0.003) {
		t.Errorf("5 hits in 5837 runs: %v", few)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		first             []int
		median, low, high int
	}{
		{nil, 0, 0, 0},
		{[]int{5, 7, 9}, 7, 1, 0},                                // too few for an interval
		{[]int{6, 5, 4, 3, 2, 1}, 3, 1, 6},                       // 2/64 < 5%
		{[]int{10, 20, 30, 40, 50, 60, 70, 80, 0, 0}, 50, 20, 0}, // ranks 2 and 9 of 10
		{[]int{0, 0, 0, 0, 0, 0, 0, 0, 0, 3}, 0, 0, 0},
	} {
		median, low, high := compare.Median(c.first, 0.95)
		if median != c.median || low != c.low || high != c.high {
			t.Errorf("%v: %d [%d, %d], want %d [%d, %d]", c.first, median, low, high, c.median, c.low, c.high)
		}
	}
}

func plan(runs int) lockstep.Plan {
	return lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix, Runs: runs, Seed: 1}
}

// TestStrategies checks a comparison against the campaigns that it reports.
func TestStrategies(t *testing.T) {
	now := time.Duration(0)
	strategies := []lockstep.Strategy{
		strategy.DefaultUniform,
		strategy.POS{Steps: 100},
		strategy.Uniform{Period: 4, Rounds: 4},
		strategy.Systematic{
			Steps:  20,
			Timers: 1,
			Delays: strategy.Unbounded,
			Reduce: strategy.SleepSets,
		},
		strategy.DefaultGuided,
	}
	rows := 0
	result, err := compare.Strategies(ctx, compare.Comparison{Plan: plan(300), Strategies: strategies, Repeat: 8,
		Clock: func() time.Duration { now += time.Second; return now }, Progress: func(compare.Row) { rows++ }})
	if err != nil {
		t.Fatal(err)
	}
	if rows != 8*len(strategies) || len(result.Rows) != len(strategies) {
		t.Errorf("%d calls of Progress, %d rows", rows, len(result.Rows))
	}
	for i, row := range result.Rows {
		if row.Found+row.Nothing != 8 || row.Campaigns != 8 || len(row.First) != 8 || len(row.Seconds) != 8 ||
			row.Seconds[0] != 1 {
			t.Errorf("%+v", row)
		}
		if learns := i >= 3; (row.Hits == nil) != learns { // systematic and guided: runs depend on earlier ones
			t.Errorf("%s: interval %v", row.Strategy, row.Hits)
		}
		for k, first := range row.First {
			p := plan(300)
			p.Strategy, p.Seed = strategies[i], lockstep.RunSeed(1, k)
			again, err := lockstep.Explore(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			if f := again.First(); (f == nil) != (first == 0) || f != nil && f.Run+1 != first {
				t.Errorf("%s: campaign %d found something first in run %d, made alone %v", row.Strategy, k, first, f)
			}
		}
	}
	if row := result.Rows[2]; row.Found != 0 || row.Median != 0 || row.Hits.Low != 0 {
		t.Errorf("without isolations: %+v", row)
	}
	text, err := json.Marshal(result)
	if err != nil || !strings.Contains(string(text), `"runs_to_first":[`) {
		t.Errorf("%s %v", text, err)
	}
}

func TestStrategiesRefuses(t *testing.T) {
	ok := []lockstep.Strategy{strategy.DefaultUniform}
	for _, c := range []struct {
		comparison compare.Comparison
		want       string
	}{
		{compare.Comparison{Strategies: ok}, "no System"},
		{compare.Comparison{Plan: plan(1)}, "no strategy"},
		{compare.Comparison{Plan: plan(1), Strategies: ok, Repeat: 51}, "1..50"},
		{compare.Comparison{Plan: plan(1), Strategies: ok, Repeat: -1}, "repeat is -1"},
		{compare.Comparison{Plan: plan(1), Strategies: ok, Confidence: 1}, "confidence is 1"},
		{compare.Comparison{Plan: plan(-1), Strategies: ok}, "runs is -1"},
		{compare.Comparison{Plan: plan(1), Strategies: []lockstep.Strategy{strategy.PCTCP{}}}, "depth is 0"},
	} {
		if _, err := compare.Strategies(ctx, c.comparison); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	result, err := compare.Strategies(stopped, compare.Comparison{Plan: plan(1000), Strategies: ok})
	if err != nil || !result.Interrupted || result.Rows[0].Campaigns != 0 {
		t.Errorf("interrupted: %+v, %v", result, err)
	}
	if err := result.WriteText(new(strings.Builder)); err != nil {
		t.Error(err)
	}
}

// TestProfile checks known counts of runs: without isolations all rounds and phases have a quorum, and with all nodes
// isolated from the start none.
func TestProfile(t *testing.T) {
	for _, c := range []struct {
		s    strategy.Uniform
		want string
	}{
		// A phase is 3 Prepares, 3 Acks, 3 Proposes and 9 Promises.
		{strategy.Uniform{Period: 4, Rounds: 16}, "16.0 16.0 4.0 4.0 72.0"},
		// No node receives a message: there is no step at all, but there are rounds.
		{strategy.Uniform{Period: 1, Isolations: 24, Rounds: 8, Sampler: strategy.Paper}, "8.0 0.0 2.0 0.0 0.0"},
	} {
		p := plan(50)
		p.Strategy = c.s
		got, err := compare.ProfileOf(ctx, p, smr.Output)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%.1f %.1f %.1f %.1f %.1f", got.Rounds, got.QuorumRounds, got.Phases, got.QuorumPhases,
			got.Messages)
		if text != c.want {
			t.Errorf("%s: %s, want %s", c.s, text, c.want)
		}
		if got.Runs != 50 {
			t.Errorf("%s: %+v", c.s, got)
		}
	}
}

func ExampleStrategies() {
	result, err := compare.Strategies(context.Background(), compare.Comparison{
		Plan: lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix, Runs: 500, Seed: 1},
		Strategies: []lockstep.Strategy{
			strategy.DefaultUniform,
			strategy.POS{Steps: 100},
			strategy.Baseline{Drop: 0.5, Steps: 100},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := result.WriteText(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// smr-bug: 10 campaigns of at most 500 runs with each strategy, seed 1; intervals have confidence 0.95
	//
	// strategy                        with finding  without  runs to first finding (median)  failures per run           steps per run
	// uniform:isolations=4,rounds=16  10            0        52 [11, 235]                    0.0083 [0.0039, 0.014]     50
	// pos:steps=100                   10            0        13 [4, 34]                      0.059 [0.029, 0.099]       118
	// baseline:drop=0.5,steps=100     1             9        >500 [>500, >500]               0.00021 [1.2e-05, 0.0012]  28
	// warning: baseline:drop=0.5,steps=100: in 9 of 10 campaigns: most runs are idle: try longer runs, or delay, which follows the system's own time; if they are idle, too, look at the system's adapter
}

func ExampleProfileOf() {
	p, err := compare.ProfileOf(
		context.Background(),
		lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix,
			Runs: 1000, Strategy: strategy.DefaultUniform},
		smr.Output,
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := compare.WriteProfiles(os.Stdout, "strategy", []compare.Profile{p}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// | strategy | runs | rounds | with quorum | phases | with quorum | messages | steps | buggy | share of buggy runs (95%) |
	// |---|--:|--:|--:|--:|--:|--:|--:|--:|---|
	// | `uniform:isolations=4,rounds=16` | 1000 | 16.00 | 14.25 | 4.00 | 2.27 | 37.56 | 50.4 | 5 | 0.0016 to 0.0116 |
}

func ExampleShare() {
	i := compare.Share(2, 1000, 0.95)
	fmt.Printf("%.5f to %.5f\n", i.Low, i.High)
	// Output: 0.00024 to 0.00721
}

func ExampleHitRate() {
	// Four campaigns of at most 1000 runs: three had a finding, one did not.
	i := compare.HitRate([]int{120, 0, 40, 310}, 1000, 0.95)
	fmt.Printf("%.5f to %.5f\n", i.Low, i.High)
	// Output: 0.00066 to 0.00586
}

func ExampleMedian() {
	median, low, high := compare.Median([]int{6, 5, 4, 3, 2, 1}, 0.95)
	fmt.Println(median, low, high)
	// Output: 3 1 6
}
