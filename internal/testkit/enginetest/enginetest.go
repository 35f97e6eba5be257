// Package enginetest has helpers for tests of plans: explore a plan, return its first finding, replay a run that must
// fail.
package enginetest

import (
	"os"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/trace"
)

// Explore makes the runs of a valid plan.
func Explore(t testing.TB, plan lockstep.Plan) *lockstep.Result {
	t.Helper()
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// First returns the first finding of a campaign with a deterministic system.
func First(t testing.TB, plan lockstep.Plan) *lockstep.Failure {
	t.Helper()
	result := Explore(t, plan)
	f := result.First()
	if f == nil || f.Flaky != "" {
		t.Fatalf("%v %v, found %+v", result.Verdicts, result.Reasons, f)
	}
	return f
}

// FailsAgain replays a run, which must fail.
func FailsAgain(t testing.TB, plan lockstep.Plan, run *trace.Trace) {
	t.Helper()
	again, err := replay.Run(t.Context(), plan, run)
	if err != nil || again.Trace.Outcome.Verdict != trace.Fail {
		t.Errorf("%+v, %v", again, err)
	}
}

// Explored returns the number of steps of a run's exploring stage.
func Explored(run *trace.Trace) int {
	steps := 0
	for _, r := range run.Records {
		if r.Step.Kind != trace.Start && !r.Settle {
			steps++
		}
	}
	return steps
}

// Passes makes runs of servers. All runs must pass and leave no files in the plan's directory.
func Passes(t testing.TB, what string, plan lockstep.Plan) {
	t.Helper()
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil || result.Verdict() != trace.Pass || result.Inconclusive > 0 {
		t.Errorf("%s: %+v, %v", what, result, err)
		return
	}
	t.Logf("%s: %d runs, %d steps, checked %v", what, result.Runs, result.Steps, result.Checked)
	if left, err := os.ReadDir(plan.Scratch); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
