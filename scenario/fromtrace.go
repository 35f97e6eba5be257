package scenario

import (
	"fmt"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// FromTrace is the scenario that repeats a recorded run. It holds all messages and timers back from the strategy, and
// takes the recorded steps one after the other. So a finding becomes a test that outlives changes of the system.
// Messages are identified by name (see [trace.Name]) and not by number. Steps that are no longer possible are left out,
// and the spec checks the result.
//
// Unlike a replay, it does not insist on the build and the options of the trace.
type FromTrace struct {
	Trace *trace.Trace
	// Continue leaves everything to the strategy after the last step: it explores possible continuations. Otherwise the
	// run ends there.
	Continue bool
}

// The names under which a campaign counts the steps of the trace.
const (
	StepsReplayed   = "steps replayed"               // those that were taken
	StepsImpossible = "steps that were not possible" // those that were left out
)

// Name identifies the run.
func (f FromTrace) Name() string {
	if f.Trace == nil {
		return "from-trace"
	}
	return fmt.Sprintf("from-trace %s seed %d run %d", f.Trace.Header.Target, f.Trace.Header.Seed, f.Trace.Header.Run)
}

// Plan is the given plan with this scenario, and with the seed of the trace in all runs, so that the system draws the
// same. It makes one run, or with Continue the plan's number of runs.
func (f FromTrace) Plan(p lockstep.Plan) lockstep.Plan {
	p.Scenario = f
	if f.Trace == nil {
		return p // Fit will refuse it
	}
	p.Seed, p.Settle = f.Trace.Header.Seed, f.Trace.Header.Settle
	if !f.Continue || p.Strategy == nil {
		p.Strategy, p.Runs = Synchronous{}, 1
	}
	p.Strategy = seeded{p.Strategy, f.Trace.Header.Run}
	return p
}

// Fit reports whether the run can be repeated on the system.
func (f FromTrace) Fit(info lockstep.Info) (*lockstep.Budget, error) {
	switch {
	case f.Trace == nil:
		return nil, fmt.Errorf("it has no trace")
	case f.Trace.Header.Nodes != info.Nodes:
		return nil, fmt.Errorf("the trace has %d nodes, %s has %d", f.Trace.Header.Nodes, info.Name, info.Nodes)
	case info.FIFO:
		return nil, fmt.Errorf("the links of %s are FIFO: messages cannot be held back while later ones pass",
			info.Name)
	}
	return nil, nil
}

// New makes a director.
func (f FromTrace) New(info lockstep.Info) lockstep.Director {
	script := trace.ScriptOf(f.Trace).Exploring()
	return &replayer{continues: f.Continue, info: info, script: script, player: lockstep.NewPlayer(script, nil)}
}

// replayer repeats the steps of a run.
type replayer struct {
	continues bool
	info      lockstep.Info
	script    trace.Script
	player    *lockstep.Player
	over      bool
	counts    [2]lockstep.Count
}

// Reset begins a new run.
func (r *replayer) Reset(*rand.Rand) {
	r.player.Reset(&lockstep.Start{})
	r.over = false
}

// Observe takes everything away from the strategy and takes the next step of the trace.
func (r *replayer) Observe(run *lockstep.Run, hand *lockstep.Control) {
	if r.over || !hand.Active() {
		return
	}
	var next lockstep.Step
	if hand.Replay(r.player, &next) {
		r.keep(run, hand)
		hand.Do(next)
		return
	}
	r.over = true
	if !r.continues {
		hand.Finish()
		return
	}
	hand.ReleaseTimers(trace.AllNodes(r.info.Nodes))
	for i := range run.Messages() {
		hand.Release(run.Messages()[i].ID)
	}
}

// keep keeps timers and messages from the strategy. Requests stay where they are, because the strategy is not asked
// while there is a step to take.
func (r *replayer) keep(run *lockstep.Run, hand *lockstep.Control) {
	hand.HoldTimers(trace.AllNodes(r.info.Nodes))
	for i := range run.Sent() {
		hand.Hold(run.Sent()[i].ID)
	}
}

// Idle makes no step possible.
func (r *replayer) Idle(*lockstep.Run, *lockstep.Control) bool { return false }

// End leaves the check to the spec.
func (r *replayer) End(*lockstep.Run, *lockstep.Control) {}

// Report reports how much of the trace could be repeated.
func (r *replayer) Report() (vacuous string, counts []lockstep.Count) {
	took := len(r.player.Took())
	r.counts = [2]lockstep.Count{{Name: StepsReplayed, N: took},
		{Name: StepsImpossible, N: len(r.script) - took, Optional: true}}
	if took == 0 {
		vacuous = "no step of the trace was possible"
	}
	return vacuous, r.counts[:]
}

// seeded is a strategy whose runs all have the seed of one run.
type seeded struct {
	lockstep.Strategy
	run int
}

// New makes a scheduler.
func (s seeded) New(info lockstep.Info) lockstep.Scheduler {
	return seededScheduler{s.Strategy.New(info), s.run}
}

type seededScheduler struct {
	lockstep.Scheduler
	run int
}

// Reset begins a new run, with the seed of that run.
func (s seededScheduler) Reset(start *lockstep.Start) {
	s.Scheduler.Reset(start)
	start.SeedOf = s.run
}
