package lockstep_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
	"pgregory.net/rapid"
)

// buggy is the plan whose findings these tests replay and shrink.
var buggy = lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix}

// find explores a plan and returns its findings.
func find(t testing.TB, plan lockstep.Plan) []lockstep.Found {
	t.Helper()
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Found) == 0 {
		t.Fatalf("%s found nothing", plan.Strategy)
	}
	return result.Found
}

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

// Every kept trace, written and read back, replays to the same finding, and so does
// every shrunk one.
func TestReplayEndsInTheSameFinding(t *testing.T) {
	faults := strategy.Walk{Deliver: 20, Drop: 1, Duplicate: 1, Alarm: 2, Request: 1, Crash: 1, Restart: 2, Cut: 1, Heal: 3, Steps: 300}
	for _, s := range []lockstep.Strategy{strategy.DefaultUniform, strategy.DefaultLossy, strategy.DefaultWalk, strategy.DefaultBaseline, faults} {
		plan := buggy
		plan.Strategy, plan.Runs, plan.KeepGoing, plan.Keep = s, 6000, true, 30
		for _, f := range find(t, plan) {
			stored := reread(t, f.Trace)
			again, err := lockstep.Replay(buggy, stored)
			if err != nil || again.Outcome.Finding == nil || again.Outcome.Finding.Text != f.Finding.Text {
				t.Fatalf("%s run %d: %v, %v", s, f.Run, again.Outcome, err)
			}
			small, err := lockstep.Shrink(context.Background(), buggy, stored, 500)
			if err != nil {
				t.Fatal(err)
			}
			if again, err = lockstep.Replay(buggy, reread(t, small.Trace)); err != nil || again.Outcome.Finding == nil {
				t.Fatalf("%s run %d shrunk: %v, %v", s, f.Run, again.Outcome, err)
			}
		}
	}
}

// A trace of a system that has changed is flaky, with the first step that differs.
func TestReplayOfAChangedSystem(t *testing.T) {
	plan := buggy
	plan.Strategy, plan.Runs = strategy.DefaultUniform, 5000
	tr := find(t, plan)[0].Trace
	mended := tr
	mended.Header.Target = "smr"
	again, err := lockstep.Replay(lockstep.Plan{System: smr.Cluster{Nodes: 3}, Spec: smr.Prefix}, mended)
	if err != nil || again.Outcome.Verdict != trace.Flaky {
		t.Fatalf("%+v, %v", again.Outcome, err)
	}
	if !strings.HasPrefix(again.Outcome.Reason, "step ") || !strings.Contains(again.Outcome.Reason, "last=") {
		t.Errorf("reason: %s", again.Outcome.Reason)
	}

	system := toy(nil)
	tr = one(t, lockstep.Plan{System: system, Strategy: list{alarm1, deliver(2), deliver(3)}})
	for _, c := range []struct {
		name  string
		trick func(*sim.Context[int], int)
		want  string
	}{
		{"a new message", func(c *sim.Context[int], m int) { c.Send(3, 9) }, `step 2 (deliver 1->2 message 1): message "2->3 message 9" is new`},
		{"a new event", func(c *sim.Context[int], m int) {
			if c.Self() == 3 {
				c.Emit("strange", m)
			}
		}, `step 3 (deliver 1->3 message 1): event was "3 got 1", now "3 strange 1"`},
		{"a panic", func(c *sim.Context[int], m int) { panic("no") }, "message"},
	} {
		again, err := lockstep.Replay(lockstep.Plan{System: toy(c.trick), Spec: atEnd}, tr)
		if err != nil || again.Outcome.Verdict != trace.Flaky || !strings.Contains(again.Outcome.Reason, c.want) && c.name != "a panic" {
			t.Errorf("%s: %+v, %v", c.name, again.Outcome, err)
		}
	}
	// A step that has become impossible is named, too.
	tr.Records = tr.Records[:2]
	tr.Records = append(tr.Records, trace.Record{Number: 2, Step: lockstep.Step{Kind: trace.Alarm, Node: 3}})
	again, err = lockstep.Replay(lockstep.Plan{System: system, Spec: atEnd}, tr)
	if err != nil || again.Outcome.Verdict != trace.Flaky || !strings.Contains(again.Outcome.Reason, "step 2 (alarm node 3) is impossible") {
		t.Errorf("%+v, %v", again.Outcome, err)
	}
}

func TestReplayOnTheWrongSystem(t *testing.T) {
	tr := one(t, lockstep.Plan{System: toy(nil), Strategy: list{alarm1}})
	_, err := lockstep.Replay(buggy, tr)
	if err == nil || !strings.Contains(err.Error(), "the trace is of toy with 3 nodes, the plan's system is smr-bug with 3 nodes") {
		t.Error(err)
	}
}

// A liveness finding, made at the end of the settling stage, replays and shrinks too.
func TestReplayAfterSettling(t *testing.T) {
	spec := judge{end: func(r *lockstep.Run) *lockstep.Finding {
		if r.Settled() && r.Faults().Crashed.Has(2) {
			f := anything
			return &f
		}
		return nil
	}}
	plan := lockstep.Plan{System: toy(nil), Spec: spec, Settle: 30, Runs: 200,
		Strategy: strategy.Walk{Deliver: 5, Alarm: 1, Crash: 1, Restart: 1, Steps: 60}}
	tr := reread(t, find(t, plan)[0].Trace)
	again, err := lockstep.Replay(plan, tr)
	if err != nil || again.Outcome.Finding == nil {
		t.Fatalf("%+v, %v", again.Outcome, err)
	}
	small, err := lockstep.Shrink(context.Background(), plan, tr, 0)
	if err != nil || small.Is != "1 steps, 0 messages lost" {
		t.Errorf("%+v, %v: one crash is enough", small, err)
	}
	if again, err = lockstep.Replay(plan, reread(t, small.Trace)); err != nil || again.Outcome.Finding == nil {
		t.Errorf("%+v, %v", again.Outcome, err)
	}
}

// Shrinking keeps the property, never grows the run, and gives the same result twice.
func TestShrinkProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := buggy
		plan.Seed = rapid.Uint64().Draw(rt, "seed")
		plan.Runs = 3000
		plan.Strategy = rapid.SampledFrom([]lockstep.Strategy{strategy.DefaultWalk, strategy.DefaultBaseline, strategy.DefaultLossy,
			strategy.Uniform{Period: 4, Isolations: 6, Rounds: 24}, strategy.Uniform{Period: 3, Isolations: 8, Rounds: 24}}).Draw(rt, "strategy")
		result, err := lockstep.Explore(context.Background(), plan)
		if err != nil {
			rt.Fatal(err)
		}
		if result.First() == nil {
			rt.Skip("nothing found")
		}
		tr := result.First().Trace
		tries := rapid.IntRange(1, 2000).Draw(rt, "tries")
		small, err := lockstep.Shrink(context.Background(), buggy, tr, tries)
		if err != nil {
			rt.Fatal(err)
		}
		if small.Trace.Outcome.Finding.Property != "prefix" || small.Tries > tries {
			rt.Fatalf("%+v", small)
		}
		if len(tr.Rounds) == 0 && len(small.Trace.Records) > len(tr.Records) || len(small.Trace.Rounds) > len(tr.Rounds) {
			rt.Fatalf("grew from %d steps to %d", len(tr.Records), len(small.Trace.Records))
		}
		again, err := lockstep.Shrink(context.Background(), buggy, tr, tries)
		if err != nil || again.Is != small.Is || again.Tries != small.Tries {
			rt.Fatalf("the second time %+v, the first %+v, %v", again, small, err)
		}
	})
}

func TestShrinkErrors(t *testing.T) {
	plan := buggy
	plan.Strategy, plan.Runs = strategy.DefaultWalk, 5000
	tr := find(t, plan)[0].Trace
	if _, err := lockstep.Shrink(context.Background(), buggy, tr, -1); err == nil {
		t.Error("negative tries are accepted")
	}
	other := lockstep.Plan{System: wrapped{System: smr.Cluster{Nodes: 3}, info: func(i *lockstep.Info) { i.Name = "smr-bug" }}, Spec: smr.Prefix}
	if _, err := lockstep.Shrink(context.Background(), other, tr, 0); err == nil || !strings.Contains(err.Error(), "flaky") {
		t.Errorf("a run that does not fail again: %v", err)
	}
	pass := *tr
	pass.Outcome = trace.Outcome{Verdict: trace.Pass}
	if _, err := lockstep.Shrink(context.Background(), buggy, &pass, 0); err == nil || !strings.Contains(err.Error(), "no finding") {
		t.Errorf("a run without a finding: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := lockstep.Shrink(ctx, buggy, tr, 0); err == nil {
		t.Error("a cancelled context is not noticed")
	}
}
