package lockstep

import (
	"fmt"

	"github.com/lockstep-go/lockstep/trace"
)

// Result is what a campaign found out.
type Result struct {
	Target   string
	Strategy string
	Seed     uint64
	From     int        // number of the first run: 0 but for a stretch of a campaign
	Repeats  Repeats    // whether the same steps have the same effects
	Runs     int        // runs made, up to the one that ended the campaign
	Steps    int64      // of all runs
	Messages int64      // sent in all runs
	Requests int64      // given in all runs
	Virtual  trace.Time // that passed in all runs, where the system has one clock
	Events   []Count    // in all runs, by type
	Quiet    int        // runs in which nothing observable happened
	Verdicts map[trace.Verdict]int
	Reasons  map[string]int // why runs were unknown
	Found    []Found        // the failing runs in order, at most as many as the plan keeps
	Failures []Count        // all failing runs by property, flaky ones left out
	Judged   []Count        // how often each property could have failed, where the spec counts
	Effects  []Count        // how often each part of the scenario took effect
	// Inconclusive is the number of runs that say nothing because of their environment, InconclusiveTail how
	// many of them are the last runs, one after the other, and InconclusiveLimit the plan's limit.
	Inconclusive, InconclusiveTail, InconclusiveLimit int
	// Unknown lists the first run for each reason of unknown runs, the first few.
	Unknown   []Unknown
	Guarantee Guarantee
	Schedules int // different schedules, where the plan counts them
	// States are the different states of StateRuns of the runs, where the plan counts them and
	// the system offers fingerprints: the first few and then one of many, which costs little.
	States, StateRuns int
	// Seen is what the guarantee rests on, where the strategy measures its runs.
	Seen Seen
	// Reached says how far a strategy that works through a space came, e.g. that it is
	// complete to its bound.
	Reached string
	// Exhausted says that a strategy has made all runs that it has to make.
	Exhausted bool
	// Digest is a hash over what happened in all runs, with their numbers: steps, messages and
	// events. It is equal for equal plan, seed and number of runs, whatever the workers or
	// the machine, because it is a sum over runs: that of a campaign is the sum of its stretches'.
	Digest uint64
	// Stalls is how often the watchdog saw no step end though it did when the runs were made
	// again, and Left the number of goroutines that hang and were left running.
	Stalls, Left int
	// Rechecked is the number of passing runs that were rerun, and Diverged the number of those that
	// differed, of which Divergences lists the first. Nondeterminism lists what the system did, in any run, that
	// may differ from one run to the next: each source once, the first few.
	Rechecked, Diverged int
	Divergences         []Divergence
	Nondeterminism      []string
	// Interrupted says that the context ended before the runs did, and Stopped that a person interrupted the
	// campaign, which only whoever started it knows and sets.
	Interrupted, Stopped bool
}

// Unknown is a run that was not checked.
type Unknown struct {
	Run    int
	Reason string
	// Inconclusive says that the environment was the reason, and not a limit of the plan.
	Inconclusive bool
}

// Found is a failing run.
type Found struct {
	Run     int
	Finding Finding
	Trace   *trace.Trace
	// Failed and Repeated say that the run violated the same property again in so many
	// of so many repetitions. Both are 0 where it was not repeated.
	Failed, Repeated int
	// Flaky says why the run could not be repeated, and is empty where it could. Nondeterminism then lists
	// what the system did in it that may differ from one run to the next.
	Flaky          string
	Nondeterminism []string
}

// Confirmed says in words how often the run failed again.
func (f *Found) Confirmed() string {
	switch {
	case f.Flaky != "":
		return "not confirmed: " + f.Flaky
	case f.Repeated == 0:
		return "not repeated"
	case f.Repeated == 1:
		return "failed again when it was repeated"
	default:
		return fmt.Sprintf("failed in %d of %d repetitions", f.Failed, f.Repeated)
	}
}

// Findings is the number of failing runs, flaky ones included.
func (r *Result) Findings() int { return r.Verdicts[trace.Fail] + r.Verdicts[trace.Flaky] }

// First is the first failing run, or nil.
func (r *Result) First() *Found {
	if len(r.Found) == 0 {
		return nil
	}
	return &r.Found[0]
}

// VacuousParts names what the campaign never put to the test: see Idle and Unjudged. A
// campaign that found nothing has shown little about what is listed here.
func (r *Result) VacuousParts() []string {
	names := r.Idle()
	for _, p := range r.Unjudged() {
		names = append(names, "property "+p)
	}
	return names
}

// Idle names the parts of the scenario that never took effect in any run, those left out
// that need not.
func (r *Result) Idle() []string { return zero(r.Effects) }

// Unjudged names the properties that could never have failed, as far as the spec counts.
func (r *Result) Unjudged() []string { return zero(r.Judged) }

// zero names the counts that stayed zero and should not have.
func zero(counts []Count) (names []string) {
	for _, c := range counts {
		if c.N == 0 && !c.Optional {
			names = append(names, c.Name)
		}
	}
	return names
}
