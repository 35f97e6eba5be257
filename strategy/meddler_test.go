package strategy_test

import (
	"math/rand/v2"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// meddler is a scenario that holds, releases, delivers, drops and duplicates messages, crashes and restarts nodes, and
// fires timers at random.
type meddler struct{}

func (meddler) Name() string                                { return "meddler" }
func (meddler) Fit(lockstep.Info) (*lockstep.Budget, error) { return nil, nil }
func (meddler) New(lockstep.Info) lockstep.Director         { return &meddling{} }

type meddling struct {
	rand *rand.Rand
	held []trace.ID
	did  int
}

func (m *meddling) Reset(r *rand.Rand) { *m = meddling{rand: r, held: m.held[:0]} }
func (m *meddling) Report() (string, []lockstep.Count) {
	return "", []lockstep.Count{{Name: "meddled", N: m.did}}
}

func (*meddling) Idle(*lockstep.Run, *lockstep.Control) bool { return false }
func (*meddling) End(*lockstep.Run, *lockstep.Control)       {}

func (m *meddling) Observe(run *lockstep.Run, hand *lockstep.Control) {
	if m.rand.IntN(3) > 0 || run.Last().Kind == trace.Crash { // a queued step may be impossible by then
		return
	}
	m.did++
	flying := run.FreeMessages()
	if len(flying) == 0 {
		return
	}
	id := flying[m.rand.IntN(len(flying))]
	up := run.Up().Has(run.Message(id).To)
	switch k := m.rand.IntN(8); {
	case k == 0:
		hand.Hold(id)
		m.held = append(m.held, id)
	case k == 1 && len(m.held) > 0:
		hand.Release(m.held[0])
		m.held = m.held[1:]
	case k == 2 && up:
		hand.Do(lockstep.Step{Kind: trace.Deliver, Msg: id})
	case k == 3:
		hand.Do(lockstep.Step{Kind: trace.Drop, Msg: id})
	case k == 4:
		hand.Do(lockstep.Step{Kind: trace.Duplicate, Msg: id})
	case k == 5 && run.Up().Len() == run.Info().Nodes:
		hand.Do(lockstep.Step{Kind: trace.Crash, Node: 1})
	case k == 6 && !run.Up().Has(1):
		hand.Do(lockstep.Step{Kind: trace.Restart, Node: 1})
	case k == 7 && run.Timers() != 0:
		hand.Do(lockstep.Step{Kind: trace.Timer, Node: run.Timers().First()})
	}
}

// TestMeddler checks that every strategy works with a scenario that removes messages and returns them. None of its
// steps is impossible, runs are repeatable, and strategies that lose no message leave no deliverable message in flight.
func TestMeddler(t *testing.T) {
	for _, k := range strategy.All() {
		plan := lockstep.Plan{
			System:    smr.Cluster{Nodes: 3, Requests: 3},
			Strategy:  k.Default,
			Scenario:  meddler{},
			Runs:      300,
			KeepGoing: true,
		}
		if k.Name == "pctcp" || k.Name == "pos" {
			plan.Spec = delivered{}
		}
		result, err := lockstep.Explore(t0, plan)
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		if first := result.First(); first != nil {
			t.Errorf("%s: run %d: %s %s", k.Name, first.Run, first.Finding, first.Flaky)
		}
		if result.Runs < 300 && k.Name != "systematic" {
			t.Errorf("%s: %d runs", k.Name, result.Runs)
		}
		if meddled := result.Effects[0].N; meddled < result.Runs {
			t.Errorf("%s: the scenario meddled %d times in %d runs", k.Name, meddled, result.Runs)
		}
		repeatMeddled(t, k.Name, plan)
	}
}

// repeatMeddled repeats the runs of a plan, one by one with the recorder on, and replays the recordings. Both must be
// the same, step by step.
func repeatMeddled(t *testing.T, name string, plan lockstep.Plan) {
	t.Helper()
	plan.Spec, plan.Runs, plan.Keep = alwaysFails{}, 40, 40
	result := enginetest.Explore(t, plan)
	if len(result.Failures) != result.Runs || result.Runs == 0 {
		t.Errorf("%s: %d of %d runs were recorded", name, len(result.Failures), result.Runs)
	}
	for _, f := range result.Failures {
		if f.Flaky != "" || f.Failed != 1 {
			t.Fatalf("%s: run %d: %s", name, f.Run, f.Confirmed())
		}
		again, err := replay.Run(t.Context(), plan, f.Trace)
		if err != nil || again.Difference != "" || again.Trace.Outcome.Verdict != trace.Fail {
			t.Fatalf("%s: run %d: %+v, %v", name, f.Run, again, err)
		}
	}
}

// delivered is a spec that fails if a run ends with a deliverable message.
type delivered struct{ starving }

func (d delivered) New(lockstep.Info) lockstep.Monitor { return d }
func (d delivered) End(run *lockstep.Run) *lockstep.Finding {
	for _, id := range run.FreeMessages() {
		if run.Deliverable(id) {
			return d.starving.End(run)
		}
	}
	return nil
}
