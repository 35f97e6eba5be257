package strategy_test

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/pbft"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// clock is a spec that calls a function after every step of every run.
type clock struct {
	reset func()
	step  func(run *lockstep.Run)
}

func (clock) Properties() []string                       { return nil }
func (c clock) New(lockstep.Info) lockstep.Monitor       { return c }
func (c clock) Reset()                                   { c.reset() }
func (c clock) Step(run *lockstep.Run) *lockstep.Finding { c.step(run); return nil }
func (clock) End(*lockstep.Run) *lockstep.Finding        { return nil }
func (clock) EventsOnly() bool                           { return false }
func (clock) Conclude(bool) lockstep.Conclusion          { return lockstep.Conclusion{} }

// TestDelayConstant checks that with constant latencies every message is delivered exactly its latency after it was
// sent, and that timers fire when they are due. In smr, timers are set to 10 units of the system, so half a unit of the
// strategy is 5.
func TestDelayConstant(t *testing.T) {
	var sent map[trace.ID]trace.Time
	var due map[lockstep.Node]trace.Time // of the timers that were set before the last step
	delivered, fired := 0, 0
	enginetest.Explore(t, lockstep.Plan{System: smr.Cluster{Nodes: 3}, Runs: 20, Workers: 1,
		Strategy: strategy.Delay{NearMean: 0.5, Steps: 100},
		Spec: clock{
			func() { sent, due = map[trace.ID]trace.Time{}, map[lockstep.Node]trace.Time{} },
			func(run *lockstep.Run) {
				for _, m := range run.Sent() {
					sent[m.ID] = run.Now()
				}
				if last := run.Last(); last.Kind == trace.Deliver {
					delivered++
					if took := run.Now() - sent[last.Msg]; took != 5 {
						t.Fatalf("a message took %d, want 5", took)
					}
				} else if last.Kind == trace.Drop {
					t.Fatal("a message was lost")
				} else if last.Kind == trace.Timer {
					fired++
					if run.Now() != due[last.Node] {
						t.Fatalf("the timer of node %d fired at %d, it was due at %d", last.Node, run.Now(),
							due[last.Node])
					}
				}
				clear(due)
				for n := range run.Timers().All() {
					due[n] = run.TimerAt(n)
				}
			},
		}})
	if delivered < 1000 || fired < 60 {
		t.Errorf("only %d messages arrived and %d timers fired", delivered, fired)
	}
}

// TestDelayFaults checks over many swarm runs that time never goes back and faults stay within their bounds. A cut ends
// before the next cut and a crash before the next crash. Every kind of fault occurs.
func TestDelayFaults(t *testing.T) {
	d := strategy.DefaultDelay
	var now trace.Time
	var cuts, oneWay, crashes int
	cut := false
	total := map[string]int{}
	enginetest.Explore(t, lockstep.Plan{System: smr.Cluster{Nodes: 5, Requests: 2}, Runs: 1000, Strategy: d, Workers: 1,
		Spec: clock{func() { now, cuts, oneWay, crashes, cut = 0, 0, 0, 0, false }, func(run *lockstep.Run) {
			if run.Now() < now {
				t.Fatalf("time went from %d back to %d", now, run.Now())
			}
			now = run.Now()
			last := run.Last()
			total[last.Kind.String()]++
			switch last.Kind {
			case trace.Cut:
				if cut {
					t.Fatal("a cut during a cut")
				}
				cut = true
				cuts++
				if last.OneWay {
					oneWay++
					total["one way"]++
				}
			case trace.Heal:
				cut = false
			case trace.Crash:
				crashes++
				if run.Up().Len() != 4 {
					t.Fatalf("a crash during a crash: only %s are up", run.Up())
				}
			}
			if oneWay > d.OneWay || crashes > d.Crashes || cuts > d.Cuts+d.OneWay+4*d.Flaps {
				t.Fatalf("%d cuts, %d one way, %d crashes", cuts, oneWay, crashes)
			}
		}}})
	for _, kind := range []string{"deliver", "drop", "timer", "request", "cut", "one way", "heal", "crash", "restart"} {
		if total[kind] < 100 {
			t.Errorf("%s occurred %d times", kind, total[kind])
		}
	}
}

// TestDelayFindsItsUnit checks a system whose first timer is set only after a request: latencies, requests and faults
// follow the scale of the timers.
func TestDelayFindsItsUnit(t *testing.T) {
	total := map[trace.Kind]int{}
	result := enginetest.Explore(
		t,
		lockstep.Plan{
			System:    pbft.Cluster{Forgetful: true},
			Runs:      300,
			Strategy:  strategy.DefaultDelay,
			Workers:   1,
			KeepGoing: true,
			Spec:      clock{func() {}, func(run *lockstep.Run) { total[run.Last().Kind]++ }},
		},
	)
	if total[trace.Timer] > 8*total[trace.Deliver] || total[trace.Request] < 3*result.Runs/2 ||
		total[trace.Crash] < 50 ||
		total[trace.Cut] < 50 {
		t.Errorf("steps: %v", total)
	}
	if enginetest.Explore(
		t,
		lockstep.Plan{
			System:   pbft.Cluster{Forgetful: true},
			Runs:     300,
			Strategy: strategy.DefaultDelay,
			Spec:     pbft.Agreement,
		},
	).First() == nil {
		t.Error("nothing found")
	}
}

// Swarm does not draw options that are given.
func TestDelayGiven(t *testing.T) {
	drawn := func(d strategy.Delay) map[string]string {
		result := enginetest.Explore(t,
			lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Runs: 1000, Strategy: d, Spec: smr.Prefix})
		if result.First() == nil {
			t.Fatalf("%v found nothing", d)
		}
		return result.First().Trace.Header.Drawn
	}
	with := strategy.DefaultDelay
	with.Gap, with.FarMean = 20, 3
	if got := drawn(with); got["gap"] != "20" || got["far-mean"] != "3" {
		t.Errorf("drawn is %v", got)
	}
	if got := drawn(strategy.DefaultDelay); got["gap"] == "20" || got["far-mean"] == "3" {
		t.Errorf("without, drawn is %v", got)
	}
}

func ExampleDelay() {
	result, err := lockstep.Explore(t0, lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix,
		Strategy: strategy.DefaultDelay, Runs: 1000})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.First().Finding)
	// Output:
	// prefix: node 2 outputs acfil, but node 2 had output ahjk
}

func ExampleQueues() {
	result, err := lockstep.Explore(t0, lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix,
		Strategy: strategy.DefaultQueues, Runs: 1000})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.First().Finding)
	fmt.Println(result.First().Trace.Header.Drawn)
	// Output:
	// prefix: node 1 outputs cdfil, but node 2 had output cdg
	// map[commit:7 distance:3 drop:6 drops:20 dup:1 dups:9 request:2 run:20 swap:4 timer:1]
}
