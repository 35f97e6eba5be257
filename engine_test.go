package lockstep_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBroken = errors.New("broken")

// fails explores and returns the error.
func fails(t *testing.T, plan lockstep.Plan) string {
	t.Helper()
	_, err := lockstep.Explore(context.Background(), plan)
	if err == nil {
		t.Fatal("no error")
	}
	return err.Error()
}

func TestSteps(t *testing.T) {
	all := trace.AllNodes(3)
	for _, c := range []struct {
		name  string
		steps toy.Steps
		want  []string
	}{
		{
			"any order",
			toy.Steps{toy.Timer1, toy.Deliver(3), toy.Deliver(1), toy.Deliver(2)},
			[]string{"3 got 1", "1 got 1", "2 got 1"},
		},
		{"drop", toy.Steps{toy.Timer1, {Kind: trace.Drop, Msg: 2}, toy.Deliver(3)}, []string{"3 got 1"}},
		{
			"duplicate",
			toy.Steps{toy.Timer1, {Kind: trace.Duplicate, Msg: 2}, toy.Deliver(4), toy.Deliver(2)},
			[]string{"2 got 1", "2 got 1"},
		},
		{
			"replace",
			toy.Steps{toy.Timer1, {Kind: trace.Replace, Msg: 2}, toy.Deliver(3), toy.Deliver(2)},
			[]string{"3 got 1", "2 got 100"},
		},
		{"a forged message leaves its copy alone", toy.Steps{
			toy.Timer1,
			{Kind: trace.Duplicate, Msg: 2},
			{Kind: trace.Replace, Msg: 2},
			toy.Deliver(4),
			toy.Deliver(2),
		},
			[]string{"2 got 1", "2 got 100"}},
		{"a forged copy leaves its original alone", toy.Steps{
			toy.Timer1,
			{Kind: trace.Duplicate, Msg: 2},
			{Kind: trace.Replace, Msg: 4},
			toy.Deliver(4),
			toy.Deliver(2),
		},
			[]string{"2 got 100", "2 got 1"}},
		{"request", toy.Steps{{Kind: trace.Request, Node: 2, Request: 2}}, []string{"2 request 2"}},
		{
			"cut keeps what is in flight",
			toy.Steps{toy.Timer1, {Kind: trace.Cut, From: all &^ 2, To: 2}, toy.Deliver(2)},
			[]string{"2 got 1"},
		},
		{
			"heal",
			toy.Steps{
				{Kind: trace.Cut, From: 1, To: 6},
				{Kind: trace.Heal, From: all, To: all},
				toy.Timer1,
				toy.Deliver(2),
			},
			[]string{"2 got 1"},
		},
		{
			"a node reaches itself across a cut",
			toy.Steps{{Kind: trace.Cut, From: all, To: all}, toy.Timer1, toy.Deliver(1)},
			[]string{"1 got 1"},
		},
		{"restart keeps what is durable", toy.Steps{
			toy.Timer1,
			toy.Deliver(1),
			{Kind: trace.Crash, Node: 1},
			{Kind: trace.Restart, Node: 1},
			toy.Timer1,
			toy.Deliver(4),
		},
			[]string{"1 got 1", "1 got 3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := toy.Events(toy.One(t, lockstep.Plan{System: toy.Cluster(nil), Strategy: c.steps})); !slices.Equal(
				got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Messages into a cut are sent and lost; a one-way cut loses only one direction.
func TestCutLosesWhatIsSent(t *testing.T) {
	tr := toy.One(
		t,
		lockstep.Plan{
			System: toy.Cluster(nil),
			Strategy: toy.Steps{{Kind: trace.Cut, From: 2, To: 1, OneWay: true}, toy.Timer1,
				{Kind: trace.Cut, From: 1, To: 6}, toy.Timer1},
		},
	)
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

// An impossible step is a bug of the strategy, and the error says what is wrong.
func TestImpossibleSteps(t *testing.T) {
	crash := lockstep.Step{Kind: trace.Crash, Node: 2}
	fifo := toy.Cluster(nil)
	fifo.FIFO = true
	honest := toy.Cluster(nil)
	honest.Parse = nil
	for _, c := range []struct {
		name   string
		system lockstep.System
		steps  toy.Steps
		want   string
	}{
		{
			"unknown message",
			toy.Cluster(nil),
			toy.Steps{toy.Deliver(1)},
			"step 1 (deliver message 1) is impossible: the message is not in flight",
		},
		{"no message", toy.Cluster(nil), toy.Steps{toy.Deliver(0)}, "not in flight"},
		{
			"twice",
			toy.Cluster(nil),
			toy.Steps{toy.Timer1, toy.Deliver(1), toy.Deliver(1)},
			"step 3 (deliver message 1) is impossible: the message is not in flight",
		},
		{
			"drop delivered",
			toy.Cluster(nil),
			toy.Steps{toy.Timer1, toy.Deliver(1), {Kind: trace.Drop, Msg: 1}},
			"not in flight",
		},
		{
			"duplicate lost",
			toy.Cluster(nil),
			toy.Steps{toy.Timer1, {Kind: trace.Drop, Msg: 1}, {Kind: trace.Duplicate, Msg: 1}},
			"not in flight",
		},
		{"receiver down", toy.Cluster(nil), toy.Steps{toy.Timer1, crash, toy.Deliver(2)}, "its receiver is down"},
		{"crash twice", toy.Cluster(nil), toy.Steps{crash, crash}, "the node is in that condition already"},
		{
			"restart up",
			toy.Cluster(nil),
			toy.Steps{{Kind: trace.Restart, Node: 1}},
			"the node is in that condition already",
		},
		{"no node", toy.Cluster(nil), toy.Steps{{Kind: trace.Crash, Node: 9}}, "nodes are 1..3"},
		{
			"no timer",
			toy.Cluster(nil),
			toy.Steps{{Kind: trace.Timer, Node: 2}},
			"no timer is set at that node, or it is down",
		},
		{
			"timer of no node",
			toy.Cluster(nil),
			toy.Steps{{Kind: trace.Timer}},
			"no timer is set at that node, or it is down",
		},
		{
			"timer down",
			toy.Cluster(nil),
			toy.Steps{{Kind: trace.Crash, Node: 1}, toy.Timer1},
			"no timer is set at that node, or it is down",
		},
		{
			"no request",
			toy.Cluster(nil),
			toy.Steps{{Kind: trace.Request, Node: 1, Request: 7}},
			"no such request waits",
		},
		{
			"request down",
			toy.Cluster(nil),
			toy.Steps{crash, {Kind: trace.Request, Node: 2, Request: 1}},
			"the node is down",
		},
		{"start", toy.Cluster(nil), toy.Steps{{}}, "toy supports only deliver"},
		{"no forging", honest, toy.Steps{toy.Timer1, {Kind: trace.Replace, Msg: 1}}, "toy supports only deliver, drop"},
		{
			"FIFO",
			fifo,
			toy.Steps{toy.Timer1, toy.Timer1, toy.Deliver(5)},
			"an older message is in flight on the same link, and links are FIFO",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := fails(t, lockstep.Plan{System: c.system, Strategy: c.steps}); !strings.Contains(err, c.want) {
				t.Errorf("got %q, want ...%q...", err, c.want)
			}
		})
	}
	if got := toy.Events(toy.One(
		t,
		lockstep.Plan{System: fifo, Strategy: toy.Steps{toy.Timer1, toy.Timer1, toy.Deliver(2), toy.Deliver(5)}},
	)); len(got) != 2 {
		t.Errorf("FIFO in order: %q", got)
	}
}

func TestVirtualTime(t *testing.T) {
	var times []trace.Time
	spec := toy.Checker{OnStep: func(r *lockstep.Run) *lockstep.Finding { times = append(times, r.Now()); return nil }}
	steps := toy.Steps{
		toy.Timer1,
		toy.Timer1,
		{Kind: trace.Deliver, Msg: 1, At: 35},
		toy.Deliver(2),
		{Kind: trace.Deliver, Msg: 3, At: 5},
	}
	if _, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: toy.Cluster(nil), Strategy: steps, Spec: spec, Runs: 1}); err != nil {
		t.Fatal(err)
	}
	if want := []trace.Time{0, 10, 20, 35, 35, 35}; !slices.Equal(times, want) {
		t.Errorf("times %v, want %v", times, want)
	}
}

// Each limit ends the run with the verdict unknown and the limit as the reason.
func TestLimits(t *testing.T) {
	timers := make(toy.Steps, 50)
	for i := range timers {
		timers[i] = toy.Timer1
	}
	for _, c := range []struct {
		limit  func(*lockstep.Plan)
		reason string
	}{
		{func(p *lockstep.Plan) { p.MaxSteps = 20 }, "more than 20 steps"},
		{func(p *lockstep.Plan) { p.MaxInFlight = 30 }, "more than 30 messages in flight, most of them message from node 1"},
		{func(p *lockstep.Plan) { p.MaxTime = 100 }, "time beyond 100"},
	} {
		plan := lockstep.Plan{System: toy.Cluster(nil), Strategy: timers, Spec: toy.AtEnd, Runs: 3}
		c.limit(&plan)
		result, err := lockstep.Explore(context.Background(), plan)
		if err != nil {
			t.Fatal(err)
		}
		if result.Verdict() != trace.Unknown || result.Reasons[c.reason] != 3 {
			t.Errorf("%s: verdict %s, reasons %v", c.reason, result.Verdict(), result.Reasons)
		}
	}
	// The plan's own length is not a limit.
	result, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: toy.Cluster(nil), Strategy: timers, Steps: 20, Runs: 3})
	if err != nil || result.Verdict() != trace.Pass || result.Steps != 60 {
		t.Errorf("with 20 steps: %v, %v, %v", result.Verdict(), result.Steps, err)
	}
}

// After settling, all nodes are up, links are whole, requests are given and messages delivered, whatever the run did
// before.
func TestSettling(t *testing.T) {
	all := trace.AllNodes(3)
	faults := toy.Steps{
		toy.Timer1,
		{Kind: trace.Drop, Msg: 1},
		{Kind: trace.Cut, From: 1, To: 6},
		{Kind: trace.Crash, Node: 3},
		{Kind: trace.Crash, Node: 1},
	}
	spec := toy.Checker{AtEnd: func(r *lockstep.Run) *lockstep.Finding {
		if !r.Settled() || r.Up() != all || r.Cut(1) != 0 || len(r.Pending()) != 0 {
			return &lockstep.Finding{Property: "checker", Text: "not settled"}
		}
		f := toy.Anything
		return &f
	}}
	tr := toy.One(t, lockstep.Plan{System: toy.Cluster(nil), Strategy: faults, Spec: spec, Settle: 60})
	if tr.Outcome.Finding.Text != toy.Anything.Text {
		t.Fatal(tr.Outcome.Finding)
	}
	got := map[string]bool{}
	for _, e := range toy.Events(tr) {
		got[e] = true
	}
	for _, want := range []string{"2 got 1", "3 got 1", "1 got 2", "2 got 2", "3 got 2"} {
		if !got[want] {
			t.Errorf("after settling %q is missing in %q", want, toy.Events(tr))
		}
	}
	if tr.Outcome.Steps != len(faults)+60 {
		t.Errorf("%d steps, want %d and 60", tr.Outcome.Steps, len(faults))
	}
}

// A panic of the system is a finding, the campaign continues, and the next run is sound.
func TestPanicIsAFinding(t *testing.T) {
	system := toy.Cluster(func(c *sim.Context[int], m int) {
		if c.Self() == 3 {
			panic("node 3 gives up")
		}
	})
	result, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: system, Strategy: strategy.DefaultWalk, Runs: 40, KeepGoing: true})
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
	small, err := shrink.Run(context.Background(), lockstep.Plan{System: system}, f.Trace, shrink.Options{})
	if err != nil || small.Trace.Outcome.Steps != 2 {
		t.Errorf("shrunk to %v, %v; a timer and a delivery are enough", small, err)
	}
}

// A panic of a spec or a strategy is an error of the tool's user, not a finding.
func TestPanicElsewhereIsAnError(t *testing.T) {
	spec := toy.Checker{OnStep: func(*lockstep.Run) *lockstep.Finding { panic("bad spec") }}
	if err := fails(t,
		lockstep.Plan{System: toy.Cluster(nil), Strategy: toy.Steps{toy.Timer1}, Spec: spec}); !strings.Contains(
		err,
		"panic outside the system under test, in the strategy, the scenario or the spec: bad spec",
	) {
		t.Error(err)
	}
}

func TestBrokenDeployment(t *testing.T) {
	system := toy.Wrapped{
		System: toy.Cluster(nil),
		Do:     func(context.Context, lockstep.Deployment, *lockstep.Step, *lockstep.Outbox) error { return errBroken },
	}
	if err := fails(t,
		lockstep.Plan{System: system, Strategy: toy.Steps{toy.Timer1}}); err != "toy: step 1 (timer node 1): broken" {
		t.Error(err)
	}
}

// The engine detects a nondeterministic system: flaky, not failed.
func TestFlaky(t *testing.T) {
	calls := 0
	system := toy.Wrapped{
		System: toy.Cluster(nil),
		Do: func(ctx context.Context, d lockstep.Deployment, s *lockstep.Step, out *lockstep.Outbox) error {
			if calls++; calls == 1 {
				out.Event(lockstep.Event{Node: 1, Type: "odd"})
			}
			return d.Do(ctx, s, out)
		},
	}
	spec := toy.Checker{OnStep: func(r *lockstep.Run) *lockstep.Finding {
		for _, e := range r.Events() {
			if e.Type == "odd" {
				return &lockstep.Finding{Property: "checker", Text: "odd"}
			}
		}
		return nil
	}}
	plan := lockstep.Plan{System: system, Strategy: toy.Steps{toy.Timer1}, Spec: spec, Runs: 5, Workers: 1}
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if result.Verdict() != trace.Flaky || result.First().Flaky != "the second time nothing was found" {
		t.Errorf("verdict %s, %+v", result.Verdict(), result.First())
	}
}

// tally is a scenario made from a function.
type tally struct {
	look func(*lockstep.Run, *lockstep.Control) int
	n    *int
}

func (tally) Name() string                                   { return "tally" }
func (tally) Fit(lockstep.Info) (*lockstep.Budget, error)    { return nil, nil }
func (s tally) New(lockstep.Info) lockstep.Director          { return tally{s.look, new(int)} }
func (s tally) Reset(*rand.Rand)                             { *s.n = 0 }
func (s tally) Observe(r *lockstep.Run, h *lockstep.Control) { *s.n += s.look(r, h) }
func (tally) Idle(*lockstep.Run, *lockstep.Control) bool     { return false }
func (tally) End(*lockstep.Run, *lockstep.Control)           {}
func (s tally) Report() (vacuous string, counts []lockstep.Count) {
	if *s.n == 0 {
		vacuous = "nothing was tallied"
	}
	return vacuous, []lockstep.Count{{Name: "tally", N: *s.n}}
}

func TestScenario(t *testing.T) {
	// The strategy only fires timers; the scenario makes all deliveries. It holds messages to node 2 and releases
	// them when node 3 has received one.
	look := func(r *lockstep.Run, h *lockstep.Control) int {
		for _, m := range r.Sent() {
			switch m.To {
			case 2:
				h.Hold(m.ID)
			case 3:
				h.Do(toy.Deliver(m.ID))
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
	spec := toy.Checker{
		OnStep: func(r *lockstep.Run) *lockstep.Finding { free = len(r.FreeMessages()); return nil },
		AtEnd:  toy.AtEnd.AtEnd,
	}
	tr := toy.One(
		t,
		lockstep.Plan{
			System:   toy.Cluster(nil),
			Strategy: toy.Steps{toy.Timer1},
			Scenario: resetting{tally{look: look}},
			Spec:     spec,
		},
	)
	if got := toy.Events(tr); !slices.Equal(got, []string{"3 got 1"}) || free != 2 {
		t.Errorf("events %q, %d in flight for the strategy", got, free)
	}
	again, err := replay.Run(t.Context(),
		lockstep.Plan{System: toy.Cluster(nil), Spec: spec, Scenario: resetting{tally{look: look}}}, tr)
	if err != nil || again.Trace.Outcome.Verdict != trace.Fail || again.Difference != "" {
		t.Errorf("replay: %+v, %v", again, err)
	}
	idle := resetting{tally{look: func(*lockstep.Run, *lockstep.Control) int { return 0 }}}
	result, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: toy.Cluster(nil), Strategy: toy.Steps{toy.Timer1}, Scenario: idle, Runs: 4})
	if err != nil || result.Verdict() != trace.Vacuous || result.Verdicts[trace.Vacuous] != 4 {
		t.Errorf("an idle scenario: %v, %v", result.Verdicts, err)
	}
	early := resetting{tally{look: func(r *lockstep.Run, h *lockstep.Control) int { h.Finish(); return 1 }}}
	result, err = lockstep.Explore(context.Background(),
		lockstep.Plan{System: toy.Cluster(nil), Strategy: toy.Steps{toy.Timer1}, Scenario: early, Runs: 1})
	if err != nil || result.Steps != 0 || result.Verdict() != trace.Pass {
		t.Errorf("a scenario that finishes: %v steps, %v", result.Steps, err)
	}
	angry := resetting{tally{look: func(r *lockstep.Run, h *lockstep.Control) int { h.Fail(toy.Anything); return 1 }}}
	if tr := toy.One(
		t,
		lockstep.Plan{System: toy.Cluster(nil), Strategy: toy.Steps{toy.Timer1}, Scenario: angry, Spec: toy.Checker{}},
	); tr.Outcome.Steps != 0 {
		t.Errorf("a scenario that fails at once: %v", tr.Outcome)
	}
}

// resetting is a scenario whose count restarts with each run.
type resetting struct{ tally }

func (r resetting) New(i lockstep.Info) lockstep.Director { return resetting{r.tally.New(i).(tally)} }
func (r resetting) Reset(*rand.Rand)                      { *r.n = 0 }

// The engine informs a system of the settling stage for the same steps as in the trace, also in a replay.
func TestSystemHearsOfSettling(t *testing.T) {
	var heard []bool
	talking := toy.Wrapped{
		System: toy.Cluster(nil),
		Do: func(ctx context.Context, d lockstep.Deployment, s *lockstep.Step, out *lockstep.Outbox) error {
			heard = append(heard, out.Settling())
			return d.Do(ctx, s, out)
		},
	}
	plan := lockstep.Plan{System: talking, Strategy: toy.Steps{toy.Timer1, toy.Timer1}, Settle: 10}
	tr, err := lockstep.Record(t.Context(), plan, 0)
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
			t.Errorf("%s: heard %v, the trace has %v", what, heard, want)
		}
	}
	compare("first")
	heard = nil
	if _, err := replay.Run(t.Context(), plan, tr); err != nil {
		t.Fatal(err)
	}
	compare("replayed")
}
