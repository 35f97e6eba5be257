package strategy_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// lateness is a spec that never fails and measures how often a message is overtaken. It counts the deliveries of
// messages that were sent after it.
type lateness struct {
	most  *int
	fired []int // by node
}

func (lateness) Properties() []string                     { return nil }
func (l lateness) New(lockstep.Info) lockstep.Monitor     { return &latecomers{lateness: l} }
func (*latecomers) End(*lockstep.Run) *lockstep.Finding   { return nil }
func (*latecomers) EventsOnly() bool                      { return false }
func (*latecomers) Conclude(bool) (c lockstep.Conclusion) { return c }
func (l *latecomers) Reset()                              { l.passed = nil }

type latecomers struct {
	lateness
	passed []int
}

func (l *latecomers) Step(run *lockstep.Run) *lockstep.Finding {
	for len(l.passed) < len(run.Messages()) {
		l.passed = append(l.passed, 0)
	}
	last := run.Last()
	if last.Kind == trace.Timer {
		l.fired[last.Node]++
	}
	if last.Kind == trace.Deliver {
		for _, id := range run.FreeMessages() {
			if id < last.Msg {
				l.passed[id-1]++
				*l.most = max(*l.most, l.passed[id-1])
			}
		}
	}
	return nil
}

// While timers fire, a delayed message is late and not lost. No message is overtaken more often than the strategy
// allows, on systems whose timers fire indefinitely. Without the bound, a message can be overtaken for the whole run.
func TestOvertakingIsBounded(t *testing.T) {
	systems := []lockstep.System{
		sim.Cluster[int]{Name: "beaters", Nodes: 3, New: func(lockstep.Node, int) sim.Node[int] { return beater{} }},
		raft.Cluster{Requests: 5}, smr.Cluster{Nodes: 3}}
	for _, system := range systems {
		for _, c := range []struct{ late, atLeast, atMost int }{
			{strategy.Unbounded, 400, 2000},
			{0, 31, strategy.LateBounds[2]},
			{20, 15, 20},
			{1, 1, 1},
		} {
			most := 0
			s := strategy.PCTCP{Depth: 6, Events: 200, Late: c.late, Steps: 2000}
			enginetest.Explore(
				t,
				lockstep.Plan{
					System:   system,
					Strategy: s,
					Spec:     lateness{&most, make([]int, 10)},
					Runs:     50,
					Workers:  1,
				},
			)
			if most < c.atLeast || most > c.atMost {
				t.Errorf("%T with %s: a message was overtaken by %d others, want %d to %d", system, s, most, c.atLeast,
					c.atMost)
			}
		}
	}
}

// A delayed timer is late, too, and the clock of its node continues: in every run all nodes tick about equally often.
func TestClocksKeepUp(t *testing.T) {
	system := sim.Cluster[int]{
		Name:  "beaters",
		Nodes: 3,
		New:   func(lockstep.Node, int) sim.Node[int] { return beater{} },
	}
	for seed := range uint64(50) {
		most, fired := 0, make([]int, 4)
		enginetest.Explore(
			t,
			lockstep.Plan{
				System:   system,
				Strategy: strategy.PCTCP{Depth: 10, Events: 40, Steps: 1000},
				Spec:     lateness{&most, fired},
				Seed:     seed,
				Runs:     1,
			},
		)
		if 2*min(fired[1], fired[2], fired[3]) < max(fired[1], fired[2], fired[3]) {
			t.Errorf("seed %d: the timers fired %v times", seed, fired[1:])
		}
	}
}

// By default, runs draw how late an event may be, each value equally often, and report the draw. No event is overtaken
// more often.
func TestLatenessIsDrawn(t *testing.T) {
	most, drawn := 0, map[string]int{}
	system := sim.Cluster[int]{
		Name:  "beaters",
		Nodes: 3,
		New:   func(lockstep.Node, int) sim.Node[int] { return beater{} },
	}
	bench, err := lockstep.NewRunner(
		lockstep.Plan{
			System:   system,
			Strategy: strategy.PCTCP{Depth: 6, Events: 200, Steps: 1000},
			Spec:     lateness{&most, make([]int, 4)},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bench.Close() }()
	for run := range 60 {
		most = 0
		tr, err := bench.Record(t.Context(), run, nil)
		if err != nil {
			t.Fatal(err)
		}
		drawn[tr.Header.Drawn["late"]]++
		// timers overtake, too
		if late, err := strconv.Atoi(tr.Header.Drawn["late"]); err != nil || most > late || most < late/2 {
			t.Errorf("run %d drew late=%d (%v), and a message was overtaken by %d others", run, late, err, most)
		}
	}
	for _, late := range strategy.LateBounds {
		if n := drawn[fmt.Sprint(late)]; n < 10 || n > 30 {
			t.Errorf("%d of 60 runs drew late=%d", n, late)
		}
	}
}

// With fair time, a timer that advances the time fires only under two conditions. No earlier timer is due, delayed or
// not, and no undelayed message can be delivered. Timers due at that time fire before any delivery. Without fair time,
// timers race with messages.
func TestFairTime(t *testing.T) {
	system := sim.Cluster[int]{
		Name:  "beaters",
		Nodes: 3,
		New:   func(lockstep.Node, int) sim.Node[int] { return beater{} },
	}
	for _, s := range []strategy.PCTCP{
		{Depth: 1, Events: 100, Fair: true},
		{Depth: 10, Events: 100, Fair: true},
		{Depth: 1, Events: 100},
	} {
		s.Late, s.Steps = strategy.Unbounded, 500
		var now trace.Time // state before the step, with the due timers and the messages in flight
		due, flying, early, over, behind := 0, 0, 0, 0, 0
		watch := perStep(func(run *lockstep.Run) {
			last := run.Last().Kind
			moved := last == trace.Timer && run.Now() > now && run.Steps() < s.Steps
			if moved && due > 0 {
				early++
			}
			if moved && flying > 0 {
				over++
			}
			if last == trace.Deliver && due > 0 && run.Steps() < s.Steps {
				behind++
			}
			now, due, flying = run.Now(), 0, len(run.FreeMessages())
			for n := range run.Timers().All() {
				if run.TimerAt(n) <= now {
					due++
				}
			}
		})
		enginetest.Explore(t, lockstep.Plan{System: system, Strategy: s, Spec: watch, Runs: 50, Workers: 1})
		if (early+behind == 0) != s.Fair || (over == 0) != (s.Fair && s.Depth == 1) {
			t.Errorf(
				"%s: time moved %d times while a timer was due, and %d times while a message was in flight; "+
					"%d messages arrived while a timer was due",
				s,
				early,
				over,
				behind,
			)
		}
	}
}

// The guarantee states how late an event may be.
func TestGuaranteeNamesLateness(t *testing.T) {
	for late, want := range map[int]string{
		0:                  "more than 10 events overtake it; in two of three runs these may be 30, in one 100",
		7:                  "more than 7 events",
		strategy.Unbounded: "",
	} {
		g := enginetest.Explore(
			t,
			lockstep.Plan{
				System:   smr.Cluster{Nodes: 3},
				Strategy: strategy.PCTCP{Depth: 2, Late: late, Steps: 60},
				Runs:     5,
			},
		).Guarantee
		if text := strings.Join(g.Assumes, "; "); !strings.Contains(text, want) ||
			want == "" && strings.Contains(text, "overtake") {
			t.Errorf("late=%d: %s, want %q", late, text, want)
		}
	}
	_, err := strategy.PCTCP{Depth: 2, Late: -2}.Fit(lockstep.Info{})
	if err == nil || fmt.Sprint(err) != "pctcp: late is -2, allowed are -1..1000000" {
		t.Error(err)
	}
}
