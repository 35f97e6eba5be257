//go:build lockstep_overlay

package bubble_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// watch performs runs of Wait steps, without drawn faults, and requires that they pass.
func watch(t *testing.T, cluster bubble.Cluster) {
	t.Helper()
	cluster.Name, cluster.Pace = "clocks", time.Hour
	plan := lockstep.Plan{System: cluster, Strategy: strategy.Walk{Wait: 1, Steps: 200}, Runs: 3, Seed: 1}
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if f := result.First(); f != nil {
		t.Fatalf("%s\n%s", f.Finding, f.Finding.Stack)
	}
	if result.Verdicts[trace.Pass] != 3 {
		t.Fatalf("%v %v", result.Verdicts, result.Reasons)
	}
}

// A paused node does nothing, however long it takes, and then continues where it was. Timers that should have fired
// fire, and messages that arrived are there.
func TestPause(t *testing.T) {
	beats := map[lockstep.Node][]time.Duration{}
	watch(t, bubble.Cluster{Nodes: 2, Begin: func(w *bubble.World) {
		clear(beats)
		for _, at := range []time.Duration{3, 20} {
			time.AfterFunc(at*time.Second+time.Second/2, func() {
				if err := w.Pause(1, 10*time.Second); err != nil {
					panic(err)
				}
				_ = w.Pause(1, time.Second) // the node is paused: nothing happens
			})
		}
	}, Start: func(n *bubble.Node) error {
		late := make(chan struct{})
		time.AfterFunc(5*time.Second, func() { close(late) })
		for range 10 {
			time.Sleep(time.Second)
			beats[n.Self()] = append(beats[n.Self()], n.World().Now())
		}
		select {
		case <-late:
		default:
			return fmt.Errorf("a timer of 5s had not fired at %v", n.World().Now())
		}
		return nil
	}})
	var want []time.Duration
	for i := range 10 {
		at := time.Duration(i+1) * time.Second
		if i == 3 {
			at = 13*time.Second + time.Second/2 // the node slept until 4s, and was paused then
		} else if i > 3 {
			at += 9*time.Second + time.Second/2
		}
		want = append(want, at)
	}
	for i := range want { // the second pause, from 20.5s to 30.5s, comes after the last beat
		if beats[1][i] != want[i] || beats[2][i] != time.Duration(i+1)*time.Second {
			t.Fatalf("beats %v, want %v", beats, want)
		}
	}
}

// The wall clock of a node is ahead, and jumps; its monotonic clock and its timers do not.
func TestClockJump(t *testing.T) {
	watch(t, bubble.Cluster{Nodes: 2, Begin: func(w *bubble.World) {
		if err := w.SetClock(1, bubble.ClockError{Ahead: time.Hour}); err != nil {
			panic(err)
		}
		w.Value = time.Now()
		time.AfterFunc(10*time.Second, func() {
			if err := w.SetClock(1, bubble.ClockError{Ahead: -time.Hour}); err != nil {
				panic(err)
			}
		})
	}, Start: func(n *bubble.Node) error {
		ahead := []time.Duration{time.Hour, -time.Hour}
		if n.Self() == 2 {
			ahead = []time.Duration{0, 0}
		}
		begin, truth := time.Now(), n.World().Now()
		if d := begin.Sub(n.World().Value.(time.Time)); d != ahead[0] {
			return fmt.Errorf("the clock is %v ahead, want %v", d, ahead[0])
		}
		deadline := time.Now().Add(15 * time.Second)
		fired := make(chan time.Duration, 1)
		time.AfterFunc(15*time.Second, func() { fired <- n.World().Now() - truth })
		time.Sleep(20 * time.Second)
		if d := time.Now().Round(0).Sub(begin.Round(0)); d != 20*time.Second+ahead[1]-ahead[0] {
			return fmt.Errorf("by the wall clock %v passed", d)
		}
		if d := time.Since(begin); d != 20*time.Second {
			return fmt.Errorf("by the monotonic clock %v passed", d)
		}
		if at := <-fired; at != 15*time.Second || time.Now().Before(deadline) {
			return fmt.Errorf("a timer of 15s fired after %v", at)
		}
		return nil
	}})
}

// The clock of a node runs fast or slowly, and its timers, tickers and sleeps with it.
func TestDrift(t *testing.T) {
	const drift = 100_000 // a tenth
	watch(t, bubble.Cluster{Nodes: 3, Begin: func(w *bubble.World) {
		_ = w.SetClock(1, bubble.ClockError{Drift: drift})
		_ = w.SetClock(2, bubble.ClockError{Drift: -drift})
	}, Start: func(n *bubble.Node) error {
		rate := []float64{1.1, 0.9, 1}[n.Self()-1]
		near := func(what string, got time.Duration, want float64) error {
			if off := float64(got) - want*float64(time.Second); off < -1e5 || off > 1e5 {
				return fmt.Errorf("%s: %v, want %vs", what, got, want)
			}
			return nil
		}
		truth, begin := n.World().Now(), time.Now()
		time.Sleep(99 * time.Second)
		if err := near("sleep", n.World().Now()-truth, 99/rate); err != nil {
			return err
		}
		if err := near("its clock", time.Since(begin), 99); err != nil {
			return err
		}
		truth = n.World().Now()
		<-time.After(10 * time.Second)
		if err := near("timer", n.World().Now()-truth, 10/rate); err != nil {
			return err
		}
		truth = n.World().Now()
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for range 9 {
			<-ticker.C
		}
		return near("ticker", n.World().Now()-truth, 9/rate)
	}})
}

// Faults are drawn, reported and deterministic.
func TestFaults(t *testing.T) {
	cluster := bubble.Cluster{Name: "faults", Nodes: 3, Freeze: &bubble.Freeze{}, Start: func(n *bubble.Node) error {
		for n.Alive() {
			before := time.Now()
			time.Sleep(time.Second)
			if time.Since(before) < time.Second-time.Microsecond { // setting a clock rounds it
				return fmt.Errorf("slept for %v", time.Since(before))
			}
			n.Emit("beat", time.Now().UnixNano())
		}
		return nil
	}, Faults: bubble.Faults{MaxPause: 20 * time.Second, MaxJump: time.Hour, MaxDrift: 200}}
	seen := map[string]int{}
	var all []lockstep.Spec
	for _, event := range []string{bubble.Paused, bubble.Thawed, bubble.ClockSet, "beat"} {
		all = append(
			all,
			spec.OnEvent(event, event,
				func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding { seen[event]++; return nil }),
		)
	}
	plan := lockstep.Plan{
		System:   cluster,
		Strategy: strategy.Walk{Wait: 20, Crash: 1, Restart: 2, Pause: 1, Jump: 1, Steps: 200},
		Spec:     spec.All(all...),
		Runs:     40,
		Seed:     2,
	}
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if f := result.First(); f != nil {
		t.Fatalf("%s\n%s", f.Finding, f.Finding.Stack)
	}
	if seen[bubble.Paused] < 50 || seen[bubble.Thawed] < 20 || seen[bubble.ClockSet] < 100 || seen["beat"] < 300 {
		t.Errorf("seen: %v", seen)
	}
	if r, err := bubble.Repetition(t.Context(), plan, 20); err != nil || r.Same != 20 {
		t.Errorf("%d of 20 runs repeated, the first that did not is %d, %v", r.Same, r.First, err)
	}
}

// A cluster with wrong clocks runs without an engine, too.
func TestBareFaults(t *testing.T) {
	ahead := map[lockstep.Node]time.Duration{}
	cluster := bubble.Cluster{
		Name:   "bare",
		Nodes:  3,
		Faults: bubble.Faults{MaxJump: time.Hour},
		Begin:  func(w *bubble.World) { w.Value = time.Now() },
		Start: func(n *bubble.Node) error {
			ahead[n.Self()] = time.Now().Sub(n.World().Value.(time.Time))
			return nil
		},
	}
	b, err := bubble.NewBare(cluster, &lockstep.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if finding, err := b.Run(1, func() {}); finding != nil || err != nil ||
		ahead[1] == ahead[2] && ahead[2] == ahead[3] {
		t.Errorf("%v, %v: clocks are ahead by %v", finding, err, ahead)
	}
}

// A pause and a jump of a clock are steps. If a run fails because of one, shrinking reduces the run to it, with the
// shortest fault that shows the failure, and the trace replays.
func TestFaultsAreSteps(t *testing.T) {
	sleeper := func(n *bubble.Node) error {
		for n.Alive() {
			begin := time.Now()
			time.Sleep(time.Second)
			end := time.Now()
			if end.Sub(begin) > 4*time.Second {
				n.Emit("late", nil)
			}
			if off := end.Round(0).Sub(begin.Round(0)) - end.Sub(begin); off.Abs() > time.Minute {
				n.Emit("off", nil)
			}
		}
		return nil
	}
	for _, c := range []struct {
		event   string
		kind    trace.Kind
		events  string
		mildest string // the mildest fault that shows it; for a jump it depends on the clock before
	}{{"late", trace.Pause, bubble.Paused, "4.0625s"}, {"off", trace.Jump, bubble.ClockSet, ""}} {
		t.Run(c.event, func(t *testing.T) {
			cluster := bubble.Cluster{
				Name:   "sleeper",
				Nodes:  3,
				Freeze: &bubble.Freeze{},
				Pace:   10 * time.Second,
				Start:  sleeper,
				Faults: bubble.Faults{MaxPause: 20 * time.Second, MaxJump: time.Hour},
			}
			never := spec.OnEvent(c.event, c.event, func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding {
				return &lockstep.Finding{Text: "it happened"}
			})
			plan := lockstep.Plan{
				System:   cluster,
				Strategy: strategy.Walk{Wait: 20, Crash: 1, Restart: 2, Pause: 1, Jump: 1, Steps: 100},
				Spec:     never,
				Runs:     50,
				Seed:     1,
			}
			small := shrunk(t, plan)
			listed := texts(&trace.Trace{Records: small.Trace.Records[1:]}, c.events) // clocks are wrong from the start
			for _, r := range small.Trace.Records[1:] {
				if r.Step.Kind != c.kind && r.Step.Kind != trace.Wait {
					t.Errorf("the shrunk run has the step %s", r.Step)
				}
			}
			if len(listed) != 1 || !strings.HasPrefix(listed[0], c.mildest) {
				t.Errorf("left is %q, want %q", listed, c.mildest)
			}
			again, err := replay.Run(t.Context(), plan, small.Trace)
			if err != nil || again.Trace.Outcome.Verdict != trace.Fail || again.Difference != "" {
				t.Errorf("replayed: %+v, %v", again, err)
			}
		})
	}
}
