package lockstep_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// troubledPlan is a plan with every kind of run that is counted separately.
var troubledPlan = lockstep.Plan{System: toy.Troubled{Recheck: 3, Diverges: true, Inconclusive: 8,
	Nondeterminism: []string{"a.go:1"}},
	Strategy: strategy.Walk{Deliver: 2, Timer: 1, Steps: 30}, MaxInFlight: 12, MaxInconclusive: 1000,
	Runs: 200}

// The result of a campaign with divergences, inconclusive runs and runs that reach a limit does not depend on
// the number of workers.
func TestWorkersMergeAlike(t *testing.T) {
	var want *lockstep.Result
	for _, workers := range []int{1, 2, 3} {
		plan := troubledPlan
		plan.Workers = workers
		got, err := lockstep.Explore(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
			if got.Inconclusive == 0 || got.Verdicts[trace.Unknown] <= got.Inconclusive || got.Diverged == 0 ||
				got.Rechecked <= 10 || len(got.Nondeterminism) != 1 {
				t.Fatalf("the plan has too little trouble: %+v", got)
			}
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("1 worker (-), %d workers (+):\n%s", workers, d)
		}
	}
}

// A campaign with a broken environment ends at the same run for any number of workers.
func TestBrokenEnvironmentEndsAtTheSameRun(t *testing.T) {
	for _, c := range []struct {
		share uint64
		limit int
		want  string
	}{{1, 5, "6 of 6 runs of toy are inconclusive, where at most 5 are tolerated; e.g. run "}, {3, 2,
		"the last 3 of "}} {
		runs := -1
		for _, workers := range []int{1, 3} {
			plan := troubledPlan
			plan.System, plan.MaxInconclusive, plan.Workers, plan.Runs = toy.Troubled{Inconclusive: c.share},
				c.limit, workers, 2000
			result, err := lockstep.Explore(t.Context(), plan)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("one of %d: %v", c.share, err)
			}
			if runs >= 0 && result.Runs != runs {
				t.Errorf("one of %d: ended after %d runs, with one worker after %d", c.share, result.Runs, runs)
			}
			runs = result.Runs
		}
	}
}

// The rule for inconclusive runs is the same for a result merged from batches: the last runs are counted across batch
// boundaries.
func TestInconclusiveRunsAcrossBatches(t *testing.T) {
	batch := func(from int, verdicts string) *lockstep.Result {
		r := &lockstep.Result{From: from, Verdicts: map[trace.Verdict]int{}}
		for i, v := range verdicts {
			one := &lockstep.Result{From: from + i, Runs: 1, Verdicts: map[trace.Verdict]int{trace.Pass: 1}}
			if v == 'i' {
				one.Verdicts, one.Inconclusive, one.InconclusiveTail = map[trace.Verdict]int{trace.Unknown: 1}, 1, 1
				one.Reasons, one.Unknown = map[string]int{"no answer": 1}, []lockstep.Unknown{{Run: from + i,
					Reason: "no answer", Inconclusive: true}}
			}
			r.Add(one, 1)
		}
		return r
	}
	sum := &lockstep.Result{Target: "toy", InconclusiveLimit: 4}
	for from, verdicts := 0, []string{"pppppppp", "pipp", "ppii", "", "ii",
		"i"}; len(verdicts) > 0; verdicts = verdicts[1:] {
		if err := sum.EnvironmentError(); err != nil {
			t.Errorf("after %d runs: %v", sum.Runs, err)
		}
		sum.Add(batch(from, verdicts[0]), 1)
		from += len(verdicts[0])
	}
	if err := sum.EnvironmentError(); err == nil ||
		err.Error() != "lockstep: the last 5 of 19 runs of toy are inconclusive, where at most 4 are tolerated; "+
			"e.g. run 9: no answer" {
		t.Error(err)
	}
	sum.Add(batch(19, "p"), 1)
	if err := sum.EnvironmentError(); err != nil || sum.Inconclusive != 6 {
		t.Errorf("after a good run: %v, %d inconclusive", err, sum.Inconclusive)
	}
}

// The lists of a result are bounded for any number of runs: later entries are only counted.
func TestResultIsBounded(t *testing.T) {
	sum := &lockstep.Result{}
	for run := range 1000 {
		text := fmt.Sprint("text ", run)
		sum.Add(&lockstep.Result{Runs: 1, Verdicts: map[trace.Verdict]int{trace.Unknown: 1},
			Reasons: map[string]int{text: 1},
			Unknown: []lockstep.Unknown{{Run: run, Reason: text}}, Failures: []lockstep.Failure{{Run: run}}, Diverged: 1,
			Divergences: []lockstep.Divergence{{Run: run}}, Nondeterminism: []string{text}}, 7)
	}
	if sum.Runs != 1000 || sum.Diverged != 1000 || len(sum.Divergences) != 100 || len(sum.Reasons) != 101 ||
		sum.Reasons["(other)"] != 900 ||
		len(sum.Unknown) != 10 || len(sum.Nondeterminism) != 10 || len(sum.Failures) != 7 {
		t.Errorf("%d divergences, %d reasons, %d unknown, %d sources, %d found", len(sum.Divergences), len(sum.Reasons),
			len(sum.Unknown), len(sum.Nondeterminism), len(sum.Failures))
	}
}

// Findings are passed on as the campaign finds them, and no more of them than it keeps.
func TestFoundIsBounded(t *testing.T) {
	var runs []int
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: strategy.DefaultWalk, Spec: smr.Prefix,
		Runs: 500, KeepGoing: true, Keep: 3, Workers: 2,
		OnFailure: func(f *lockstep.Failure) {
			if f.Trace == nil || f.Trace.Outcome.Finding == nil {
				t.Errorf("run %d has no trace", f.Run)
			}
			runs = append(runs, f.Run)
		}}
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if result.Findings() <= 3 || len(result.Failures) != 3 || len(runs) != 3 {
		t.Errorf("%d findings, %d kept, passed on: %v", result.Findings(), len(result.Failures), runs)
	}
}
