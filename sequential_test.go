package lockstep_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// pedant is a strategy that carries state from run to run. Run i fires timers and delivers in turn for i steps. After
// the given number of runs its space is exhausted.
type pedant struct {
	lockstep.Strategy
	last int
}

func (pedant) String() string                         { return "pedant" }
func (p pedant) New(lockstep.Info) lockstep.Scheduler { return &pedantry{pedant: p} }
func (pedant) Fit(lockstep.Info) (lockstep.Terms, error) {
	return lockstep.Terms{Sequential: true, Guarantee: lockstep.Guarantee{Assumes: []string{"it is a test"}}}, nil
}

type pedantry struct {
	pedant
	runs, left int
}

func (p *pedantry) Reset(*lockstep.Start) { p.runs++; p.left = p.runs }
func (p *pedantry) Report(bool) lockstep.SchedulerStats {
	return lockstep.SchedulerStats{
		Done:    p.runs == p.last,
		Reached: fmt.Sprintf("made %d runs", p.runs),
		Drawn:   map[string]string{"left": fmt.Sprint(p.runs)},
	}
}
func (p *pedantry) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if p.left--; p.left < 0 {
		return false
	}
	if len(turn.FreeMessages()) > 0 {
		next.Kind, next.Msg = trace.Deliver, turn.FreeMessages()[0]
	} else {
		next.Kind, next.Node = trace.Timer, turn.Timers().First()
	}
	return next.Kind == trace.Deliver || next.Node != 0
}

// A strategy that carries state gets one scheduler for any number of workers. Its failing runs are recorded by their
// steps, and the campaign ends when its space is exhausted.
func TestSequential(t *testing.T) {
	for _, workers := range []int{1, 4} {
		result, err := lockstep.Explore(
			context.Background(),
			lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: pedant{last: 25},
				Spec: toy.AtEnd, Runs: 1000, Workers: workers, KeepGoing: true, Settle: 5},
		)
		if err != nil {
			t.Fatal(err)
		}
		if result.Runs != 25 || result.Reached != "made 25 runs" || len(result.Failures) != 25 {
			t.Fatalf("%d workers: %d runs, %d found, %s", workers, result.Runs, len(result.Failures), result.Reached)
		}
		for i, f := range result.Failures {
			chosen := 0
			for _, r := range f.Trace.Records {
				if !r.Settle && r.Step.Kind != trace.Start {
					chosen++
				}
			}
			if f.Flaky != "" || chosen != i+1 || f.Trace.Header.Drawn["left"] != fmt.Sprint(i+1) {
				t.Errorf("run %d: %d steps, drawn %v, %s", i, chosen, f.Trace.Header.Drawn, f.Flaky)
			}
		}
	}
}

// pupil is a strategy that learns how many steps a run may have.
type pupil struct {
	pedant
	learned int
	fail    bool
}

func (p pupil) String() string { return fmt.Sprintf("pupil:learned=%d", p.learned) }
func (p pupil) Fit(lockstep.Info) (lockstep.Terms, error) {
	if p.fail && p.learned > 0 {
		return lockstep.Terms{}, errors.New("learned something impossible")
	}
	t := lockstep.Terms{Measured: func(seen lockstep.RunStats) lockstep.Guarantee {
		return lockstep.Guarantee{Class: "anything", PerRun: 1 / float64(seen.Choices)}
	}}
	if p.learned == 0 {
		t.Probe = strategy.Baseline{Steps: 10}
		t.Learn = func(lockstep.Scheduler) lockstep.Strategy { p.learned++; return p }
	}
	return t, nil
}
func (p pupil) New(lockstep.Info) lockstep.Scheduler { return &seer{} }

type seer struct{ n int }

func (s *seer) Reset(start *lockstep.Start)              { s.n = start.Run }
func (s *seer) Next(*lockstep.Turn, *lockstep.Step) bool { return false }
func (s *seer) Report(bool) lockstep.SchedulerStats {
	return lockstep.SchedulerStats{Stats: lockstep.RunStats{Choices: s.n, Width: 1}}
}

// A strategy learns once, before the campaign, and its guarantee accounts for the largest run seen.
func TestLearning(t *testing.T) {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: pupil{}, Runs: 101, Workers: 3}
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if result.Strategy != "pupil:learned=1" || result.Stats.Choices != 100 || result.Guarantee.PerRun != 0.01 {
		t.Errorf("%s, %+v, %s", result.Strategy, result.Stats, result.Guarantee)
	}
	plan.Strategy = pupil{fail: true}
	if _, err := lockstep.Explore(context.Background(), plan); err == nil ||
		!strings.Contains(err.Error(), "impossible") {
		t.Errorf("error %v", err)
	}
}
