package lockstep_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// A monitor may return the same finding in every run. Each run gets its own copy, with the step at which that run
// failed.
func TestFindingsAreValues(t *testing.T) {
	shared := &lockstep.Finding{Property: "checker", Text: "shared", Values: []string{"v"}}
	spec := toy.Checker{OnStep: func(r *lockstep.Run) *lockstep.Finding {
		if len(r.Events()) > 0 {
			return shared
		}
		return nil
	}}
	result := enginetest.Explore(t,
		lockstep.Plan{System: toy.Cluster(nil), Strategy: strategy.DefaultWalk, Spec: spec, Runs: 100, KeepGoing: true})
	if len(result.Failures) < 90 {
		t.Fatalf("%d findings", len(result.Failures))
	}
	steps := map[int]bool{}
	for _, f := range result.Failures {
		if f.Finding.Step != f.Trace.Outcome.Steps || f.Flaky != "" {
			t.Errorf("run %d: step %d, its trace has %d (%s)", f.Run, f.Finding.Step, f.Trace.Outcome.Steps, f.Flaky)
		}
		steps[f.Finding.Step] = true
	}
	if len(steps) < 3 || shared.Step != 0 {
		t.Errorf("steps %v: the test needs runs that fail at different ones; the shared finding has step %d", steps,
			shared.Step)
	}
}

// digest is the digest of one run of the toy.
func digest(t *testing.T, system lockstep.System, steps ...lockstep.Step) uint64 {
	t.Helper()
	return enginetest.Explore(t, lockstep.Plan{System: system, Strategy: toy.Steps(steps), Runs: 1}).Digest
}

// The digest distinguishes cuts in one direction from cuts in two, types of messages and of events, forged bodies,
// and waits of different lengths.
func TestDigestCoversWhatHappened(t *testing.T) {
	cut := lockstep.Step{Kind: trace.Cut, From: 1, To: 2}
	oneWay := cut
	oneWay.OneWay = true
	if digest(t, toy.Cluster(nil), cut) == digest(t, toy.Cluster(nil), oneWay) {
		t.Error("a one-way cut and a two-way one have the same digest")
	}
	typed := func(kind string) lockstep.System {
		c := toy.Cluster(nil)
		c.Type = func(int) string { return kind }
		return c
	}
	if digest(t, typed("Vote"), toy.Timer1) == digest(t, typed("Veto"), toy.Timer1) {
		t.Error("messages of two types have the same digest")
	}
	emits := func(event string) lockstep.System {
		return toy.Cluster(func(c *sim.Context[int], _ int) { c.Emit(event, nil) })
	}
	steps := []lockstep.Step{toy.Timer1, toy.Deliver(1)}
	if digest(t, emits("elected"), steps...) == digest(t, emits("deposed"), steps...) {
		t.Error("events of two types, equally long, have the same digest")
	}
	eventAt := func(n lockstep.Node) lockstep.System {
		return toy.Wrapped{System: toy.Cluster(nil), Do: func(ctx context.Context, d lockstep.Deployment,
			s *lockstep.Step, out *lockstep.Outbox) error {
			out.Event(lockstep.Event{Node: n, Type: "elected"})
			return d.Do(ctx, s, out)
		}}
	}
	if digest(t, eventAt(1), toy.Timer1) == digest(t, eventAt(2), toy.Timer1) {
		t.Error("events at two nodes have the same digest")
	}
	waits := toy.Wrapped{
		System: toy.Cluster(nil),
		Info:   func(i *lockstep.Info) { i.Supports |= trace.KindsOf(trace.Wait) },
	}
	if digest(t, waits, lockstep.Step{Kind: trace.Wait, For: 1}) ==
		digest(t, waits, lockstep.Step{Kind: trace.Wait, For: 2}) {
		t.Error("waits of two lengths have the same digest")
	}
}

// A serial system never has two deployments at a time, though failing runs are repeated and broken deployments
// replaced.
func TestSerial(t *testing.T) {
	var alive, most atomic.Int32
	count := toy.Wrapped{System: toy.Cluster(func(c *sim.Context[int], m int) {
		if m == 2 {
			panic("two")
		}
	}), Info: func(i *lockstep.Info) { i.Serial = true },
		Placed: func(*lockstep.Env) error { most.Store(max(most.Load(), alive.Add(1))); return nil },
		Closed: func() { alive.Add(-1) }}
	for _, repeats := range []lockstep.Determinism{lockstep.Deterministic, lockstep.BestEffort} {
		system := count
		system.Info = func(i *lockstep.Info) { i.Serial, i.Determinism = true, repeats }
		result := enginetest.Explore(
			t,
			lockstep.Plan{
				System:    system,
				Strategy:  strategy.DefaultWalk,
				Runs:      60,
				Workers:   4,
				KeepGoing: true,
				Keep:      5,
			},
		)
		if len(result.Failures) != 5 || most.Load() != 1 || alive.Load() != 0 {
			t.Errorf("%d findings, %d deployments at once, %d left", len(result.Failures), most.Load(), alive.Load())
		}
	}
}

// Each deployment has its worker's number and a directory of its own, which is removed afterwards.
func TestPlace(t *testing.T) {
	var mutex sync.Mutex
	dirs := map[string]int{}
	scratch := t.TempDir()
	system := toy.Wrapped{System: toy.Cluster(nil), Placed: func(p *lockstep.Env) error {
		dir, err := p.Dir()
		if err != nil {
			return err
		}
		if again, _ := p.Dir(); again != dir {
			t.Errorf("two directories %s and %s", dir, again)
		}
		mutex.Lock()
		defer mutex.Unlock()
		dirs[dir] = p.Worker
		return os.WriteFile(dir+"/file", nil, 0o666)
	}}
	enginetest.Explore(t,
		lockstep.Plan{System: system, Strategy: strategy.DefaultWalk, Runs: 400, Workers: 2, Scratch: scratch})
	workers := map[int]bool{}
	for dir, worker := range dirs {
		workers[worker] = true
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
	if len(dirs) != 2 || len(workers) != 2 {
		t.Errorf("directories by worker: %v", dirs)
	}
	if left, _ := os.ReadDir(scratch); len(left) != 0 {
		t.Errorf("%d things left in the scratch directory", len(left))
	}
	missing := lockstep.Plan{System: system, Strategy: strategy.DefaultWalk, Scratch: scratch + "/none", Workers: 1}
	if err := fails(t, missing); !strings.Contains(err, "toy cannot be deployed: lockstep: no directory for worker 0") {
		t.Error(err)
	}
}

// An inconclusive run is unknown with its reason, its deployment is replaced, and the campaign continues.
func TestInconclusive(t *testing.T) {
	deployed, steps := 0, 0
	system := toy.Wrapped{System: toy.Cluster(nil), Placed: func(*lockstep.Env) error { deployed++; return nil },
		Do: func(ctx context.Context, d lockstep.Deployment, s *lockstep.Step, out *lockstep.Outbox) error {
			if steps++; steps%100 == 0 {
				return fmt.Errorf("node 2: %w", &lockstep.Inconclusive{Reason: "process 2 died"})
			}
			return d.Do(ctx, s, out)
		}}
	plan := lockstep.Plan{
		System:   system,
		Strategy: strategy.Walk{Deliver: 5, Timer: 1, Steps: 20},
		Runs:     100,
		Workers:  1,
	}
	result := enginetest.Explore(t, plan)
	n := result.Verdicts[trace.Unknown]
	if result.Runs != 100 || n < 15 || result.Inconclusive != n || result.Reasons["process 2 died"] != n ||
		deployed < n ||
		deployed > n+1 ||
		result.Verdict() != trace.Unknown {
		t.Errorf("%d runs, %v, %v, %d inconclusive, %d deployments", result.Runs, result.Verdicts, result.Reasons,
			result.Inconclusive, deployed)
	}
	// Too many inconclusive runs are an error, which comes with the findings so far.
	system.Do = func(context.Context, lockstep.Deployment, *lockstep.Step, *lockstep.Outbox) error {
		return &lockstep.Inconclusive{Reason: "not quiescent in 5s"}
	}
	plan.System, plan.MaxInconclusive = system, 3
	result, err := lockstep.Explore(t.Context(), plan)
	if err == nil ||
		err.Error() != "lockstep: 4 of 4 runs of toy are inconclusive, where at most 3 are tolerated; "+
			"e.g. run 0: not quiescent in 5s" ||
		result.Runs != 4 {
		t.Errorf("%v after %d runs", err, result.Runs)
	}
	// So are several in a row, however many good runs came before.
	steps = 0
	system.Do = func(ctx context.Context, d lockstep.Deployment, s *lockstep.Step, out *lockstep.Outbox) error {
		if steps++; steps > 1000 {
			return &lockstep.Inconclusive{Reason: "the disk is full"}
		}
		return d.Do(ctx, s, out)
	}
	plan.System = system
	result, err = lockstep.Explore(t.Context(), plan)
	if good := result.Verdicts[trace.Pass]; err == nil || good < 40 ||
		err.Error() != fmt.Sprintf(
			"lockstep: the last 4 of %d runs of toy are inconclusive, where at most 3 are tolerated; "+
				"e.g. run %d: the disk is full",
			good+4,
			good,
		) {
		t.Errorf("%v after %d runs, %d of them good", err, result.Runs, good)
	}
}

// Canceling ends a hanging run: it is interrupted, neither an error nor inconclusive.
func TestCancelEndsAHangingRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	system := toy.Wrapped{
		System: toy.Cluster(nil),
		Do: func(ctx context.Context, d lockstep.Deployment, s *lockstep.Step, out *lockstep.Outbox) error {
			if runs++; runs == 200 {
				cancel()
				<-ctx.Done() // like a server that does not answer
				return &lockstep.Inconclusive{Reason: "no answer: " + ctx.Err().Error()}
			}
			return d.Do(ctx, s, out)
		},
	}
	result, err := lockstep.Explore(ctx,
		lockstep.Plan{System: system, Strategy: strategy.Walk{Deliver: 1, Timer: 1, Steps: 50}, Runs: 1000, Workers: 1})
	if err != nil || !result.Interrupted || result.Runs != 3 || result.Inconclusive != 0 {
		t.Errorf("%d runs, interrupted %v, %d inconclusive, %v", result.Runs, result.Interrupted, result.Inconclusive,
			err)
	}
}

// Canceling also ends a run of the engine's own that is too long to wait for.
func TestCancelEndsALongRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	spec := toy.Checker{OnStep: func(r *lockstep.Run) *lockstep.Finding {
		if r.Steps() == 5000 {
			cancel()
		}
		if r.Steps() > 20_000 {
			t.Error("the run continues")
			return &toy.Anything
		}
		return nil
	}}
	result, err := lockstep.Explore(
		ctx,
		lockstep.Plan{
			System:   toy.Cluster(nil),
			Strategy: strategy.Walk{Deliver: 1, Timer: 1},
			Spec:     spec,
			Runs:     2,
			Workers:  1,
		},
	)
	if err != nil || !result.Interrupted || result.Runs != 0 || result.Verdict() != trace.Unknown {
		t.Errorf("%+v, %v", result, err)
	}
}

// A finding of a best-effort system is repeated by the names of its messages and reported as k of n; a finding that
// never fails again is flaky.
func TestBestEffort(t *testing.T) {
	failures := func(share int) *lockstep.Failure {
		calls := 0
		rough := toy.Wrapped{System: toy.Cluster(nil), Info: func(i *lockstep.Info) { i.Determinism = lockstep.BestEffort }}
		spec := toy.Checker{AtEnd: func(*lockstep.Run) *lockstep.Finding {
			if calls++; calls == 1 || share > 0 && calls%share == 0 {
				return &toy.Anything
			}
			return nil
		}}
		result := enginetest.Explore(
			t,
			lockstep.Plan{
				System:      rough,
				Strategy:    strategy.Walk{Deliver: 2, Drop: 1, Timer: 1, Steps: 30},
				Spec:        spec,
				Runs:        1,
				Workers:     1,
				Repetitions: 10,
			},
		)
		return result.First()
	}
	if f := failures(2); f.Failed != 5 || f.Repeated != 10 || f.Confirmed() != "failed in 5 of 10 repetitions" ||
		f.Flaky != "" ||
		f.Trace == nil {
		t.Errorf("%+v", f)
	}
	if f := failures(0); f.Failed != 0 || f.Repeated != 10 || f.Flaky != "it passed in all repetitions" {
		t.Errorf("%+v", f)
	}
}

// A share of the passing runs is rerun if the system wants it. A run that differs makes the campaign flaky and is
// reported with the first difference.
func TestRecheck(t *testing.T) {
	for _, dice := range []bool{false, true} {
		rolled := 0
		doubtful := toy.Wrapped{System: toy.Cluster(nil), Info: func(i *lockstep.Info) { i.Recheck = 5 },
			Do: func(ctx context.Context, d lockstep.Deployment, s *lockstep.Step, out *lockstep.Outbox) error {
				if rolled++; dice && s.Kind == trace.Timer {
					out.Event(lockstep.Event{Node: s.Node, Type: fmt.Sprintf("rolled-%d", rolled)})
				}
				return d.Do(ctx, s, out)
			}}
		result := enginetest.Explore(
			t,
			lockstep.Plan{
				System:   doubtful,
				Strategy: strategy.Walk{Deliver: 2, Timer: 1, Steps: 30},
				Runs:     20,
				Workers:  1,
			},
		)
		switch {
		case result.Runs != 20 || result.Rechecked != 4:
			t.Errorf("%d of %d runs were rerun", result.Rechecked, result.Runs)
		case !dice && (len(result.Divergences) > 0 || result.Verdict() != trace.Pass):
			t.Errorf("%v: %v", result.Verdict(), result.Divergences)
		case dice && (len(result.Divergences) != 4 || result.Verdict() != trace.Flaky ||
			result.Divergences[1].Run != 9 || !strings.Contains(result.Divergences[1].Difference, "rolled-")):
			t.Errorf("%v: %v", result.Verdict(), result.Divergences)
		}
	}
}

// The repetitions take the recorded steps, those of the scenario included.
func TestBestEffortFollowsTheRecording(t *testing.T) {
	var made []string
	rough := toy.Wrapped{System: toy.Cluster(nil), Info: func(i *lockstep.Info) { i.Determinism = lockstep.BestEffort }}
	words := ""
	spec := toy.Checker{OnStep: func(r *lockstep.Run) *lockstep.Finding {
		if r.Steps() == 0 {
			words = ""
		}
		words += r.Last().String() + ";"
		return nil
	}, AtEnd: func(*lockstep.Run) *lockstep.Finding {
		made = append(made, words)
		return &toy.Anything
	}}
	dropper := resetting{tally{look: func(r *lockstep.Run, h *lockstep.Control) int {
		for _, m := range r.Sent() {
			if m.To == 3 {
				h.Do(lockstep.Step{Kind: trace.Drop, Msg: m.ID})
			}
		}
		return 1
	}}}
	enginetest.Explore(
		t,
		lockstep.Plan{
			System:      rough,
			Strategy:    strategy.Walk{Deliver: 2, Timer: 1, Steps: 20},
			Spec:        spec,
			Scenario:    dropper,
			Runs:        1,
			Workers:     1,
			Repetitions: 3,
		},
	)
	same := slices.IndexFunc(made, func(s string) bool { return s != made[0] }) < 0
	if len(made) != 4 || !strings.Contains(made[0], "drop") || !same {
		t.Errorf("steps of the run and of its repetitions:\n%s", strings.Join(made, "\n"))
	}
}

// On one clock, only the earliest timer may fire.
func TestOneClock(t *testing.T) {
	two := sim.Cluster[int]{
		Name:  "clocks",
		Nodes: 2,
		New:   func(self lockstep.Node, _ int) sim.Node[int] { return ticker{self} },
	}
	one := toy.Wrapped{System: two, Info: func(i *lockstep.Info) { i.OneClock = true }}
	timer2 := lockstep.Step{Kind: trace.Timer, Node: 2}
	if err := fails(t, lockstep.Plan{System: one, Strategy: toy.Steps{timer2}}); !strings.Contains(err,
		"another timer is due before it, and all nodes share one clock") {
		t.Error(err)
	}
	// independent timers: any may
	enginetest.Explore(t, lockstep.Plan{System: two, Strategy: toy.Steps{timer2}, Runs: 1})
	spec := toy.Checker{OnStep: func(r *lockstep.Run) *lockstep.Finding {
		if r.Last().Kind == trace.Timer && r.Now()%10 != 0 && r.Last().Node == 1 || r.Now() > 15*trace.Time(r.Steps()) {
			return &lockstep.Finding{Property: "checker", Text: fmt.Sprintf("node %d at %d", r.Last().Node, r.Now())}
		}
		return nil
	}}
	if result := enginetest.Explore(t,
		lockstep.Plan{System: one, Strategy: strategy.DefaultWalk, Spec: spec, Runs: 50}); result.First() != nil {
		t.Error(result.First().Finding)
	}
}

// ticker's timer fires every 10 units, that of node 2 every 15.
type ticker struct{ self lockstep.Node }

func (t ticker) Start(c *sim.Context[int])                   { c.SetTimeout(trace.Time(5 + 5*t.self)) }
func (t ticker) Timeout(c *sim.Context[int])                 { t.Start(c) }
func (ticker) Receive(*sim.Context[int], lockstep.Node, int) {}
func (ticker) Request(*sim.Context[int], int32, string)      {}

// A held message on a FIFO link blocks the messages sent after it, and nothing else; dropping or releasing it
// unblocks them.
func TestHoldOnFIFO(t *testing.T) {
	fifo := toy.Cluster(nil)
	fifo.FIFO = true
	for _, c := range []struct {
		name string
		free func(h *lockstep.Control)
		want []string
	}{
		{"held", func(*lockstep.Control) {}, []string{"1 got 1", "1 got 3", "3 got 1", "3 got 3"}},
		{
			"released",
			func(h *lockstep.Control) { h.Release(2) },
			[]string{"1 got 1", "2 got 1", "2 got 3", "1 got 3", "3 got 1", "3 got 3"},
		},
		{
			"dropped",
			func(h *lockstep.Control) { h.Do(lockstep.Step{Kind: trace.Drop, Msg: 2}) },
			[]string{"1 got 1", "1 got 3", "2 got 3", "3 got 1", "3 got 3"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			idle := 0
			sc := resetting{tally{look: func(r *lockstep.Run, h *lockstep.Control) int {
				if r.Last().Kind == trace.Start {
					idle = 0
				}
				if len(r.Sent()) > 0 && r.Sent()[0].ID == 1 {
					h.Hold(2)
				}
				if idle++; r.Steps() == 3 {
					c.free(h)
				}
				return 1
			}}}
			tr := toy.One(t, lockstep.Plan{System: fifo, Strategy: eager{}, Scenario: sc})
			got, want := toy.Events(tr), slices.Clone(c.want)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// eager fires two timers, with a delivery to node 1 between them. Then it delivers any deliverable message, the
// newest first.
type eager struct{ toy.Steps }

func (eager) New(lockstep.Info) lockstep.Scheduler { return &eagerness{} }

type eagerness struct{ silentScheduler }

func (*eagerness) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	switch turn.Steps() {
	case 0, 2:
		*next = toy.Timer1
		return true
	case 1:
		*next = toy.Deliver(1)
		return true
	}
	for _, id := range slices.Backward(turn.FreeMessages()) {
		if turn.Deliverable(id) {
			*next = toy.Deliver(id)
			return true
		}
	}
	return false
}

type silentScheduler struct{}

func (silentScheduler) Reset(*lockstep.Start)                   {}
func (silentScheduler) Report(bool) (a lockstep.SchedulerStats) { return a }

// A message that the system itself loses is gone, counts as lost, and appears as lost in the trace.
func TestLose(t *testing.T) {
	breaks := toy.Wrapped{
		System: toy.Cluster(nil),
		Do: func(ctx context.Context, d lockstep.Deployment, s *lockstep.Step, out *lockstep.Outbox) error {
			if s.Kind == trace.Crash { // its connections break
				out.Lose(1)
				out.Lose(2)
				out.Lose(2)
			}
			return d.Do(ctx, s, out)
		},
	}
	lostBefore := 0
	spec := toy.Checker{AtEnd: func(r *lockstep.Run) *lockstep.Finding {
		lostBefore = r.Losses()
		if len(r.FreeMessages()) != 0 || r.IsFree(2) {
			return &lockstep.Finding{Property: "checker", Text: "still in flight"}
		}
		return &toy.Anything
	}}
	tr := toy.One(
		t,
		lockstep.Plan{
			System:   breaks,
			Strategy: toy.Steps{toy.Timer1, toy.Deliver(3), {Kind: trace.Crash, Node: 2}},
			Spec:     spec,
		},
	)
	if tr.Outcome.Finding.Text != "as asked" || !slices.Equal(tr.Records[3].Gone, []trace.ID{1, 2}) || lostBefore != 1 {
		t.Errorf("%v, gone %v, %d lost: node 2 was down already", tr.Outcome.Finding, tr.Records[3].Gone, lostBefore)
	}
}

// Time passes in a Wait, a system may report its own time, and the settling stage waits if a system moves on its own.
func TestWait(t *testing.T) {
	var waited []trace.Time
	moves := toy.Wrapped{System: toy.Cluster(nil), Info: func(i *lockstep.Info) {
		i.Supports, i.Pace = trace.KindsOf(trace.Wait, trace.Crash, trace.Restart), 7
	}, Do: func(_ context.Context, _ lockstep.Deployment, s *lockstep.Step, out *lockstep.Outbox) error {
		waited = append(waited, out.Now())
		out.Advance(out.Now() + 1)
		out.Advance(0) // time never goes back
		return nil
	}}
	steps := toy.Steps{{Kind: trace.Wait, For: 3}, {Kind: trace.Crash, Node: 1}}
	result := enginetest.Explore(t, lockstep.Plan{System: moves, Strategy: steps, Runs: 1, Settle: 4})
	if want := []trace.Time{3, 4, 5, 13, 21, 29}; result.Steps != 6 || !slices.Equal(waited, want) {
		t.Errorf("%d steps at %v, want a restart and three waits of 7: %v", result.Steps, waited, want)
	}
	if err := fails(t, lockstep.Plan{System: moves, Strategy: toy.Steps{{Kind: trace.Wait}}}); !strings.Contains(err,
		"step 1 (wait for 0) is impossible: it must last") {
		t.Error(err)
	}
}

// A system may let nodes pause and their clocks jump, if they are up.
func TestPauseAndJump(t *testing.T) {
	var struck []lockstep.Step
	affected := toy.Wrapped{System: toy.Cluster(nil), Info: func(i *lockstep.Info) {
		i.Supports |= trace.KindsOf(trace.Pause, trace.Jump)
	}, Do: func(ctx context.Context, d lockstep.Deployment, s *lockstep.Step, out *lockstep.Outbox) error {
		if s.Kind == trace.Pause || s.Kind == trace.Jump {
			struck = append(struck, *s)
			return nil
		}
		return d.Do(ctx, s, out)
	}}
	tr, err := lockstep.Record(
		t.Context(),
		lockstep.Plan{
			System:   affected,
			Strategy: strategy.Walk{Pause: 3, Jump: 3, Crash: 1, Restart: 1, Steps: 100},
			Seed:     1,
		},
		0,
	)
	if err != nil {
		t.Fatal(err)
	}
	counts, texts := map[trace.Kind]int{}, map[string]bool{}
	for _, r := range tr.Records {
		counts[r.Step.Kind]++
		texts[r.Text] = true
	}
	if counts[trace.Pause] < 20 || counts[trace.Jump] < 20 || len(struck) != counts[trace.Pause]+counts[trace.Jump] ||
		!texts["2 pause"] ||
		!texts["3 jump"] {
		t.Errorf("%v, %d reached the system", counts, len(struck))
	}
	for _, kind := range []trace.Kind{trace.Pause, trace.Jump} {
		steps := toy.Steps{{Kind: trace.Crash, Node: 2}, {Kind: kind, Node: 2}}
		if err := fails(t, lockstep.Plan{System: affected, Strategy: steps}); !strings.Contains(err,
			"there is no such node, or it is down") {
			t.Error(err)
		}
		if err := fails(
			t,
			lockstep.Plan{System: toy.Cluster(nil), Strategy: toy.Steps{{Kind: kind, Node: 1}}},
		); !strings.Contains(err, "toy supports only") {
			t.Error(err)
		}
	}
	if _, err := (strategy.Walk{Deliver: 1, Pause: 1}).Fit(
		lockstep.Info{Name: "toy", Nodes: 3, Supports: trace.KindsOf(trace.Deliver)}); err == nil ||
		!strings.Contains(err.Error(), "pause") {
		t.Errorf("walk with pauses fits a system without: %v", err)
	}
}

// A deployment that encloses its runs does so for each run, including repeated and panicking ones.
func TestEnclose(t *testing.T) {
	var inside, runs int
	system := enclosing{System: toy.Cluster(func(c *sim.Context[int], m int) {
		if m == 2 {
			panic("two")
		}
	}), inside: &inside, runs: &runs}
	spec := toy.Checker{OnStep: func(*lockstep.Run) *lockstep.Finding {
		if inside != 1 {
			return &lockstep.Finding{Property: "outside", Text: "the run is not enclosed"}
		}
		return nil
	}}
	result := enginetest.Explore(
		t,
		lockstep.Plan{
			System:    system,
			Strategy:  strategy.DefaultWalk,
			Spec:      spec,
			Runs:      30,
			Workers:   1,
			KeepGoing: true,
		},
	)
	if len(result.Failures) == 0 || runs != 30+len(result.Failures) || inside != 0 {
		t.Errorf("%d findings, %d runs enclosed, still inside %d", len(result.Failures), runs, inside)
	}
	for _, f := range result.Failures {
		if f.Finding.Property != "panic" || f.Flaky != "" {
			t.Errorf("%s (%s)", f.Finding, f.Flaky)
		}
	}
}

type enclosing struct {
	lockstep.System
	inside, runs *int
	refuse       func(run func()) (*lockstep.Finding, error) // instead of only calling run
}

func (e enclosing) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	d, err := e.System.Deploy(ctx, p)
	return enclosed{d, e}, err
}

type enclosed struct {
	lockstep.Deployment
	by enclosing
}

func (e enclosed) Capabilities() lockstep.Capabilities {
	a := e.Deployment.Capabilities()
	a.Enclose = func(run func()) (*lockstep.Finding, error) {
		*e.by.inside++
		*e.by.runs++
		defer func() { *e.by.inside-- }()
		if e.by.refuse != nil {
			return e.by.refuse(run)
		}
		run()
		return nil, nil
	}
	return a
}

// The result of an enclosure counts if the run has no finding: a finding about leftovers, or the reason why the run
// was abandoned midway.
func TestEncloseChecks(t *testing.T) {
	for name, test := range map[string]struct {
		refuse func(run func()) (*lockstep.Finding, error)
		want   trace.Verdict
		text   string
	}{
		"left behind": {func(run func()) (*lockstep.Finding, error) {
			run()
			return &lockstep.Finding{Property: "left", Text: "a goroutine"}, nil
		}, trace.Fail, "left: a goroutine"},
		"given up with a finding": {func(func()) (*lockstep.Finding, error) {
			return &lockstep.Finding{Property: "deadlock", Text: "two"}, nil
		}, trace.Fail, "deadlock: two"},
		"given up": {func(func()) (*lockstep.Finding, error) {
			return nil, &lockstep.Inconclusive{Reason: "it spins"}
		}, trace.Unknown, "it spins"},
	} {
		t.Run(name, func(t *testing.T) {
			var inside, runs int
			system := enclosing{System: toy.Cluster(nil), inside: &inside, runs: &runs, refuse: test.refuse}
			tr, err := lockstep.Record(t.Context(), lockstep.Plan{System: system, Strategy: strategy.DefaultWalk}, 0)
			if err != nil {
				t.Fatal(err)
			}
			got := tr.Outcome.Reason
			if f := tr.Outcome.Finding; f != nil {
				got = f.String()
			}
			if tr.Outcome.Verdict != test.want || !strings.Contains(got, test.text) {
				t.Errorf("%s: %s", tr.Outcome.Verdict, got)
			}
		})
	}
}

// A wait lasts as long as it says, unless the system reports that it was shorter.
func TestWaitEndsEarly(t *testing.T) {
	for _, early := range []bool{false, true} {
		var got trace.Time
		spec := toy.Checker{OnStep: func(run *lockstep.Run) *lockstep.Finding { got = run.Now(); return nil }}
		if _, err := lockstep.Record(t.Context(),
			lockstep.Plan{System: waiting{early}, Strategy: strategy.Walk{Wait: 1, Steps: 3}, Spec: spec},
			0); err != nil {
			t.Fatal(err)
		}
		want := trace.Time(300)
		if early {
			want = 3
		}
		if got != want {
			t.Errorf("early %v: the time is %d, want %d", early, got, want)
		}
	}
}

// waiting is a system that only waits, and may stop at once.
type waiting struct{ early bool }

func (waiting) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "waiting", Nodes: 1, Pace: 100, Supports: trace.KindsOf(trace.Wait)}, nil
}
func (w waiting) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) { return w, nil }
func (waiting) Reset(context.Context, uint64, *lockstep.Outbox) error                { return nil }
func (waiting) Capabilities() lockstep.Capabilities                                  { return lockstep.Capabilities{} }
func (waiting) Close() error                                                         { return nil }
func (w waiting) Do(_ context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
	if w.early {
		out.WaitEnded(out.Now() - 99)
	}
	return nil
}

// Texts are made only if a reader wants them, and are truncated if too long.
func TestTexts(t *testing.T) {
	made := 0
	talks := toy.Cluster(nil)
	talks.Text = func(int) string { made++; return strings.Repeat("x", 3*trace.MaxText) }
	plan := lockstep.Plan{System: talks, Strategy: toy.Steps{toy.Timer1, toy.Deliver(1)}, Runs: 20, Workers: 1}
	enginetest.Explore(t, plan)
	if made != 0 {
		t.Errorf("%d texts of runs that no observer reads", made)
	}
	plan.Texts = true
	enginetest.Explore(t, plan)
	if made != 20 {
		t.Errorf("%d texts, want one in each of 20 runs: the messages of a broadcast share theirs", made)
	}
	tr := toy.One(t, plan)
	if text := tr.Records[1].Sent[0].Text; len(text) > trace.MaxText+100 || !strings.HasSuffix(text, "bytes more)") {
		t.Errorf("a text of %d bytes in the trace, ending in %q", len(text), text[len(text)-20:])
	}
}

// A monitor that does not count is not reported as having checked nothing.
func TestNotCountedIsNotZero(t *testing.T) {
	result := enginetest.Explore(t,
		lockstep.Plan{System: toy.Cluster(nil), Strategy: strategy.DefaultWalk, Spec: toy.Checker{}, Runs: 10})
	if len(result.Unchecked()) != 0 || result.Checked[0].N != lockstep.NotCounted {
		t.Errorf("unjudged %q, counted %+v", result.Unchecked(), result.Checked)
	}
}

// A best-effort system may be slower when its run is rerun. The player waits for messages not sent yet, but not
// indefinitely.
func TestPlayerWaits(t *testing.T) {
	for _, c := range []struct {
		slower int
		shows  bool
	}{{1, true}, {4, true}, {40, false}} {
		after := 1
		plan := lockstep.Plan{
			System:   late{&after},
			Strategy: toy.Steps{{Kind: trace.Wait, For: 100}, toy.Deliver(1)},
			Spec: toy.Checker{AtEnd: func(r *lockstep.Run) *lockstep.Finding {
				if len(r.Messages()) > 0 && r.Message(1).Fate == trace.Delivered {
					return &toy.Anything
				}
				return nil
			}},
		}
		recorded := toy.One(t, plan)
		runner, err := lockstep.NewRunnerFor(plan, recorded)
		if err != nil {
			t.Fatal(err)
		}
		after = c.slower
		o, err := runner.Run(t.Context(), 0, lockstep.NewPlayer(trace.ScriptOf(recorded), nil).Wait())
		if err != nil || (o.Finding != nil) != c.shows || o.Steps > 20 {
			t.Errorf("sent after %d waits: %+v, %v", c.slower, o, err)
		}
		runner.Close()
	}
}

// late sends a message after the given number of waits.
type late struct{ after *int }

func (late) Describe() (lockstep.Info, error) {
	return lockstep.Info{
		Name:        "late",
		Nodes:       1,
		Pace:        100,
		Determinism: lockstep.BestEffort,
		Supports:    trace.KindsOf(trace.Wait, trace.Deliver),
	}, nil
}
func (l late) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return &lateDeployment{after: l.after}, nil
}

type lateDeployment struct {
	after *int
	waits int
}

func (l *lateDeployment) Reset(context.Context, uint64, *lockstep.Outbox) error {
	l.waits = 0
	return nil
}

func (l *lateDeployment) Do(_ context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if s.Kind == trace.Wait {
		if l.waits++; l.waits == *l.after {
			out.Send(1, 1, "answer", trace.Tag{})
		}
	}
	return nil
}
func (l *lateDeployment) Capabilities() (a lockstep.Capabilities) { return a }
func (l *lateDeployment) Close() error                            { return nil }
