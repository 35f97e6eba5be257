package lockstep

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/trace"
)

// Bounds of the lists in a result. Later entries are only counted.
const (
	maxNondeterminism = 10  // sources of nondeterminism
	maxDivergences    = 100 // divergences
	maxReasons        = 100 // different reasons of unknown runs
	maxUnknown        = 10  // unknown runs that are examples of reasons
)

// Add merges the result of the runs that follow those of r, and keeps at most the given number of findings. Results
// are merged only here: those of the parts of a batch, of batches, of processes and of machines. The numbers of
// distinct schedules and states cannot be added and stay unchanged.
func (r *Result) Add(next *Result, keep int) {
	if next.InconclusiveTail < next.Runs {
		r.InconclusiveTail = 0
	}
	r.InconclusiveTail += next.InconclusiveTail
	r.Runs += next.Runs
	r.Steps += next.Steps
	r.Messages += next.Messages
	r.Requests += next.Requests
	r.Virtual += next.Virtual
	r.IdleRuns += next.IdleRuns
	r.Inconclusive += next.Inconclusive
	r.Stalls += next.Stalls
	r.Left += next.Left
	r.Rechecked += next.Rechecked
	r.Diverged += next.Diverged
	r.StateRuns += next.StateRuns
	r.Digest += next.Digest
	r.Stats.add(next.Stats)
	r.Novelty.Merge(next.Novelty)
	r.Exhausted, r.Reached, r.Interrupted = next.Exhausted, next.Reached, next.Interrupted
	if r.Verdicts == nil {
		r.Verdicts = map[trace.Verdict]int{}
	}
	//lockstep:unordered numbers are added
	for verdict, n := range next.Verdicts {
		r.Verdicts[verdict] += n
	}
	r.Events, r.ByProperty = addByName(r.Events, next.Events), addByName(r.ByProperty, next.ByProperty)
	r.Checked, r.Effects = addChecked(r.Checked, next.Checked), addCounts(r.Effects, next.Effects)
	r.addLists(next, keep)
}

// addLists merges the lists that only few runs contribute to.
func (r *Result) addLists(next *Result, keep int) {
	r.Failures = append(r.Failures, atMost(next.Failures, keep-len(r.Failures))...)
	r.Divergences = append(r.Divergences, atMost(next.Divergences, maxDivergences-len(r.Divergences))...)
	r.addNondeterminism(next.Nondeterminism)
	if len(next.Reasons) > 0 {
		r.addReasons(next)
	}
}

// addNondeterminism adds new sources until the list is full.
func (r *Result) addNondeterminism(sources []string) {
	for _, s := range sources {
		if len(r.Nondeterminism) < maxNondeterminism && !slices.Contains(r.Nondeterminism, s) {
			r.Nondeterminism = append(r.Nondeterminism, s)
		}
	}
}

// addReasons merges the reasons of unknown runs.
func (r *Result) addReasons(next *Result) {
	if r.Reasons == nil {
		r.Reasons = map[string]int{}
	}
	for _, u := range next.Unknown {
		same := func(v Unknown) bool { return v.Reason == u.Reason && v.Inconclusive == u.Inconclusive }
		if len(r.Unknown) < maxUnknown && !slices.ContainsFunc(r.Unknown, same) {
			r.Unknown = append(r.Unknown, u)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(next.Reasons)) {
		name := reason
		if _, known := r.Reasons[name]; !known && len(r.Reasons) >= maxReasons {
			name = otherName
		}
		r.Reasons[name] += next.Reasons[reason]
	}
}

// atMost is the beginning of a list.
func atMost[T any](list []T, n int) []T { return list[:max(0, min(len(list), n))] }

// addByName merges counts by name. The sum is sorted by name.
func addByName(sum, next []Count) []Count {
	counts := tally(sum)
	counts.addAll(next)
	if len(counts) > len(sum) {
		slices.SortFunc(counts, func(a, b Count) int { return cmp.Compare(a.Name, b.Name) })
	}
	return counts
}

// addChecked merges how often properties were checked.
func addChecked(sum, counts []Count) []Count {
	for i, c := range counts {
		if i == len(sum) {
			sum = append(sum, Count{Name: c.Name, N: NotCounted, Optional: c.Optional, Sometimes: c.Sometimes})
		}
		sum[i].N = plus(sum[i].N, c.N)
		sum[i].Runs += c.Runs
	}
	return sum
}

// plus adds numbers, of which either may be NotCounted.
func plus(a, b int) int {
	switch {
	case a == NotCounted:
		return b
	case b == NotCounted:
		return a
	default:
		return a + b
	}
}

// addCounts merges how often the parts of a scenario took effect.
func addCounts(sum, counts []Count) []Count {
	for i, c := range counts {
		if i == len(sum) {
			sum = append(sum, Count{Name: c.Name, Optional: c.Optional})
		}
		sum[i].N += c.N
	}
	return sum
}

// count counts the run just made, except for its verdict, which may depend on repetitions.
func (w *worker) count(r *Result, one *ran, b *batch) {
	r.Runs++
	r.Steps += int64(w.run.steps)
	r.Messages += int64(len(w.run.messages))
	r.Requests += int64(w.run.requests)
	if w.info.OneClock {
		r.Virtual += w.run.now
	}
	r.IdleRuns += mix.Bit(w.run.eventless())
	r.Digest += mix.Seed(one.digest, one.number)
	if one.inconclusive {
		r.Inconclusive, r.InconclusiveTail = r.Inconclusive+1, r.InconclusiveTail+1
	}
	if w.terms.Measured != nil || w.terms.Sequential {
		stats := w.sched.Report(false)
		b.done = stats.Done
		r.Stats.add(stats.Stats)
	}
	if len(w.looking) > 0 || w.Distinct {
		n := noted{run: one.number, digest: one.digest}
		for _, i := range w.looking {
			n.by = append(n.by, observed{i, w.watchers[i].Noted()})
		}
		b.noted = append(b.noted, n)
	}
	r.addNondeterminism(w.nondeterminism())
	events := tally(r.Events)
	events.addAll(w.run.happened.tally)
	r.Events = events
	w.countChecks(r)
	if w.director != nil {
		_, counts := w.director.Report()
		r.Effects = addCounts(r.Effects, counts)
	}
}

// countChecks counts how often each property was checked in the run just made.
func (w *worker) countChecks(r *Result) {
	checked := w.checked
	if checked == nil {
		checked = w.monitor.Conclude(false).Checked
	}
	for i, n := range checked {
		if i == len(r.Checked) {
			r.Checked = append(r.Checked, Count{N: NotCounted})
		}
		r.Checked[i].N = plus(r.Checked[i].N, n)
		r.Checked[i].Runs += mix.Bit(n > 0)
	}
}

// conclude adds the verdict of a run that was counted, after its repetitions.
func (r *Result) conclude(one *ran) {
	verdict := one.outcome.Verdict
	if f := one.found; f != nil {
		if f.Flaky != "" {
			verdict = trace.Flaky
		} else {
			r.ByProperty = addByName(r.ByProperty, []Count{{Name: f.Finding.Property, N: 1}})
		}
		r.Failures = append(r.Failures, *f)
	}
	r.Verdicts[verdict]++
	if reason := one.outcome.Reason; verdict == trace.Unknown {
		r.addReasons(&Result{Reasons: map[string]int{reason: 1},
			Unknown: []Unknown{{one.number, reason, one.inconclusive}}})
	}
	r.Rechecked += mix.Bit(one.rechecked)
	if d := one.divergence; d != nil {
		r.Diverged++
		r.Divergences = append(r.Divergences, *d)
	}
}

// EnvironmentError is the error with which a campaign ends because its environment is broken, or nil. The environment
// is broken in two cases. Either more inconclusive runs than the limit follow each other at the end, or there are
// more of them in all and they are more than half of all runs.
func (r *Result) EnvironmentError() error {
	limit, which := cmp.Or(r.InconclusiveLimit, DefaultInconclusive), ""
	switch {
	case r.Inconclusive > limit && 2*r.Inconclusive > r.Runs:
		which = fmt.Sprintf("%d", r.Inconclusive)
	case r.InconclusiveTail > limit:
		which = fmt.Sprintf("the last %d", r.InconclusiveTail)
	default:
		return nil
	}
	example := ""
	for _, u := range r.Unknown {
		if u.Inconclusive {
			example = fmt.Sprintf("; e.g. run %d: %s", u.Run, u.Reason)
		}
	}
	return fmt.Errorf("lockstep: %s of %d runs of %s are inconclusive, where at most %d are tolerated%s",
		which, r.Runs, r.Target, limit, example)
}
