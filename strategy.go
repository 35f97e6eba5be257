package lockstep

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep/trace"
)

// Strategy chooses the steps of a run. It is an immutable value with exported fields;
// its zero value is valid or Check refuses it with an error that names the field.
type Strategy interface {
	// String is the strategy as written on the command line, e.g.
	// "uniform:period=4,isolations=4,rounds=16".
	String() string
	// Check reports why the strategy cannot explore such a system.
	Check(Info) error
	// New makes a scheduler, which serves many runs of one worker. Check has passed.
	New(Info) Scheduler
	// Guarantee states the chance that one run hits a given target of the strategy's
	// class. Check has passed.
	Guarantee(Info) Guarantee
}

// Scheduler makes the choices of one run after the other.
type Scheduler interface {
	// Reset begins a new run.
	Reset(Start)
	// Next writes the next step to next, which is zero, and reports true; or it reports
	// false when the run is over.
	Next(run *Run, next *Step) bool
}

// Start is what a scheduler gets at the start of a run. All of its choices must follow
// from it and from what it sees of the run.
type Start struct {
	// Run is the number of the run in the campaign, from 0, for strategies that walk
	// through a space instead of drawing from it.
	Run int
	// Rand is the run's own source, seeded for this run. It must not be kept.
	Rand *rand.Rand
}

// RoundScheduler is a Scheduler that works in lock-step rounds.
type RoundScheduler interface {
	Scheduler
	// Rounds lists the rounds opened so far, empty ones included. The step last chosen
	// belongs to the last of them.
	Rounds() []trace.Round
}

// Drawer is a Scheduler that draws parameters for each run.
type Drawer interface {
	// Drawn lists them by name, for the header of the trace.
	Drawn() map[string]string
}
