package lockstep

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/novelty"
	"github.com/lockstep-go/lockstep/trace"
)

// Result is the result of a campaign.
type Result struct {
	Target      string
	Strategy    string
	Seed        uint64
	From        int                   // number of the first run: 0 except for a batch of a campaign
	Determinism Determinism           // whether the same steps have the same effects
	Runs        int                   // runs made, up to the one that ended the campaign
	Steps       int64                 // steps of all runs
	Messages    int64                 // messages sent in all runs
	Requests    int64                 // requests given to nodes in all runs
	Virtual     trace.Time            // virtual time that passed in all runs, if the system has one clock
	Events      []Count               // events of all runs, by type
	IdleRuns    int                   // runs without any event
	Verdicts    map[trace.Verdict]int // runs by verdict
	Reasons     map[string]int        // unknown runs by the reason why they were not checked
	Failures    []Failure             // the failing runs in order, at most as many as the plan keeps
	ByProperty  []Count               // all failing runs by property, except flaky ones
	Checked     []Count               // how often each property could have failed, if the spec counts
	Effects     []Count               // how often each part of the scenario took effect
	// Inconclusive is the number of runs that say nothing because of their environment. InconclusiveTail is the
	// number of consecutive inconclusive runs at the end, and InconclusiveLimit is the plan's limit.
	Inconclusive, InconclusiveTail, InconclusiveLimit int
	// Unknown lists the first run for each reason of unknown runs, for the first few reasons.
	Unknown   []Unknown
	Guarantee Guarantee
	Schedules int // distinct schedules, if the plan counts them
	// States is the number of distinct states in StateRuns of the runs, if the plan counts them and the system offers
	// fingerprints. Only the first few runs and then one of many count, which costs little.
	States, StateRuns int
	// Stats has the measurements from which Guarantee was computed, if the strategy measures its runs.
	Stats RunStats
	// Reached says how far a strategy got that works through a space, e.g. that it is complete to its bound.
	Reached string
	// Novelty is what the runs reached, from which NextRun estimates. A fast campaign measures only some of its runs.
	Novelty novelty.Set
	// Exhausted says that a strategy has made all of its runs.
	Exhausted bool
	// Digest is a hash over all runs with their numbers: steps, messages and events. It is equal for equal plan, seed
	// and number of runs, for any number of workers and on any machine. It is a sum over runs, so that the digest of
	// a campaign is the sum of its batches' digests.
	Digest uint64
	// Stalls is how often the watchdog reported a hang that was none: all steps ended when the runs were rerun.
	Stalls int
	// Left is the number of hanging goroutines that were left running.
	Left int
	// Rechecked is the number of passing runs that were rerun, and Diverged the number of those that differed.
	Rechecked, Diverged int
	// Divergences lists the first runs that differed.
	Divergences []Divergence
	// Nondeterminism lists the first sources of nondeterminism that any run has met, each once.
	Nondeterminism []string
	// Interrupted says that the context ended before the runs did.
	Interrupted bool
	// Stopped says that a person interrupted the campaign. Only the campaign's caller knows this and sets it.
	Stopped bool
}

// Unknown is a run that was not checked, so that its verdict is unknown, and the reason.
type Unknown struct {
	Run    int
	Reason string
	// Inconclusive says that the reason is the environment, and not a limit of the plan or of the monitor.
	Inconclusive bool
}

// Failure is a failing run: its finding, its trace, and whether repetitions of the run failed again.
type Failure struct {
	Run     int
	Finding Finding
	Trace   *trace.Trace
	// Repeated is the number of repetitions of the run, and Failed the number of those that violated the same property.
	Failed, Repeated int
	// Flaky says why the run could not be reproduced. It is empty if it could, or if it was not repeated.
	Flaky string
	// Nondeterminism lists, for a flaky run, the sources of nondeterminism that it met.
	Nondeterminism []string
}

// Confirmed says as text how often the run failed again.
func (f *Failure) Confirmed() string {
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
func (r *Result) First() *Failure {
	if len(r.Failures) == 0 {
		return nil
	}
	return &r.Failures[0]
}

// MarkFlaky marks the i-th of Failures as flaky, because it differed when a caller repeated it outside of the campaign.
// The text how describes the difference. The results of its earlier repetitions no longer count.
func (r *Result) MarkFlaky(i int, how string) {
	f := &r.Failures[i]
	if f.Flaky != "" {
		return
	}
	f.Flaky, f.Nondeterminism = how, r.Nondeterminism
	r.Verdicts[trace.Fail]--
	r.Verdicts[trace.Flaky]++
	at := slices.IndexFunc(r.ByProperty, func(c Count) bool { return c.Name == f.Finding.Property })
	if at < 0 {
		return
	}
	if r.ByProperty[at].N--; r.ByProperty[at].N == 0 {
		r.ByProperty = slices.Delete(r.ByProperty, at, at+1)
	}
}

// VacuousParts names what the campaign never exercised: see [Result.IdleParts], [Result.Unchecked] and
// [Result.Unreached]. A campaign without findings has shown little about them.
func (r *Result) VacuousParts() []string {
	names := r.IdleParts()
	for _, p := range r.Unchecked() {
		names = append(names, "property "+p)
	}
	for _, p := range r.Unreached() {
		names = append(names, "what must happen sometimes: "+p)
	}
	return names
}

// IdleParts names the parts of the scenario that never took effect in any run, except optional ones.
func (r *Result) IdleParts() []string { return zero(r.Effects) }

// Unchecked names the properties that could never have failed, as far as the spec counts.
func (r *Result) Unchecked() []string { return zero(ofKind(r.Checked, false)) }

// Unreached names what must happen at least once in a campaign (see [ConditionalSpec]), and never did.
func (r *Result) Unreached() []string { return zero(ofKind(r.Checked, true)) }

// ofKind lists the counts of what must happen sometimes, or those of the other properties.
func ofKind(counts []Count, sometimes bool) (list []Count) {
	for _, c := range counts {
		if c.Sometimes == sometimes {
			list = append(list, c)
		}
	}
	return list
}

// zero names the counts that stayed zero and are not optional.
func zero(counts []Count) (names []string) {
	for _, c := range counts {
		if c.N == 0 && !c.Optional {
			names = append(names, c.Name)
		}
	}
	return names
}
