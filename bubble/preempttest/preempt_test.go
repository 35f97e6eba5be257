//go:build lockstep_points

package preempttest

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// campaign is a plan in which two goroutines of a node increment a value, the second after a delay.
func campaign(kind func() planted, delay time.Duration, options bubble.FaultOptions) lockstep.Plan {
	increments := func(n *bubble.Node) error {
		v, done := kind(), make(chan bool, 2)
		for i := range 2 {
			go func() {
				if i > 0 && delay > 0 {
					time.Sleep(delay)
				}
				v.add()
				done <- true
			}()
		}
		<-done
		<-done
		n.Emit("sum", v.value())
		return nil
	}
	lost := spec.OnEvent("lost-update", "sum", func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		if e.Value.(int) != 2 {
			return &lockstep.Finding{Text: fmt.Sprintf("the sum of two increments is %v", e.Value)}
		}
		return nil
	})
	plan := plan(increments, options)
	plan.Spec = lost
	return plan
}

// plan is one for a cluster of one node.
func plan(start func(n *bubble.Node) error, options bubble.FaultOptions) lockstep.Plan {
	return lockstep.Plan{
		System: bubble.Cluster{Name: "planted", Nodes: 1, Pace: time.Second, Start: start, FaultOptions: options},
		// what is late is in a step of its own
		Strategy:  strategy.Walk{Wait: 1, Steps: 5},
		Seed:      1,
		KeepGoing: true,
	}
}

// explored is the result of a campaign whose runs must repeat.
func explored(t *testing.T, plan lockstep.Plan) *lockstep.Result {
	t.Helper()
	r, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Divergences)+r.Verdicts[trace.Flaky] > 0 || r.Checked[0].N == 0 {
		t.Fatalf("%d runs: %v, %d divergences, %d were checked", r.Runs, r.Verdicts, len(r.Divergences), r.Checked[0].N)
	}
	return r
}

// Every kind of race is found with preemption, and without it never. Programs without a race have no finding.
func TestPlanted(t *testing.T) {
	count := func(kind func() planted, options bubble.FaultOptions) int {
		plan := campaign(kind, 0, options)
		plan.Runs = 200
		return explored(t, plan).Findings()
	}
	with := bubble.FaultOptions{Preempt: 0.1}
	for name, kind := range races {
		found, control := count(kind, with), count(kind, bubble.FaultOptions{})
		if t.Logf("%s: %d of 200 runs, without preemption %d", name, found, control); found == 0 || control > 0 {
			t.Errorf("%s: %d findings with preemption, and %d without", name, found, control)
		}
	}
	long := bubble.FaultOptions{Preempt: 0.2, PreemptTime: bubble.Delay{Max: time.Second}}
	for name, kind := range correct {
		if a, b := count(kind, with), count(kind, long); a+b > 0 {
			t.Errorf("%s is correct: %d findings, and %d with long preemptions", name, a, b)
		}
	}
}

// A goroutine that stops long enough is overtaken by one that was not ready yet when it stopped.
func TestTime(t *testing.T) {
	const delay = 100 * time.Millisecond
	for text, want := range map[string]bool{"0s": false, "50ms": false, "1ms..1s": true} {
		options := bubble.FaultOptions{Preempt: 0.02}
		if err := options.PreemptTime.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		plan := campaign(races["memory"], delay, options)
		plan.Runs = 300
		if n := explored(t, plan).Findings(); (n > 0) != want {
			t.Errorf("preemptions of %s, the second increment after %v: %d findings, want some: %v", text, delay, n,
				want)
		}
	}
}

// record records a run of a plan.
func record(t *testing.T, plan lockstep.Plan, number int) *trace.Trace {
	t.Helper()
	runner, err := lockstep.NewRunner(plan)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	tr, err := runner.Record(t.Context(), number, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// draws are those of the scheduler in a run.
func draws(tr *trace.Trace) (list []uint64) {
	for _, r := range tr.Records {
		for _, d := range r.Draws {
			if d.Goroutine != 0 {
				list = append(list, d.N)
			}
		}
	}
	return list
}

// Findings shrink to very few preemptions, most of them to one, and replay.
func TestShrink(t *testing.T) {
	ones := 0
	for name, kind := range races {
		plan := campaign(func() planted { return noisy{kind()} }, 0, bubble.FaultOptions{Preempt: 0.03})
		plan.Runs, plan.KeepGoing = 2000, false
		found := explored(t, plan).First()
		if found == nil {
			t.Errorf("%s: found nothing", name)
			continue
		}
		small, err := shrink.Run(t.Context(), plan, found.Trace, shrink.Options{Attempts: 500})
		if err != nil {
			t.Fatal(err)
		}
		before, after := above(draws(found.Trace)), above(draws(small.Trace))
		if t.Logf("%s: %d draws above 0, shrunk %d", name, before, after); after == 1 {
			ones++
		}
		if before < 20 || after < 1 || after > 5 {
			t.Errorf("%s: the finding has %d draws above 0, shrunk %d, want many, and 1 to 5", name, before, after)
		}
		for _, tr := range []*trace.Trace{found.Trace, small.Trace} {
			again, err := replay.Run(t.Context(), plan, tr)
			if err != nil {
				t.Fatal(err)
			}
			if again.Difference != "" || !slices.Equal(draws(again.Trace), draws(tr)) ||
				again.Trace.Outcome.Verdict != trace.Fail {
				t.Errorf("%s: replay has the draws %d and the outcome %v, want %d: %s", name, draws(again.Trace),
					again.Trace.Outcome, draws(tr), again.Difference)
			}
		}
	}
	if ones*2 <= len(races) {
		t.Errorf("%d of %d findings have one preemption", ones, len(races))
	}
}

// above counts draws above 0.
func above(list []uint64) (n int) {
	for _, d := range list {
		if d > 0 {
			n++
		}
	}
	return n
}

// A loop with millions of points makes few draws.
func TestHotLoop(t *testing.T) {
	const points = 5_000_000
	tr := record(t, plan(func(*bubble.Node) error {
		m := &memory{}
		for range points {
			m.add()
		}
		return nil
	}, bubble.FaultOptions{Preempt: 0.5}), 0)
	if n := len(draws(tr)); n < 64 || n > 64*25 {
		t.Errorf("%d draws", n)
	}
}

// What the engine does is no point, nor what a program does outside of runs, even if that is in a package with points.
func TestEngine(t *testing.T) {
	work := func() {
		for range 1000 {
			(&held{}).add()
		}
	}
	p := plan(func(n *bubble.Node) error {
		n.OnQuiescent(func() bool { work(); return false })
		return nil
	}, bubble.FaultOptions{Preempt: 0.5})
	c := p.System.(bubble.Cluster)
	c.Begin = func(*bubble.World) { work() }
	p.System = c
	work()
	if n := len(draws(record(t, p, 0))); n > 20 {
		t.Errorf("%d draws, and the node has a few points", n)
	}
}

// A goroutine that holds a lock does not stop for a time: functions that the engine calls may need the lock.
func TestLocked(t *testing.T) {
	p := plan(func(n *bubble.Node) error {
		var mutex sync.Mutex
		value := 0
		n.SetState(func() string {
			mutex.Lock()
			defer mutex.Unlock()
			return strconv.Itoa(value)
		})
		for range 20 {
			mutex.Lock()
			value++
			mutex.Unlock()
			time.Sleep(100 * time.Millisecond)
		}
		return nil
	}, bubble.FaultOptions{Preempt: 0.3, PreemptTime: bubble.Delay{Min: time.Second, Max: time.Second}})
	for i := range 20 {
		if tr := record(t, p, i); tr.Outcome.Verdict != trace.Pass {
			t.Fatalf("run %d: %v", i, tr.Outcome)
		}
	}
}

// deep adds a value in frames that have pointers into the stack, so that its stack grows and is scanned.
//
//go:noinline
func deep(h *held, depth int) int {
	var own [16]*int
	for i := range own {
		own[i] = &depth
	}
	if depth > 0 {
		return deep(h, depth-1) + *own[depth%len(own)] - depth
	}
	h.add()
	return 1
}

// Goroutines that stop at points may freeze there with their node, and the garbage collector finds what they hold.
func TestFrozen(t *testing.T) {
	p := plan(func(n *bubble.Node) error {
		h := &held{}
		for range 4 {
			go func() {
				for i := range 50 {
					if got := deep(h, i%20); got != 1 {
						n.Emit("sum", got)
					}
					time.Sleep(50 * time.Millisecond)
				}
			}()
		}
		for n.Context().Err() == nil {
			runtime.GC()
			time.Sleep(300 * time.Millisecond)
		}
		return nil
	}, bubble.FaultOptions{Preempt: 0.02, PreemptTime: bubble.Delay{Max: 2 * time.Second}})
	c := p.System.(bubble.Cluster)
	c.Nodes, c.Freeze = 3, &bubble.Freeze{}
	p.System, p.Strategy, p.Runs = c, strategy.Walk{Wait: 5, Crash: 1, Restart: 2, Steps: 60}, 15
	p.Spec = spec.OnEvent("sums", "sum", func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		return &lockstep.Finding{Text: "the sum is " + e.Text}
	})
	r, err := lockstep.Explore(t.Context(), p)
	if err != nil || r.Findings() > 0 || len(r.Divergences) > 0 {
		t.Errorf("%v, %v", r.Problems(), err)
	}
}

// Runs are the same in two processes, and other runs before them make no difference.
func TestSame(t *testing.T) {
	t.Setenv("LOCKSTEP_PROCESSES", "2")
	processes.Same(t, func(process int) (all []string) {
		var long bubble.Delay
		if err := long.UnmarshalText([]byte("0s..1s")); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"early unlock", "map"} {
			plan := campaign(races[kind], time.Millisecond, bubble.FaultOptions{Preempt: 0.1, PreemptTime: long})
			plan.Seed = uint64(1000 + process)
			if _, err := bubble.Digests(t.Context(), plan, process); err != nil {
				t.Fatal(err)
			}
			plan.Seed = 5
			digests, err := bubble.Digests(t.Context(), plan, 20)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, digests...)
		}
		return all
	})
}
