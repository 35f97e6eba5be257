package scenario_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// found is the recording of a run that violates agreement.
func found() *trace.Trace {
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true},
		Strategy: strategy.Lossy{Rounds: 24, Loss: 0.1}, Spec: smr.Prefix, Seed: 1, Runs: 10_000})
	if err != nil || result.First() == nil {
		panic(fmt.Sprint("nothing found: ", err))
	}
	return result.First().Trace
}

// A finding becomes a regression test: it fails as long as the bug is there.
func ExampleFromTrace() {
	t := found()
	for _, bug := range []bool{true, false} {
		plan := FromTrace{Trace: t}.Plan(lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: bug}, Spec: smr.Prefix})
		result, err := lockstep.Explore(context.Background(), plan)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("bug %t: %s\n", bug, result.Verdict())
	}
	// Output:
	// bug true: fail
	// bug false: pass
}

// TestFromTraceRepeats: all runs of the scenario are the same as the run of the trace, for any strategy (Theorem 1 of
// the paper).
func TestFromTraceRepeats(t *testing.T) {
	want := found()
	for _, s := range []lockstep.Strategy{nil, strategy.DefaultWalk, strategy.DefaultPCTCP} {
		plan := FromTrace{
			Trace: want,
		}.Plan(lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix, Strategy: s})
		got, err := lockstep.Record(context.Background(), plan, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(want.Records, got.Records,
			func(a, b trace.Record) bool { return a.Text == b.Text && a.Step.Kind == b.Step.Kind }) {
			t.Errorf("%v: %d steps replayed, the trace has %d, or they differ", s, len(got.Records), len(want.Records))
		}
		if got.Outcome.Finding == nil || got.Outcome.Finding.Property != want.Outcome.Finding.Property {
			t.Errorf("%v: found %v, want %v", s, got.Outcome.Finding, want.Outcome.Finding)
		}
	}
}

// TestFromTraceContinues: after a prefix without a finding the strategy continues, and runs differ; every run contains
// the whole prefix.
func TestFromTraceContinues(t *testing.T) {
	prefix := *found()
	prefix.Records = prefix.Records[:len(prefix.Records)/2]
	plan := FromTrace{
		Trace:    &prefix,
		Continue: true,
	}.Plan(
		lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix,
			Strategy: strategy.DefaultWalk, Runs: 50, KeepGoing: true, Distinct: true},
	)
	result := enginetest.Explore(t, plan)
	if result.Runs != 50 || result.Schedules < 2 {
		t.Errorf("%d runs with %d schedules", result.Runs, result.Schedules)
	}
	if e := result.Effects[0]; e.Name != StepsReplayed || e.N < 50*(len(prefix.Records)-2) {
		t.Errorf("%+v, the prefix has %d steps", e, len(prefix.Records)-1)
	}
}

// TestFromTraceRefuses: a trace that cannot be repeated is refused.
func TestFromTraceRefuses(t *testing.T) {
	for want, r := range map[string]FromTrace{
		"it has no trace":                  {},
		"the trace has 3 nodes, smr has 5": {Trace: found()},
	} {
		_, err := lockstep.Explore(context.Background(),
			r.Plan(lockstep.Plan{System: smr.Cluster{Nodes: 5}, Strategy: Synchronous{}}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
