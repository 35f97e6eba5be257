package strategy_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/odds"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/pbft"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// kernelsOf returns the schedule of a run, and its probability as reported by the strategy.
func kernelsOf(t *testing.T, tr *trace.Trace) (string, float64) {
	t.Helper()
	var text strings.Builder
	for _, r := range tr.Rounds {
		fmt.Fprint(&text, r.Kernel, " ")
	}
	p, err := strconv.ParseFloat(tr.Header.Drawn["probability"], 64)
	if err != nil {
		t.Fatal(err)
	}
	return text.String(), p
}

// The executions drawn without ineffective isolations have the reported probabilities. None of these is below that of
// one among all executions. They sum to one, so no other execution can be drawn. The number of executions matches the
// estimate, and is smaller than that of all executions.
func TestDistinctProbabilities(t *testing.T) {
	tier.NotShort(t)
	const runs = 12_000
	for _, u := range []strategy.Uniform{
		{Period: 4, Isolations: 2, Rounds: 8},
		{Period: 2, Isolations: 2, Rounds: 6, Isolated: strategy.CutOff},
	} {
		u.Sampler = strategy.ExactEffective
		bench, err := lockstep.NewRunner(lockstep.Plan{System: smr.Cluster{Nodes: 3, Requests: 0}, Strategy: u, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		size := float64(u.Executions(3).Uint64())
		reported, met := map[string]float64{}, map[string]int{}
		inverse, squares := 0.0, 0.0
		for run := range runs {
			tr, err := bench.Record(t.Context(), run, nil)
			if err != nil {
				t.Fatal(err)
			}
			schedule, p := kernelsOf(t, tr)
			if before, ok := reported[schedule]; ok && before != p || p < 0.999/size {
				t.Fatalf("%s: %s has the probabilities %g and %g; all executions are %g", u, schedule, before, p, size)
			}
			reported[schedule] = p
			met[schedule]++
			inverse += 1 / p
			squares += 1 / p / p
		}
		if err := bench.Close(); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for schedule, p := range reported {
			sum += p
			if sigma := math.Sqrt(runs * p * (1 - p)); math.Abs(float64(met[schedule])-runs*p) > odds.Sigmas*sigma {
				t.Errorf("%s: %s came %d times, expected %.1f, standard deviation %.1f", u, schedule, met[schedule],
					runs*p, sigma)
			}
		}
		mean := inverse / runs
		sigma := math.Sqrt((squares/runs - mean*mean) / runs)
		if math.Abs(sum-1) > 1e-9 || math.Abs(mean-float64(len(reported))) > odds.Sigmas*sigma ||
			float64(len(reported)) > 0.9*size {
			t.Errorf(
				"%s: %d executions of %.0f with probabilities that make %g; the estimate is %.1f, standard deviation %.1f",
				u,
				len(reported),
				size,
				sum,
				mean,
				sigma,
			)
		}
	}
}

// Drawing without ineffective isolations misses no effect.
func TestDistinctAgainstBruteForce(t *testing.T) {
	tier.NotShort(t)
	systems := []lockstep.System{smr.Cluster{Nodes: 3, Bug: true}, pbft.Cluster{}}
	for _, system := range systems {
		for _, u := range []strategy.Uniform{
			{Period: 4, Isolations: 2, Rounds: 8},
			{Period: 3, Isolations: 2, Rounds: 6, Isolated: strategy.CutOff},
			{Period: 4, Isolations: 1, Rounds: 8, Isolated: strategy.Held},
			{Period: 2, Isolations: 2, Rounds: 7, Phases: 2},
		} {
			all, some := deeds{}, deeds{}
			u.Sampler = strategy.Every
			enginetest.Explore(t,
				lockstep.Plan{System: system, Strategy: lined{u}, Runs: 1 << 20, Observers: []lockstep.Observer{all}})
			u.Sampler = strategy.ExactEffective
			g := enginetest.Explore(
				t,
				lockstep.Plan{System: system, Strategy: lined{u}, Runs: 6_000, Observers: []lockstep.Observer{some}},
			).Guarantee
			for what := range all {
				if some[what] == 0 {
					t.Fatalf("%T, %s: one effect of %d is missing", system, u, len(all))
				}
			}
			if len(some) != len(all) ||
				!strings.Contains(strings.Join(g.Assumes, "; "),
					"are left without isolations that make no difference") {
				t.Errorf("%T, %s: %d of %d effects; %s", system, u, len(some), len(all), g.Assumes)
			}
		}
	}
}

// lined is a strategy without the randomness of the system and of requests, which are given in order to the first node.
type lined struct{ strategy.Uniform }

func (l lined) New(info lockstep.Info) lockstep.Scheduler {
	return &lining{l.Uniform.New(info)}
}

type lining struct{ lockstep.Scheduler }

func (l *lining) Reset(start *lockstep.Start) {
	l.Scheduler.Reset(start)
	start.SeedOf = 0
}

func (l *lining) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	ok := l.Scheduler.Next(turn, next)
	if ok && next.Kind == trace.Request {
		next.Request, next.Node = turn.Pending()[0].ID, turn.Pending()[0].To.First()
	}
	return ok
}

// With Phases, isolations fall into the first phases only: the executions are those of a run that ends there, each
// continued by rounds without isolations.
func TestFirstPhases(t *testing.T) {
	for _, u := range []strategy.Uniform{
		{Period: 2, Isolations: 2, Rounds: 9, Phases: 2},
		{Period: 4, Isolations: 2, Rounds: 6, Phases: 1},
		{Period: 4, Isolations: 2, Rounds: 6, Phases: 2},
	} {
		u.Sampler = strategy.Every
		runner, err := lockstep.NewRunner(lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: u})
		if err != nil {
			t.Fatal(err)
		}
		first := u
		first.Rounds, first.Phases = min(u.Rounds, u.Phases*u.Period), 0
		size := first.Executions(3).Uint64()
		if u.Executions(3).Uint64() != size {
			t.Errorf("%s: %s executions, want %d", u, u.Executions(3), size)
		}
		met := map[string]bool{}
		for run := range size {
			tr, err := runner.Record(t.Context(), int(run), nil)
			if err != nil {
				t.Fatal(err)
			}
			var kernels strings.Builder
			for i, r := range tr.Rounds[:u.Rounds] {
				fmt.Fprint(&kernels, r.Kernel, " ")
				if i >= first.Rounds && r.Kernel.Len() != 3 {
					t.Fatalf("%s: round %d of run %d isolates nodes: kernel %s", u, i, run, r.Kernel)
				}
			}
			met[kernels.String()] = true
		}
		if uint64(len(met)) != size {
			t.Errorf("%s: %d schedules, want %d", u, len(met), size)
		}
		if err := runner.Close(); err != nil {
			t.Fatal(err)
		}
	}
	u := strategy.Uniform{Period: 4, Isolations: 7, Rounds: 16, Phases: 2}
	_, err := u.Fit(lockstep.Info{Name: "x", Nodes: 3})
	if want := "uniform: isolations is 7, but 3 nodes in the first 2 phases allow 0..6, or -1 for no bound"; err == nil ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
