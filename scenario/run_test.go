package scenario_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/replay"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

func TestVacuity(t *testing.T) {
	sc := New("vacuous")
	m := sc.Machine()
	m.On(IsReceive().And(Type("Answer"), From(2)), "answered")
	sc.If(Type("Ask"), To(1)).Named("asks to 1").Then(Drop()) // no node asks node 1
	result := enginetest.Explore(t, bellPlan(sc))
	if got := result.Verdict(); got != trace.Vacuous {
		t.Errorf("verdict %s, want vacuous: %v", got, result.Verdicts)
	}
	want := []string{"filter 1 (asks to 1) acted"}
	if got := result.VacuousParts(); !slices.Equal(got, want) {
		t.Errorf("vacuous parts %q, want %q", got, want)
	}
}

// TestVacuousPartOfCampaign: a campaign whose runs are not vacuous still says which
// filter never fired and which state was never reached.
func TestVacuousPartOfCampaign(t *testing.T) {
	sc := New("partly")
	m := sc.Machine()
	m.On(IsEvent("done"), "done").MarkSuccess()
	m.On(Did(trace.Crash), "crashed")
	m.On(Did(trace.Restart), "restarted").MarkOptional()
	sc.If(Type("Ask"), To(2)).Named("2 first").Then(Deliver())
	sc.If(Type("Answer"), To(2)).Named("answers to 2").Then(Drop())
	result := enginetest.Explore(t, bellPlan(sc))
	if got := result.Verdict(); got != trace.Pass {
		t.Errorf("verdict %s, want pass", got)
	}
	want := []string{"filter 2 (answers to 2) acted", "state crashed of machine partly reached"}
	if got := result.VacuousParts(); !slices.Equal(got, want) {
		t.Errorf("vacuous parts %q, want %q", got, want)
	}
	if got := Successes(result); got != result.Runs {
		t.Errorf("%d successes in %d runs", got, result.Runs)
	}
}

// TestVacuousProperty: a property that could never have failed is named too.
func TestVacuousProperty(t *testing.T) {
	sc := New("nothing is output")
	sc.If(Round("Propose")).Then(Drop())
	result := enginetest.Explore(
		t,
		lockstep.Plan{
			System:   smr.Cluster{Nodes: 3},
			Strategy: strategy.DefaultWalk,
			Scenario: sc,
			Spec:     smr.Prefix,
			Runs:     50,
		},
	)
	if got, want := result.VacuousParts(), []string{"property prefix"}; !slices.Equal(got, want) {
		t.Errorf("vacuous parts %q, want %q", got, want)
	}
}

// guided is a scenario on smr that uses most features, for tests that hold for any scenario.
func guided() *Scenario {
	sc := New("guided")
	m := sc.Machine()
	m.On(IsEvent(smr.Output), "output").MarkSuccess()
	victim := sc.Pick("victim", 1)
	sc.If(Round("Propose"), ToGroup(victim)).First(2).Then(Store("late"))
	sc.If(IsEvent(smr.Output)).Then(ReleaseAll("late"), Continue())
	sc.If(IsEvent(smr.Output)).Once().Then(Crash(victim))
	sc.If(Did(trace.Crash)).Then(Restart(Here()))
	sc.If(Round("Ack"), WithProbability(0.2)).Then(Duplicate())
	sc.If(Round("Promise"), WithProbability(0.2)).Then(Delay(7))
	sc.If(Round("Promise"), Phase(1)).Then(DelayUntil(Round("Prepare").And(Phase(2))))
	return sc
}

// TestDeterminism: the digest of a campaign depends on plan and seed alone.
func TestDeterminism(t *testing.T) {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: strategy.DefaultWalk, Scenario: guided(),
		Spec: smr.Prefix, Runs: 400, KeepGoing: true, Seed: 3, Workers: 1}
	one := enginetest.Explore(t, plan)
	plan.Workers = 3
	three := enginetest.Explore(t, plan)
	if one.Digest != three.Digest || fmt.Sprint(one.Effects) != fmt.Sprint(three.Effects) {
		t.Errorf("one worker and three differ: %x and %x,\n%v\n%v", one.Digest, three.Digest, one.Effects,
			three.Effects)
	}
	if parts := one.VacuousParts(); len(parts) > 0 {
		t.Errorf("never happened: %q", parts)
	}
}

// TestReplayAndShrink: runs under a scenario replay by their choices, with the scenario and without it, and shrink.
func TestReplayAndShrink(t *testing.T) {
	plan := lockstep.Plan{
		System:   smr.Cluster{Nodes: 3, Bug: true},
		Scenario: guided(),
		Spec:     smr.Prefix,
		Runs:     3_000,
		Seed:     1,
		Strategy: strategy.Walk{Deliver: 10, Drop: 1, Timer: 1, Steps: 150},
	}
	found := enginetest.Explore(t, plan).First()
	if found == nil {
		t.Fatal("the bug was not found")
	}
	if found.Flaky != "" {
		t.Fatal(found.Flaky)
	}
	for _, sc := range []lockstep.Scenario{plan.Scenario, nil} {
		plan.Scenario = sc
		again, err := replay.Run(t.Context(), plan, found.Trace)
		if err != nil || again.Difference != "" || again.Trace.Outcome.Verdict != trace.Fail {
			t.Errorf("with scenario %v: %v, %+v", sc, err, again)
		}
	}
	plan.Scenario = guided()
	shrunk, err := shrink.Run(t.Context(), plan, found.Trace, shrink.Options{Attempts: 3000})
	if err != nil {
		t.Fatal(err)
	}
	if len(shrunk.Trace.Records) >= len(found.Trace.Records) {
		t.Errorf("%d steps were shrunk to %d", len(found.Trace.Records), len(shrunk.Trace.Records))
	}
	again, err := replay.Run(t.Context(), plan, shrunk.Trace)
	if err != nil || again.Difference != "" || again.Trace.Outcome.Finding == nil ||
		again.Trace.Outcome.Finding.Property != "prefix" {
		t.Errorf("the shrunk run replays to %+v, %v", again, err)
	}
}

// TestBudget: a run that exceeds the fault model is unknown with a reason and never a finding; a run within it is
// checked.
func TestBudget(t *testing.T) {
	anyFault := lockstep.Budget{Crashes: -1, Byzantine: -1, Losses: -1, Links: -1, Duplicates: -1}
	for _, tt := range []struct {
		name   string
		allow  func(*lockstep.Budget)
		do     func(*Scenario)
		reason string // empty: within the budget
	}{
		{"two crashes of one", func(b *lockstep.Budget) { b.Crashes = 1 },
			func(sc *Scenario) { sc.If(Did(trace.Start)).Then(Crash(Only(2, 3))) }, "2 nodes crashed, 1 allowed"},
		{"one crash twice", func(b *lockstep.Budget) { b.Crashes = 1 },
			func(sc *Scenario) {
				sc.If(Did(trace.Start)).Then(Crash(Only(2)))
				sc.If(Did(trace.Crash)).First(2).Then(Restart(Only(2)))
				sc.If(Did(trace.Restart)).Once().Then(Crash(Only(2)))
			}, ""},
		{"messages to the dead are not lost", func(b *lockstep.Budget) { b.Losses, b.Links = 0, 0 },
			func(sc *Scenario) { sc.If(Did(trace.Timer)).Then(Crash(Only(2))) }, ""},
		{"two Byzantine nodes of one", func(b *lockstep.Budget) { b.Byzantine = 1 },
			func(sc *Scenario) { sc.If(Type("Answer")).Then(Replace("Answer 7")) }, "2 Byzantine nodes, 1 allowed"},
		{"one Byzantine node that is silent and crashes too",
			func(b *lockstep.Budget) { b.Byzantine, b.Crashes, b.Losses, b.Links = 1, 0, 0, 0 },
			func(sc *Scenario) {
				sc.If(Type("Ask"), To(2)).Then(Replace("Ask 7"))
				sc.If(From(1)).Then(Drop())
				sc.If(IsEvent("heard")).Then(Crash(Only(1)))
			}, ""},
		{"one loss of none", func(b *lockstep.Budget) { b.Losses, b.Links = 0, 0 },
			func(sc *Scenario) { sc.If(To(3)).Then(Drop()) },
			"1 messages lost on 1 links, 0 messages or 0 links allowed"},
		{"losses on one link of one", func(b *lockstep.Budget) { b.Losses, b.Links = 0, 1 },
			func(sc *Scenario) { sc.If(To(3)).Then(Drop()) }, ""},
		{"a cut loses on two links", func(b *lockstep.Budget) { b.Losses, b.Links = 1, 1 },
			func(sc *Scenario) { sc.If(Did(trace.Start)).Then(Isolate(Only(1))) },
			"2 messages lost on 2 links, 1 messages or 1 links allowed"},
		{"a copy of none", func(b *lockstep.Budget) { b.Duplicates = 0 },
			func(sc *Scenario) { sc.If(To(3)).Then(Duplicate()) }, "1 messages duplicated, 0 allowed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := anyFault
			tt.allow(&b)
			sc := New("faults").Faults(b)
			tt.do(sc)
			plan := bellPlan(sc)
			plan.Runs, plan.Spec, plan.KeepGoing = 1, alwaysWrong{}, true
			result := enginetest.Explore(t, plan)
			if tt.reason == "" {
				if result.Verdict() != trace.Fail {
					t.Errorf("verdict %s %v, want the finding", result.Verdict(), result.Reasons)
				}
				return
			}
			if result.Verdict() != trace.Unknown || result.Reasons["fault budget exceeded: "+tt.reason] != 1 ||
				len(result.Failures) > 0 {
				t.Errorf("verdict %s %v, want unknown: %s", result.Verdict(), result.Reasons, tt.reason)
			}
		})
	}
}

// alwaysWrong reports a finding at the end of every run.
type alwaysWrong struct{}

func (alwaysWrong) Properties() []string                 { return []string{"wrong"} }
func (alwaysWrong) New(lockstep.Info) lockstep.Monitor   { return alwaysWrong{} }
func (alwaysWrong) Reset()                               {}
func (alwaysWrong) Step(*lockstep.Run) *lockstep.Finding { return nil }
func (alwaysWrong) EventsOnly() bool                     { return false }
func (alwaysWrong) Conclude(bool) lockstep.Conclusion    { return lockstep.Conclusion{} }
func (alwaysWrong) End(run *lockstep.Run) *lockstep.Finding {
	return &lockstep.Finding{Property: "wrong"}
}

// TestBudgetOfStrategy: the strategy's faults count as well, and the plan's budget takes precedence over the
// scenario's.
func TestBudgetOfStrategy(t *testing.T) {
	plan := lockstep.Plan{
		System:    smr.Cluster{Nodes: 3, Bug: true},
		Spec:      smr.Prefix,
		Runs:      2000,
		Seed:      1,
		KeepGoing: true,
		Strategy:  strategy.Walk{Deliver: 10, Drop: 1, Timer: 1, Steps: 100},
		Budget:    &lockstep.Budget{},
	}
	result := enginetest.Explore(t, plan)
	if len(result.Failures) > 0 || result.Verdicts[trace.Unknown] == 0 {
		t.Errorf("verdicts %v with %d findings: a loss exceeds the empty budget", result.Verdicts, len(result.Failures))
	}
	plan.Budget = &lockstep.Budget{Losses: lockstep.Unlimited}
	if result = enginetest.Explore(t, plan); len(result.Failures) == 0 {
		t.Error("nothing was found with losses allowed")
	}
	harmless := New("harmless").Faults(lockstep.Budget{})
	harmless.If(IsEvent(smr.Output)).Then(Count("outputs").Incr())
	plan.Scenario = harmless
	if result = enginetest.Explore(t, plan); len(result.Failures) == 0 {
		t.Error("the scenario's budget went before the plan's")
	}
	plan.Budget = nil
	if result = enginetest.Explore(t, plan); len(result.Failures) > 0 || result.Verdicts[trace.Unknown] == 0 {
		t.Errorf("verdicts %v with %d findings: without a budget of the plan's the scenario's counts", result.Verdicts,
			len(result.Failures))
	}
	plan.Budget = &lockstep.Budget{Losses: -2}
	if _, err := lockstep.Explore(context.Background(), plan); err == nil {
		t.Error("a budget of -2 losses was accepted")
	}
}

// TestSplit: the drawn parts have the given sizes, cover all nodes if the last takes the rest, and are disjoint, and
// every node gets into every part.
func TestSplit(t *testing.T) {
	sc := New("split")
	parts := sc.Split(Side{"one", 1}, Side{"two", 2}, Side{"rest", 0})
	seen := make([]lockstep.Nodes, len(parts))
	sc.If(FromGroup(parts[0])).Then(Pass())
	info := lockstep.Info{Name: "five", Nodes: 5, Supports: trace.KindsOf(trace.Deliver)}
	d := sc.New(info)
	for seed := range uint64(200) {
		d.Reset(rand.New(rand.NewPCG(seed, 0)))
		sets := Drawn(d)
		if sets[0].Len() != 1 || sets[1].Len() != 2 || sets[0]|sets[1]|sets[2] != trace.AllNodes(5) ||
			sets[2].Len() != 2 {
			t.Fatalf("seed %d: %v", seed, sets)
		}
		for i, s := range sets {
			seen[i] |= s
		}
	}
	for i, s := range seen {
		if s != trace.AllNodes(5) {
			t.Errorf("part %d was only ever drawn from %s", i, s)
		}
	}
}

// TestOnceNeedsAnEffect: a match without an effect does not use up Once. Node 2 is up at its first restart, and down
// at the second.
func TestOnceNeedsAnEffect(t *testing.T) {
	sc := New("once")
	sc.If(Did(trace.Start, trace.Crash)).Once().Then(Restart(Only(2)))
	sc.If(IsEvent("heard")).Once().Then(Crash(Only(2)))
	result := enginetest.Explore(t, bellPlan(sc))
	if parts := result.VacuousParts(); len(parts) > 0 {
		t.Errorf("never: %q", parts)
	}
}

// TestMemoryIsOfOneRun: variables, distinct counts and times in a state are cleared before the next run; otherwise
// runs would depend on earlier ones.
func TestMemoryIsOfOneRun(t *testing.T) {
	sc := New("memory")
	m := sc.Machine()
	first := Variable[int]("first")
	senders := Count("senders").Distinct(BySender)
	m.On(IsEvent("done").And(senders.Eq(2), first.IsSet(), m.InStateFor(1, Start)), "as in every run").MarkSuccess()
	sc.If(IsReceive(), Type("Answer"), first.IsSet().Not()).
		Then(CaptureBody(first, "its number", func(n note) int { return n.Number }), senders.Incr())
	sc.If(IsReceive(), Type("Answer")).Then(senders.Incr())
	sc.If(Type("Answer"), From(2)).Once().Then(Inject("Answer 1"), Drop()) // the copy takes its place
	plan := bellPlan(sc)
	plan.Runs, plan.Workers = 20, 1
	result := enginetest.Explore(t, plan)
	if got := Successes(result); got != 20 {
		t.Errorf("%d of 20 runs alike", got)
	}
	if got := result.VacuousParts(); len(got) > 0 {
		t.Errorf("never: %q", got)
	}
}
