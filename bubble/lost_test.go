package bubble_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/replay"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
	"github.com/lockstep-go/lockstep/watchdog"
)

// caller sends a word to node 2 repeatedly until it arrives, whenever it learns that the word was lost.
func caller(n *bubble.Node) error {
	n.Receive(func(_ lockstep.Node, body any) { n.Emit("heard", body) })
	say := func(lockstep.Node, any) { n.Send(2, "Word", trace.Tag{}, "hello") }
	n.OnLost(say)
	if n.Self() == 1 {
		say(0, nil)
	}
	return nil
}

var callers = bubble.Cluster{Name: "callers", Nodes: 2, Start: caller, Events: []string{"heard"},
	Network: bubble.Messages{Types: []string{"Word", "Forged"}, Parse: func(text string) (string, trace.Tag, any, error) {
		if !strings.HasPrefix(text, "forged ") {
			return "", trace.Tag{}, nil, fmt.Errorf("%q is not forged", text)
		}
		return "Forged", trace.Tag{}, text, nil
	}}}

// The sender of a message that is dropped, or sent on a cut link, learns of it.
func TestLost(t *testing.T) {
	heard := 0
	count := spec.OnEvent("heard", "heard",
		func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding { heard++; return nil })
	sc := New("twice lost").Faults(lockstep.Budget{Losses: lockstep.Unlimited})
	sc.If(Type("Word")).First(2).Then(Drop())
	result := explore(
		t,
		lockstep.Plan{
			System:   callers,
			Scenario: sc,
			Strategy: strategy.Walk{Deliver: 1, Steps: 10},
			Spec:     count,
			Runs:     1,
			Seed:     1,
		},
	)
	if result.Verdict() != trace.Pass || heard != 1 {
		t.Errorf("%v %v: heard %d times", result.Verdicts, result.Reasons, heard)
	}
	heard = 0
	cut := New("cut").Faults(lockstep.Budget{Losses: lockstep.Unlimited})
	cut.If(Type("Word")).Named("lose one in a cut").Once().Then(Cut(Only(1), Only(2)), Drop())
	cut.If(Did(trace.Wait)).Named("heal").Once().Then(HealAll())
	result = explore(
		t,
		lockstep.Plan{
			System:   callers,
			Scenario: cut,
			Strategy: strategy.Walk{Deliver: 1, Wait: 1, Steps: 20},
			Spec:     count,
			Runs:     1,
			Seed:     1,
		},
	)
	if result.Verdict() != trace.Pass || heard != 1 {
		t.Errorf("cut: %v %v: heard %d times", result.Verdicts, result.Reasons, heard)
	}
}

// A step may replace the body of a message in flight, and the cluster parses the new body.
func TestReplace(t *testing.T) {
	var bodies []any
	note := spec.OnEvent("heard", "heard", func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		bodies = append(bodies, e.Value)
		return nil
	})
	sc := New("Byzantine node").Faults(lockstep.Budget{Byzantine: 1})
	sc.If(Type("Word")).Then(Replace("forged hello"))
	plan := lockstep.Plan{
		System:   callers,
		Scenario: sc,
		Strategy: strategy.Walk{Deliver: 1, Steps: 5},
		Spec:     note,
		Runs:     1,
		Seed:     1,
	}
	result := explore(t, plan)
	if result.Verdict() != trace.Pass || len(bodies) != 1 || bodies[0] != "forged hello" {
		t.Errorf("%v %v: %v", result.Verdicts, result.Reasons, bodies)
	}
	bad := New("bad").Faults(lockstep.Budget{Byzantine: 1})
	bad.If(Type("Word")).Then(Replace("hello"))
	plan.Scenario = bad
	if _, err := lockstep.Explore(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "is not forged") {
		t.Errorf("a body that cannot be read: %v", err)
	}
}

// A run with a forged message replays from its trace, with a watchdog, which asks for every step as text before the
// step is performed.
func TestReplaceReplayed(t *testing.T) {
	noForgery := spec.OnEvent("no forgery", "heard",
		func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			return &lockstep.Finding{Property: "no forgery", Text: e.Value.(string)}
		})
	sc := New("Byzantine node").Faults(lockstep.Budget{Byzantine: 1})
	sc.If(Type("Word")).Then(Replace("forged hello"))
	plan := lockstep.Plan{
		System:   callers,
		Scenario: sc,
		Strategy: strategy.Walk{Deliver: 1, Steps: 5},
		Spec:     noForgery,
		Runs:     1,
		Seed:     1,
		Watchdog: watchdog.After(watchdog.Default),
	}
	f := explore(t, plan).First()
	if f == nil {
		t.Fatal("no message was forged")
	}
	plan.Scenario = nil
	again, err := replay.Run(t.Context(), plan, f.Trace)
	if err != nil || again.Trace.Outcome.Verdict != trace.Fail {
		t.Errorf("%+v, %v", again, err)
	}
}

// The scenario that forged a message observes the replay of the run, and makes bodies that the replay ignores. They
// have no effect. With and without the scenario the recordings are the same, except for its name, and so are those of
// watched runs.
func TestForgedInVain(t *testing.T) {
	sc := New("Byzantine node").Faults(lockstep.Budget{Byzantine: 1})
	sc.If(Type("Word")).Then(Replace("forged hello"))
	plan := lockstep.Plan{
		System:   callers,
		Strategy: strategy.Walk{Deliver: 1, Steps: 5},
		Runs:     1,
		Seed:     1,
		Scenario: sc,
	}
	run, err := lockstep.Record(t.Context(), plan, 0)
	watched := func() (<-chan time.Time, func()) { return nil, func() {} }
	for _, c := range []lockstep.Plan{{Scenario: sc}, {}, {Watchdog: watched}} {
		plan.Scenario, plan.Watchdog = c.Scenario, c.Watchdog
		again, err2 := replay.Run(t.Context(), plan, run)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		var was, is bytes.Buffer
		if err := errors.Join(trace.Write(&was, run), trace.Write(&is, again.Trace)); err != nil {
			t.Fatal(err)
		}
		if was.String() != is.String() || !strings.Contains(is.String(), "forged hello") {
			t.Errorf("scenario %v, watched %v:\n%s\nbecame\n%s", plan.Scenario, plan.Watchdog != nil, &was, &is)
		}
	}
}
