package lockstep_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// found is a failing run.
func found(run int, property, flaky string) lockstep.Failure {
	return lockstep.Failure{Run: run, Finding: lockstep.Finding{Property: property, Text: "two leaders"}, Flaky: flaky,
		Failed: 1, Repeated: 1}
}

// Every problem of a result is listed with its severity, and the worst is the verdict.
func TestProblems(t *testing.T) {
	passes := func(n int) map[trace.Verdict]int { return map[trace.Verdict]int{trace.Pass: n} }
	for _, c := range []struct {
		what    string
		result  lockstep.Result
		verdict trace.Verdict
		want    []string
	}{
		{"clean", lockstep.Result{Runs: 9, Verdicts: passes(9)}, trace.Pass, nil},
		{"nothing done", lockstep.Result{}, trace.Unknown, []string{"error no-runs: no run was made"}},
		{"interrupted at once", lockstep.Result{Interrupted: true}, trace.Unknown,
			[]string{"error no-runs: interrupted before the first run ended"}},
		{"time up", lockstep.Result{Runs: 9, Interrupted: true, Verdicts: passes(9)}, trace.Pass, nil},
		{"stopped", lockstep.Result{Runs: 9, Interrupted: true, Stopped: true, Verdicts: passes(9)}, trace.Unknown,
			[]string{"warning stopped: interrupted after 9 runs"}},
		{"one failure", lockstep.Result{Runs: 9, Failures: []lockstep.Failure{found(8, "one", "")},
			Verdicts: map[trace.Verdict]int{trace.Fail: 1, trace.Pass: 8},
			Checked:  []lockstep.Count{{Name: "other"}}}, trace.Fail,
			[]string{"error failure: one in 1 of 9 runs, first in run 8: two leaders [8]"}},
		{"two properties, more than are kept", lockstep.Result{Runs: 90, Failures: []lockstep.Failure{found(3, "one", ""),
			found(5, "two", ""), found(6, "one", "")},
			ByProperty: []lockstep.Count{{Name: "one", N: 20}, {Name: "three", N: 2}, {Name: "two", N: 1}},
			Verdicts:   map[trace.Verdict]int{trace.Fail: 24, trace.Pass: 66},
			Checked:    []lockstep.Count{{Name: "other"}}, Events: []lockstep.Count{{Name: "e", N: 90}}},
			trace.Fail, []string{"error failure: one in 20 of 90 runs, first in run 3: two leaders [3 6]",
				"error failure: two in 1 of 90 runs, first in run 5: two leaders [5]",
				"error failure: three in 2 of 90 runs (traces not kept) []",
				"error failure: 1 failing run (traces not kept) []",
				"warning vacuous-property: property other was never checked"}},
		{"flaky", lockstep.Result{Runs: 9, Failures: []lockstep.Failure{found(3, "one",
			"the second time nothing was found")}, Verdicts: map[trace.Verdict]int{trace.Flaky: 1, trace.Pass: 8}},
			trace.Flaky,
			[]string{
				"error flaky: one in 1 of 9 runs, first in run 3, but the second time nothing was found: two leaders [3]",
			}},
		{"best effort", lockstep.Result{Runs: 9, Failures: []lockstep.Failure{{Run: 3,
			Finding: lockstep.Finding{Property: "one", Text: "two leaders"}, Failed: 7, Repeated: 10}},
			Verdicts: map[trace.Verdict]int{trace.Fail: 1, trace.Pass: 8}},
			trace.Fail,
			[]string{
				"error failure: one in 1 of 9 runs, first in run 3, which failed in 7 of 10 repetitions: two leaders [3]",
			}},
		{"divergence", lockstep.Result{Runs: 9, Verdicts: passes(9), Rechecked: 5, Diverged: 3,
			Nondeterminism: []string{"a.go:1"},
			Divergences:    []lockstep.Divergence{{Run: 4, Difference: "step 3", Nondeterminism: []string{"a.go:1"}}}},
			trace.Flaky,
			[]string{"error divergence: run 4 passed and differed when it was repeated: step 3 [4] at a.go:1",
				"error divergence: 2 more of 5 runs differed when they were repeated []",
				"warning nondeterminism: 1 source of nondeterminism, or of state that nodes share at a.go:1"}},
		{"divergence without a cause", lockstep.Result{Runs: 9, Verdicts: passes(9), Rechecked: 5, Diverged: 1,
			Divergences: []lockstep.Divergence{{Run: 4, Difference: "step 3"}}},
			trace.Flaky,
			[]string{"error divergence: run 4 passed and differed when it was repeated: step 3; no source of " +
				"nondeterminism was seen: look for state that outlives a run, e.g. in package variables [4]"}},
		{"some unknown", lockstep.Result{Runs: 9, Verdicts: map[trace.Verdict]int{trace.Unknown: 3, trace.Pass: 6},
			Inconclusive: 1,
			Reasons: map[string]int{
				"more than 5 steps": 2,
				"killed\nstack":     1,
			}, Unknown: []lockstep.Unknown{{Run: 2,
				Reason: "more than 5 steps"}, {Run: 4, Reason: "killed\nstack", Inconclusive: true}}},
			trace.Unknown,
			[]string{"warning inconclusive: 1 of 9 runs were inconclusive and discarded: killed (1, first run 4) [4]",
				"warning unknown: 2 of 9 runs were not checked: more than 5 steps (2, first run 2) [2]"}},
		{"all unknown", lockstep.Result{Runs: 9, Verdicts: map[trace.Verdict]int{trace.Unknown: 8,
			trace.Vacuous: 1}},
			trace.Unknown, []string{"error unknown: 8 of 9 runs were not checked []"}},
		{"broken environment", lockstep.Result{Target: "toy", Runs: 9,
			Verdicts: map[trace.Verdict]int{trace.Unknown: 3, trace.Pass: 6}, Inconclusive: 3, InconclusiveTail: 3,
			InconclusiveLimit: 2, Reasons: map[string]int{"killed": 3}, Unknown: []lockstep.Unknown{{Run: 6,
				Reason: "killed", Inconclusive: true}}}, trace.Unknown,
			[]string{
				"error inconclusive: the last 3 of 9 runs of toy are inconclusive, where at most 2 are tolerated; " +
					"e.g. run 6: killed [6]",
			}},
		{"vacuous scenario", lockstep.Result{Runs: 9, Verdicts: map[trace.Verdict]int{trace.Vacuous: 9}},
			trace.Vacuous,
			[]string{"error vacuous-runs: the scenario took effect in none of 9 runs []"}},
		{"vacuous part", lockstep.Result{Runs: 9, Verdicts: passes(9), Effects: []lockstep.Count{{Name: "hold"},
			{Name: "guard", Optional: true}}}, trace.Pass,
			[]string{`warning vacuous-part: the part of the scenario "hold" never took effect []`}},
		{"hanging", lockstep.Result{Runs: 9, Verdicts: passes(9), Stalls: 2, Left: 1}, trace.Pass,
			[]string{
				"warning stall: no step ended in the time of the watchdog, 2 times, but the runs ended when repeated []",
				"warning stall: goroutines that hang and cannot be stopped before the program ends: 1 []",
			}},
	} {
		var got []string
		for _, p := range c.result.Problems() {
			line := fmt.Sprintf("%s %s: %s %v", p.Severity, p.Kind, p.Text, p.Runs)
			if len(p.Places) > 0 {
				line += " at " + strings.Join(p.Places, ", ")
			}
			got = append(got, line)
		}
		same := slices.EqualFunc(got, c.want, func(got, want string) bool {
			return strings.HasPrefix(strings.ReplaceAll(got, " [] at", " at"), want)
		})
		if v := c.result.Verdict(); v != c.verdict || !same {
			t.Errorf("%s: %s\n%s\nwant %s\n%s", c.what, v, strings.Join(got, "\n"), c.verdict, strings.Join(c.want,
				"\n"))
		}
	}
}

func ExampleResult_Problems() {
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: toy.Troubled{Recheck: 20,
		Diverges: true, Nondeterminism: []string{"node.go:7 reads the clock"}},
		Strategy: strategy.Walk{Deliver: 2, Timer: 1, Steps: 30}, Runs: 20})
	for _, p := range result.Problems() {
		fmt.Println(p.Severity, p.Kind, p.Text, p.Runs, p.Places)
	}
	fmt.Println(result.Verdict(), err)
	// Output:
	// error divergence run 19 passed and differed when it was repeated: the steps differed; when it was recorded twice, they did not [19] [node.go:7 reads the clock]
	// warning nondeterminism 1 source of nondeterminism, or of state that nodes share [] [node.go:7 reads the clock]
	// flaky <nil>
}
