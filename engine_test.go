package lockstep_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

func TestSteps(t *testing.T) {
	all := trace.AllNodes(3)
	for _, c := range []struct {
		name  string
		steps list
		want  []string
	}{
		{"any order", list{alarm1, deliver(3), deliver(1), deliver(2)}, []string{"3 got 1", "1 got 1", "2 got 1"}},
		{"drop", list{alarm1, {Kind: trace.Drop, Msg: 2}, deliver(3)}, []string{"3 got 1"}},
		{"duplicate", list{alarm1, {Kind: trace.Duplicate, Msg: 2}, deliver(4), deliver(2)}, []string{"2 got 1", "2 got 1"}},
		{"replace", list{alarm1, {Kind: trace.Replace, Msg: 2}, deliver(3), deliver(2)}, []string{"3 got 1", "2 got 100"}},
		{"a forged message leaves its copy alone", list{alarm1, {Kind: trace.Duplicate, Msg: 2}, {Kind: trace.Replace, Msg: 2}, deliver(4), deliver(2)},
			[]string{"2 got 1", "2 got 100"}},
		{"a forged copy leaves its original alone", list{alarm1, {Kind: trace.Duplicate, Msg: 2}, {Kind: trace.Replace, Msg: 4}, deliver(4), deliver(2)},
			[]string{"2 got 100", "2 got 1"}},
		{"request", list{{Kind: trace.Request, Node: 2, Request: 2}}, []string{"2 request 2"}},
		{"cut keeps what is in flight", list{alarm1, {Kind: trace.Cut, From: all &^ 2, To: 2}, deliver(2)}, []string{"2 got 1"}},
		{"heal", list{{Kind: trace.Cut, From: 1, To: 6}, {Kind: trace.Heal, From: all, To: all}, alarm1, deliver(2)}, []string{"2 got 1"}},
		{"a node reaches itself across a cut", list{{Kind: trace.Cut, From: all, To: all}, alarm1, deliver(1)}, []string{"1 got 1"}},
		{"restart keeps what is durable", list{alarm1, deliver(1), {Kind: trace.Crash, Node: 1}, {Kind: trace.Restart, Node: 1}, alarm1, deliver(4)},
			[]string{"1 got 1", "1 got 3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := events(one(t, lockstep.Plan{System: toy(nil), Strategy: c.steps})); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Messages into a cut are sent and lost; a one-way cut loses only one direction.
func TestCutLosesWhatIsSent(t *testing.T) {
	tr := one(t, lockstep.Plan{System: toy(nil), Strategy: list{{Kind: trace.Cut, From: 2, To: 1, OneWay: true}, alarm1,
		{Kind: trace.Cut, From: 1, To: 6}, alarm1}})
	var lost []string
	for _, r := range tr.Records {
		for _, m := range r.Sent {
			if m.Lost {
				lost = append(lost, m.Text)
			}
		}
	}
	if want := []string{"1->2 message 2", "1->3 message 2"}; !slices.Equal(lost, want) {
		t.Errorf("lost %q, want %q", lost, want)
	}
}

// A step that is impossible is a mistake of the strategy and says what is wrong.
func TestImpossibleSteps(t *testing.T) {
	crash := lockstep.Step{Kind: trace.Crash, Node: 2}
	fifo := toy(nil)
	fifo.FIFO = true
	honest := toy(nil)
	honest.Parse = nil
	for _, c := range []struct {
		name   string
		system lockstep.System
		steps  list
		want   string
	}{
		{"unknown message", toy(nil), list{deliver(1)}, "step 1 (deliver message 1) is impossible: the message is not in flight"},
		{"no message", toy(nil), list{deliver(0)}, "not in flight"},
		{"twice", toy(nil), list{alarm1, deliver(1), deliver(1)}, "step 3 (deliver message 1) is impossible: the message is not in flight"},
		{"drop delivered", toy(nil), list{alarm1, deliver(1), {Kind: trace.Drop, Msg: 1}}, "not in flight"},
		{"duplicate lost", toy(nil), list{alarm1, {Kind: trace.Drop, Msg: 1}, {Kind: trace.Duplicate, Msg: 1}}, "not in flight"},
		{"receiver down", toy(nil), list{alarm1, crash, deliver(2)}, "its receiver is down"},
		{"crash twice", toy(nil), list{crash, crash}, "the node is in that condition already"},
		{"restart up", toy(nil), list{{Kind: trace.Restart, Node: 1}}, "the node is in that condition already"},
		{"no node", toy(nil), list{{Kind: trace.Crash, Node: 9}}, "nodes are 1..3"},
		{"no alarm", toy(nil), list{{Kind: trace.Alarm, Node: 2}}, "no alarm is set at that node, or it is down"},
		{"alarm of no node", toy(nil), list{{Kind: trace.Alarm}}, "no alarm is set at that node, or it is down"},
		{"alarm down", toy(nil), list{{Kind: trace.Crash, Node: 1}, alarm1}, "no alarm is set at that node, or it is down"},
		{"no request", toy(nil), list{{Kind: trace.Request, Node: 1, Request: 7}}, "no such request waits"},
		{"request down", toy(nil), list{crash, {Kind: trace.Request, Node: 2, Request: 1}}, "the node is down"},
		{"start", toy(nil), list{{}}, "toy supports only deliver"},
		{"no forging", honest, list{alarm1, {Kind: trace.Replace, Msg: 1}}, "toy supports only deliver, drop"},
		{"FIFO", fifo, list{alarm1, alarm1, deliver(5)}, "an older message is in flight on the same link, and links are FIFO"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := fails(t, lockstep.Plan{System: c.system, Strategy: c.steps}); !strings.Contains(err, c.want) {
				t.Errorf("got %q, want ...%q...", err, c.want)
			}
		})
	}
	if got := events(one(t, lockstep.Plan{System: fifo, Strategy: list{alarm1, alarm1, deliver(2), deliver(5)}})); len(got) != 2 {
		t.Errorf("FIFO in order: %q", got)
	}
}

func TestVirtualTime(t *testing.T) {
	var times []lockstep.Time
	spec := judge{step: func(r *lockstep.Run) *lockstep.Finding { times = append(times, r.Now()); return nil }}
	steps := list{alarm1, alarm1, {Kind: trace.Deliver, Msg: 1, At: 35}, deliver(2), {Kind: trace.Deliver, Msg: 3, At: 5}}
	if _, err := lockstep.Explore(context.Background(), lockstep.Plan{System: toy(nil), Strategy: steps, Spec: spec, Runs: 1}); err != nil {
		t.Fatal(err)
	}
	if want := []lockstep.Time{0, 10, 20, 35, 35, 35}; !slices.Equal(times, want) {
		t.Errorf("times %v, want %v", times, want)
	}
}

// Each limit ends the run with the verdict unknown and the limit as the reason.
func TestLimits(t *testing.T) {
	alarms := make(list, 50)
	for i := range alarms {
		alarms[i] = alarm1
	}
	for _, c := range []struct {
		limits lockstep.Limits
		reason string
	}{
		{lockstep.Limits{Steps: 20}, "more than 20 steps"},
		{lockstep.Limits{InFlight: 30}, "more than 30 messages in flight"},
		{lockstep.Limits{Time: 100}, "virtual time beyond 100"},
	} {
		result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: toy(nil), Strategy: alarms, Spec: atEnd, Limits: c.limits, Runs: 3})
		if err != nil {
			t.Fatal(err)
		}
		if result.Verdict() != trace.Unknown || result.Reasons[c.reason] != 3 {
			t.Errorf("%+v: verdict %s, reasons %v", c.limits, result.Verdict(), result.Reasons)
		}
	}
	// The plan's own length is not a limit.
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: toy(nil), Strategy: alarms, Steps: 20, Runs: 3})
	if err != nil || result.Verdict() != trace.Pass || result.Steps != 60 {
		t.Errorf("with 20 steps: %v, %v, %v", result.Verdict(), result.Steps, err)
	}
}

// After settling everyone is up, links are whole, requests are given and messages
// delivered, whatever the run did before.
func TestSettling(t *testing.T) {
	all := trace.AllNodes(3)
	faults := list{alarm1, {Kind: trace.Drop, Msg: 1}, {Kind: trace.Cut, From: 1, To: 6}, {Kind: trace.Crash, Node: 3}, {Kind: trace.Crash, Node: 1}}
	spec := judge{end: func(r *lockstep.Run) *lockstep.Finding {
		if !r.Settled() || r.Up() != all || r.Cut(1) != 0 || len(r.Pending()) != 0 {
			return &lockstep.Finding{Property: "judge", Text: "not settled"}
		}
		f := anything
		return &f
	}}
	tr := one(t, lockstep.Plan{System: toy(nil), Strategy: faults, Spec: spec, Settle: 60})
	if tr.Outcome.Finding.Text != anything.Text {
		t.Fatal(tr.Outcome.Finding)
	}
	got := map[string]bool{}
	for _, e := range events(tr) {
		got[e] = true
	}
	for _, want := range []string{"2 got 1", "3 got 1", "1 got 2", "2 got 2", "3 got 2"} {
		if !got[want] {
			t.Errorf("after settling %q is missing in %q", want, events(tr))
		}
	}
	if tr.Outcome.Steps != len(faults)+60 {
		t.Errorf("%d steps, want %d and 60", tr.Outcome.Steps, len(faults))
	}
}

// A panic of the system is a finding, the campaign goes on, and the next run is sound.
func TestPanicIsAFinding(t *testing.T) {
	system := toy(func(c *sim.Context[int], m int) {
		if c.Self() == 3 {
			panic("node 3 gives up")
		}
	})
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: system, Strategy: strategy.DefaultWalk, Runs: 40, KeepGoing: true})
	if err != nil {
		t.Fatal(err)
	}
	f := result.First()
	if f == nil || f.Finding.Property != "panic" || f.Finding.Text != "node 3 gives up" || f.Flaky != "" {
		t.Fatalf("found %+v", f)
	}
	if !strings.Contains(f.Finding.Stack, "(*counter).Receive") || strings.Contains(f.Finding.Stack, "worker") {
		t.Errorf("stack:\n%s", f.Finding.Stack)
	}
	if result.Runs != 40 || result.Verdicts[trace.Fail] < 30 {
		t.Errorf("%d runs: %v", result.Runs, result.Verdicts)
	}
	small, err := lockstep.Shrink(context.Background(), lockstep.Plan{System: system}, f.Trace, 0)
	if err != nil || small.Trace.Outcome.Steps != 2 {
		t.Errorf("shrunk to %v, %v; an alarm and a delivery are enough", small, err)
	}
}

// A panic of a spec or a strategy is an error of the tool's user, not a finding.
func TestPanicElsewhereIsAnError(t *testing.T) {
	spec := judge{step: func(*lockstep.Run) *lockstep.Finding { panic("bad spec") }}
	if err := fails(t, lockstep.Plan{System: toy(nil), Strategy: list{alarm1}, Spec: spec}); !strings.Contains(err, "panic outside the system under test, in the strategy, the scenario or the spec: bad spec") {
		t.Error(err)
	}
}

// wrapped is a system whose deployments are changed by a function.
type wrapped struct {
	lockstep.System
	info func(*lockstep.Info)
	do   func(d lockstep.Deployment, s *lockstep.Step, out *lockstep.Outbox) error
}

func (w wrapped) Describe() (lockstep.Info, error) {
	info, err := w.System.Describe()
	if w.info != nil {
		w.info(&info)
	}
	return info, err
}

func (w wrapped) Deploy() (lockstep.Deployment, error) {
	d, err := w.System.Deploy()
	return wrappedDeployment{d, w}, err
}

type wrappedDeployment struct {
	lockstep.Deployment
	wrapped wrapped
}

func (d wrappedDeployment) Do(s *lockstep.Step, out *lockstep.Outbox) error {
	if d.wrapped.do == nil {
		return d.Deployment.Do(s, out)
	}
	return d.wrapped.do(d.Deployment, s, out)
}

func TestBrokenDeployment(t *testing.T) {
	system := wrapped{System: toy(nil), do: func(lockstep.Deployment, *lockstep.Step, *lockstep.Outbox) error { return errBroken }}
	if err := fails(t, lockstep.Plan{System: system, Strategy: list{alarm1}}); err != "toy: step 1 (alarm node 1): broken" {
		t.Error(err)
	}
}

// A system that does not repeat itself is found out: flaky, not failed.
func TestFlaky(t *testing.T) {
	calls := 0
	system := wrapped{System: toy(nil), do: func(d lockstep.Deployment, s *lockstep.Step, out *lockstep.Outbox) error {
		if calls++; calls == 1 {
			out.Event(lockstep.Event{Node: 1, Type: "odd"})
		}
		return d.Do(s, out)
	}}
	spec := judge{step: func(r *lockstep.Run) *lockstep.Finding {
		for _, e := range r.Events() {
			if e.Type == "odd" {
				return &lockstep.Finding{Property: "judge", Text: "odd"}
			}
		}
		return nil
	}}
	plan := lockstep.Plan{System: system, Strategy: list{alarm1}, Spec: spec, Runs: 5, Workers: 1}
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if result.Verdict() != trace.Flaky || result.First().Flaky != "the second time nothing was found" {
		t.Errorf("verdict %s, %+v", result.Verdict(), result.First())
	}
	// Where the system admits it, the first recording counts.
	calls = 0
	system.info = func(i *lockstep.Info) { i.Nondeterministic = true }
	plan.System = system
	result, err = lockstep.Explore(context.Background(), plan)
	if err != nil || result.Verdict() != trace.Fail || len(result.First().Trace.Records) != 2 {
		t.Errorf("admitted: %v, %v", result.Verdict(), err)
	}
}

// tally is a scenario made of a function.
type tally struct {
	look func(*lockstep.Run, *lockstep.Hand) int
	n    *int
}

func (tally) Name() string                             { return "tally" }
func (tally) Check(lockstep.Info) error                { return nil }
func (s tally) New(lockstep.Info) lockstep.Director    { return tally{s.look, new(int)} }
func (s tally) Reset(*rand.Rand)                       { *s.n = 0 }
func (s tally) Look(r *lockstep.Run, h *lockstep.Hand) { *s.n += s.look(r, h) }
func (s tally) Counts() []lockstep.Count               { return []lockstep.Count{{Name: "tally", N: *s.n}} }
func (tally) Idle(*lockstep.Run, *lockstep.Hand) bool  { return false }
func (tally) End(*lockstep.Run, *lockstep.Hand)        {}
func (s tally) Vacuous() string {
	if *s.n == 0 {
		return "nothing was tallied"
	}
	return ""
}

func TestScenario(t *testing.T) {
	// The strategy only fires alarms: what is delivered, the scenario delivers. It holds
	// messages to node 2 and releases them when node 3 has got one.
	look := func(r *lockstep.Run, h *lockstep.Hand) int {
		for _, m := range r.Sent() {
			switch m.To {
			case 2:
				h.Hold(m.ID)
			case 3:
				h.Do(deliver(m.ID))
			}
		}
		for _, e := range r.Events() {
			if e.Node == 3 {
				h.Release(2)
			}
		}
		return len(r.Sent())
	}
	free := 0
	spec := judge{step: func(r *lockstep.Run) *lockstep.Finding { free = len(r.InFlight()); return nil }, end: atEnd.end}
	tr := one(t, lockstep.Plan{System: toy(nil), Strategy: list{alarm1}, Scenario: resetting{tally{look: look}}, Spec: spec})
	if got := events(tr); !slices.Equal(got, []string{"3 got 1"}) || free != 2 {
		t.Errorf("events %q, %d in flight for the strategy", got, free)
	}
	again, err := lockstep.Replay(lockstep.Plan{System: toy(nil), Spec: spec, Scenario: resetting{tally{look: look}}}, tr)
	if err != nil || again.Outcome.Verdict != trace.Fail {
		t.Errorf("replay: %v, %v", again.Outcome, err)
	}
	idle := resetting{tally{look: func(*lockstep.Run, *lockstep.Hand) int { return 0 }}}
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: toy(nil), Strategy: list{alarm1}, Scenario: idle, Runs: 4})
	if err != nil || result.Verdict() != trace.Vacuous || result.Verdicts[trace.Vacuous] != 4 {
		t.Errorf("an idle scenario: %v, %v", result.Verdicts, err)
	}
	early := resetting{tally{look: func(r *lockstep.Run, h *lockstep.Hand) int { h.Finish(); return 1 }}}
	result, err = lockstep.Explore(context.Background(), lockstep.Plan{System: toy(nil), Strategy: list{alarm1}, Scenario: early, Runs: 1})
	if err != nil || result.Steps != 0 || result.Verdict() != trace.Pass {
		t.Errorf("a scenario that finishes: %v steps, %v", result.Steps, err)
	}
	angry := resetting{tally{look: func(r *lockstep.Run, h *lockstep.Hand) int { h.Fail(anything); return 1 }}}
	if tr := one(t, lockstep.Plan{System: toy(nil), Strategy: list{alarm1}, Scenario: angry, Spec: judge{}}); tr.Outcome.Steps != 0 {
		t.Errorf("a scenario that fails at once: %v", tr.Outcome)
	}
}

// resetting is a scenario whose count begins anew with each run.
type resetting struct{ tally }

func (s resetting) New(i lockstep.Info) lockstep.Director { return resetting{s.tally.New(i).(tally)} }
func (s resetting) Reset(*rand.Rand)                      { *s.n = 0 }

// told is a system that writes down for each step whether it was told of settling.
type told struct {
	lockstep.System
	list *[]bool
}

func (s told) Deploy() (lockstep.Deployment, error) {
	d, err := s.System.Deploy()
	return toldDeployment{d, s.list}, err
}

type toldDeployment struct {
	lockstep.Deployment
	list *[]bool
}

func (d toldDeployment) Do(s *lockstep.Step, out *lockstep.Outbox) error {
	*d.list = append(*d.list, out.Settling())
	return d.Deployment.Do(s, out)
}

// A system is told of the settling stage for the same steps as the trace, and in a replay.
func TestSystemHearsOfSettling(t *testing.T) {
	var heard []bool
	plan := lockstep.Plan{System: told{toy(nil), &heard}, Strategy: list{alarm1, alarm1}, Settle: 10}
	tr, err := lockstep.Record(plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	compare := func(what string) {
		t.Helper()
		var want []bool
		for _, r := range tr.Records {
			if r.Step.Kind != trace.Start {
				want = append(want, r.Settle)
			}
		}
		if !slices.Equal(heard, want) || !slices.Contains(heard, true) || !slices.Contains(heard, false) {
			t.Errorf("%s: told %v, the trace has %v", what, heard, want)
		}
	}
	compare("first")
	heard = nil
	if _, err := lockstep.Replay(plan, tr); err != nil {
		t.Fatal(err)
	}
	compare("replayed")
}
