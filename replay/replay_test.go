package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// buggy is the plan whose findings these tests replay and shrink.
var buggy = lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix}

// reread writes a trace and reads it back.
func reread(t testing.TB, tr *trace.Trace) *trace.Trace {
	t.Helper()
	var file bytes.Buffer
	if err := trace.Write(&file, tr); err != nil {
		t.Fatal(err)
	}
	again, err := trace.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// Every kept trace, and every shrunk one, replays to the same finding after a write and a read.
func TestReplayEndsInTheSameFinding(t *testing.T) {
	tier.NotShort(t)
	faults := strategy.Walk{
		Deliver:   20,
		Drop:      1,
		Duplicate: 1,
		Timer:     2,
		Request:   1,
		Crash:     1,
		Restart:   2,
		Cut:       1,
		Heal:      3,
		Steps:     300,
	}
	for _, s := range []lockstep.Strategy{
		strategy.DefaultUniform,
		strategy.DefaultLossy,
		strategy.DefaultWalk,
		strategy.DefaultBaseline,
		faults,
	} {
		plan := buggy
		plan.Strategy, plan.Runs, plan.KeepGoing, plan.Keep = s, 6000, true, 30
		for _, f := range toy.Find(t, plan) {
			stored := reread(t, f.Trace)
			again, err := replay.Run(t.Context(), buggy, stored)
			if err != nil || again.Trace.Outcome.Finding == nil || again.Trace.Outcome.Finding.Text != f.Finding.Text ||
				again.Difference != "" {
				t.Fatalf("%s run %d: %v, %v", s, f.Run, again.Trace.Outcome, err)
			}
			small, err := shrink.Run(t.Context(), buggy, stored, shrink.Options{Attempts: 500})
			if err != nil {
				t.Fatal(err)
			}
			if again, err = replay.Run(t.Context(), buggy, reread(t, small.Trace)); err != nil ||
				again.Trace.Outcome.Finding == nil {
				t.Fatalf("%s run %d shrunk: %v, %v", s, f.Run, again.Trace.Outcome, err)
			}
		}
	}
}

// A replay that violates the same property is a failure and reports the first difference, however small or large that
// is.
func TestTheSamePropertyFails(t *testing.T) {
	system := toy.Cluster(nil)
	tr := toy.One(t, lockstep.Plan{System: system, Strategy: toy.Steps{toy.Timer1, toy.Deliver(2), toy.Deliver(3)}})
	blank := *tr
	blank.Records = slices.Clone(tr.Records)
	blank.Records[0].States = slices.Clone(tr.Records[0].States)
	blank.Records[0].States[1].Text += " "
	for _, c := range []struct {
		name   string
		system lockstep.System
		trace  *trace.Trace
		want   string
	}{
		{"nothing is different", system, tr, ""},
		{"a blank in a state", system, &blank, `step 0 (start): state was "2 total=0 ", now "2 total=0"`},
		{"a new message", toy.Cluster(func(c *sim.Context[int], m int) { c.Send(3, 9) }), tr,
			`step 2 (deliver 1->2 message 1): message "2->3 message 9" is new`},
		{"a new event", toy.Cluster(func(c *sim.Context[int], m int) {
			if c.Self() == 3 {
				c.Emit("strange", m)
			}
		}), tr, `step 3 (deliver 1->3 message 1): event was "3 got 1", now "3 strange 1"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			again, err := replay.Run(t.Context(), lockstep.Plan{System: c.system, Spec: toy.AtEnd}, c.trace)
			if err != nil {
				t.Fatal(err)
			}
			if o := again.Trace.Outcome; o.Verdict != trace.Fail || o.Finding.Property != "checker" ||
				again.Difference != c.want ||
				o.Reason != c.want {
				t.Errorf("%+v with the difference %q, want %q", o, again.Difference, c.want)
			}
		})
	}
}

// A violation of another property is reported as another finding.
func TestAnotherFinding(t *testing.T) {
	tr := toy.One(t, lockstep.Plan{System: toy.Cluster(nil), Strategy: toy.Steps{toy.Timer1, toy.Deliver(2)}})
	again, err := replay.Run(t.Context(),
		lockstep.Plan{System: toy.Cluster(func(*sim.Context[int], int) { panic("no") }), Spec: toy.AtEnd}, tr)
	if err != nil || again.Trace.Outcome.Finding == nil || again.Trace.Outcome.Finding.Property != "panic" {
		t.Fatalf("%+v, %v", again, err)
	}
	if words := again.Words(tr); !strings.HasPrefix(words, "another finding: panic: no") {
		t.Error(words)
	}
}

// If a run no longer fails, its bug was fixed; the run is not flaky, because the system is deterministic. A step that
// has become impossible is skipped.
func TestFixed(t *testing.T) {
	plan := buggy
	plan.Strategy, plan.Runs = strategy.DefaultUniform, 5000
	tr := toy.Find(t, plan)[0].Trace
	fixed := toy.Wrapped{
		System: smr.Cluster{Nodes: 3},
		Info:   func(i *lockstep.Info) { i.Name, i.Options = "smr-bug", tr.Header.Options },
	}
	again, err := replay.Run(t.Context(), lockstep.Plan{System: fixed, Spec: smr.Prefix}, tr)
	if err != nil || again.Trace.Outcome.Verdict != trace.Pass {
		t.Fatalf("%+v, %v", again, err)
	}
	if !strings.HasPrefix(again.Difference, "step ") || !strings.Contains(again.Difference, "last=") {
		t.Errorf("difference: %s", again.Difference)
	}
	if words := again.Words(tr); !strings.HasPrefix(words, "fixed: the run now passes; the first difference: step ") {
		t.Error(words)
	}
	tr = toy.One(t, lockstep.Plan{System: toy.Cluster(nil), Strategy: toy.Steps{toy.Timer1}})
	tr.Records = append(tr.Records,
		trace.Record{Number: 2, Step: lockstep.Step{Kind: trace.Timer, Node: 3}, Text: "3 timer"})
	again, err = replay.Run(t.Context(), lockstep.Plan{System: toy.Cluster(nil), Spec: toy.AtEnd}, tr)
	if err != nil || !strings.Contains(again.Difference, "the trace has 1 steps") {
		t.Errorf("%+v, %v", again, err)
	}
}

// Only runs with different results are flaky.
func TestFlaky(t *testing.T) {
	tr := toy.One(t, lockstep.Plan{System: toy.Cluster(nil), Strategy: toy.Steps{toy.Timer1, toy.Deliver(1)}})
	calls := 0
	odd := toy.Cluster(func(c *sim.Context[int], m int) {
		calls++
		c.Emit("call", calls)
	})
	again, err := replay.Run(t.Context(), lockstep.Plan{System: odd}, tr)
	if err != nil || again.Trace.Outcome.Verdict != trace.Flaky ||
		!strings.Contains(again.Trace.Outcome.Reason, `event was "1 call 1", now "1 call 2"`) {
		t.Errorf("%+v, %v", again, err)
	}
}

// A broken environment is an error, neither flaky nor a pass.
func TestBrokenEnvironment(t *testing.T) {
	tr := toy.One(t, lockstep.Plan{System: toy.Cluster(nil), Strategy: toy.Steps{toy.Timer1}})
	inUse := errors.New("port in use")
	broken := toy.Wrapped{System: toy.Cluster(nil), Placed: func(*lockstep.Env) error { return inUse }}
	if _, err := replay.Run(t.Context(), lockstep.Plan{System: broken, Spec: toy.AtEnd}, tr); !errors.Is(err, inUse) {
		t.Error(err)
	}
}

// A run of a system with best-effort determinism is repeated several times.
func TestSeveralTimes(t *testing.T) {
	tr := toy.One(t, lockstep.Plan{System: toy.Cluster(nil), Strategy: toy.Steps{toy.Timer1, toy.Deliver(1)}})
	calls := 0
	spec := toy.Checker{AtEnd: func(*lockstep.Run) *lockstep.Finding {
		if calls++; calls%3 == 0 {
			return nil
		}
		return &toy.Anything
	}}
	rough := toy.Wrapped{System: toy.Cluster(nil), Info: func(i *lockstep.Info) { i.Determinism = lockstep.BestEffort }}
	again, err := replay.Run(t.Context(), lockstep.Plan{System: rough, Spec: spec, Repetitions: 9}, tr)
	if err != nil || again.Failed != 6 || again.Of != 9 || again.Trace.Outcome.Verdict != trace.Fail {
		t.Fatalf("%+v, %v", again, err)
	}
	if words := again.Words(tr); words != "failed in 6 of 9 repetitions" {
		t.Error(words)
	}
}

// Another system, another build or other options reject a trace.
func TestReplayOnTheWrongSystem(t *testing.T) {
	tr := toy.One(t, lockstep.Plan{System: toy.Cluster(nil), Strategy: toy.Steps{toy.Timer1}})
	built := new(trace.Trace)
	*built = *tr
	built.Header.Build = "v1"
	smrTrace := toy.Find(t,
		lockstep.Plan{System: buggy.System, Spec: buggy.Spec, Strategy: strategy.DefaultUniform})[0].Trace
	for _, c := range []struct {
		system lockstep.System
		trace  *trace.Trace
		want   string
	}{
		{buggy.System, tr, "the trace is of toy with 3 nodes, the plan's system is smr-bug with 3 nodes"},
		{
			toy.Wrapped{System: toy.Cluster(nil), Info: func(i *lockstep.Info) { i.Build = "v2" }},
			built,
			`the trace is of the build "v1" of toy, this is "v2"`,
		},
		{smr.Cluster{Nodes: 3, Bug: true, Requests: 2}, smrTrace, "requests="},
		{
			toy.Wrapped{
				System: toy.Cluster(nil),
				Info:   func(i *lockstep.Info) { i.Options = map[string]string{"speed": "9"} },
			},
			tr,
			"the plan's toy has speed=9, which the trace does not have",
		},
	} {
		if _, err := replay.Run(t.Context(), lockstep.Plan{System: c.system, Spec: toy.AtEnd}, c.trace); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// A liveness finding at the end of the settling stage can be replayed and shrunk, too.
func TestReplayAfterSettling(t *testing.T) {
	spec := toy.Checker{AtEnd: func(r *lockstep.Run) *lockstep.Finding {
		if r.Settled() && r.EverCrashed().Has(2) {
			return &toy.Anything
		}
		return nil
	}}
	plan := lockstep.Plan{System: toy.Cluster(nil), Spec: spec, Settle: 30, Runs: 200,
		Strategy: strategy.Walk{Deliver: 5, Timer: 1, Crash: 1, Restart: 1, Steps: 60}}
	tr := reread(t, toy.Find(t, plan)[0].Trace)
	again, err := replay.Run(t.Context(), plan, tr)
	if err != nil || again.Trace.Outcome.Finding == nil {
		t.Fatalf("%+v, %v", again.Trace.Outcome, err)
	}
	small, err := shrink.Run(t.Context(), plan, tr, shrink.Options{})
	if err != nil || small.Is != "1 step, 0 messages lost" {
		t.Errorf("%+v, %v: one crash is enough", small, err)
	}
	if again, err = replay.Run(t.Context(), plan, reread(t, small.Trace)); err != nil ||
		again.Trace.Outcome.Finding == nil {
		t.Errorf("%+v, %v", again.Trace.Outcome, err)
	}
}

func ExampleRun() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: strategy.DefaultUniform, Spec: smr.Prefix}
	result, _ := lockstep.Explore(context.Background(), plan)
	run := result.First().Trace
	again, err := replay.Run(context.Background(), plan, run)
	fmt.Println(again.Words(run), err)
	// Output: the same finding <nil>
}

func ExampleReplayed_Words() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: strategy.DefaultUniform, Spec: smr.Prefix}
	result, _ := lockstep.Explore(context.Background(), plan)
	run := result.First().Trace
	run.Header.Target = "smr" // as if the bug had been fixed
	again, err := replay.Run(context.Background(), lockstep.Plan{System: smr.Cluster{Nodes: 3}, Spec: smr.Prefix}, run)
	fmt.Println(again.Words(run), err)
	// Output:
	// fixed: the run now passes; the first difference: step 9 (deliver 2->1 Prepare phase=2): message was "1->2 Ack phase=2 last=1 log=-", now "1->2 Ack phase=2 last=0 log=-" <nil>
}
