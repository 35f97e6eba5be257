package fleet

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/internal/sketch"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/trace"
)

// This file checks everything that a worker sends, before any of it counts: the parts and traces that it stores, and
// its reports about itself. A worker may be broken, of another build, or hostile.

// The limits of what a worker may send.
const (
	maxName     = 200       // bytes of the name of a worker, a property or the like
	maxText     = 256 << 10 // bytes of any other text
	maxError    = 4 << 10   // bytes that are kept of an error
	maxCounts   = 1000      // entries of a list of counts
	maxTotal    = 1 << 50   // of steps, messages and the like, so that sums do not overflow
	maxDigits   = 100_000   // of a number, because parsing takes quadratic time
	maxTrace    = 64 << 20  // bytes of a stored trace with its pictures
	maxPictures = 16        // of one trace
	maxSpeed    = 1e9       // runs a second
)

// errUnavailable reports that a trace could not be read now. The part is then neither valid nor invalid.
var errUnavailable = errors.New("the trace cannot be read now")

// traceSource reads the stored trace of a run.
type traceSource func(run int) (batch.Trace, error)

// readPart reads the message of a part. The subject names the campaign and the batch.
func readPart(subject string, message []byte) (id string, first int, p *Part, err error) {
	rest, ok := strings.CutPrefix(subject, "lockstep.part.")
	id, number, _ := strings.Cut(rest, ".")
	first, err = strconv.Atoi(number)
	if !ok || err != nil || subject != partSubject(id, first) {
		return "", 0, nil, fmt.Errorf("the subject %q is not that of a part", subject)
	}
	if hasLongNumber(message) {
		return id, first, nil, fmt.Errorf("the message has a number of more than %d digits", maxDigits)
	}
	p = &Part{}
	if err := json.Unmarshal(message, p); err != nil {
		return id, first, nil, fmt.Errorf("the message is not a part: %w", err)
	}
	if p.Campaign != id || p.First != first {
		return id, first, p, fmt.Errorf("the part is about run %d of campaign %q, its subject is about run %d of %q",
			p.First, p.Campaign, first, id)
	}
	return id, first, p, nil
}

// hasLongNumber reports whether a text has a number that takes too long to parse.
func hasLongNumber(text []byte) bool {
	digits := 0
	for _, c := range text {
		if digits++; c < '0' || c > '9' {
			digits = 0
		}
		if digits > maxDigits {
			return true
		}
	}
	return false
}

// checkPart reports why a part cannot be the result of a batch of this campaign. It changes nothing.
func (l *Ledger) checkPart(p *Part, traces traceSource) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("checking it panics: %v", r)
		}
	}()
	if err := l.checkOrigin(p); err != nil || p.Error != "" {
		return err
	}
	for _, check := range []func(*Part) error{
		l.checkRuns, l.checkTotals, l.checkCounts, l.checkFindings, l.checkMeasures,
	} {
		if err := check(p); err != nil {
			return err
		}
	}
	for i := range p.Result.Failures {
		t, err := traces(p.Result.Failures[i].Run)
		if err == nil {
			err = l.checkTrace(&p.Result.Failures[i], p.Shapes[i], t)
		}
		if err != nil {
			return fmt.Errorf("the trace of run %d: %w", p.Result.Failures[i].Run, err)
		}
	}
	trial := batch.NewSum(l.Job.Hello)
	trial.Add(&p.Made, l.Job.Hello.Keep) // a panic here must not reach the sum
	return nil
}

// checkOrigin reports why a part is not one that the fleet requested from this program.
func (l *Ledger) checkOrigin(p *Part) error {
	h := l.Job.Hello
	switch {
	case l.Job.Ended != "" || p.First < l.Result.Runs:
		return errOld
	case p.Version != h.Version || p.Program != h.Program:
		return fmt.Errorf("it was made by program %.20q of version %.20q, the campaign is of %s of version %s",
			p.Program, p.Version, h.Program, h.Version)
	case !l.asked(p.Ask):
		return fmt.Errorf("the server did not ask for runs %d to %d with %d findings before "+
			"them", p.First, p.End-1, p.Ask.Found)
	case len(p.Worker) > maxName:
		return fmt.Errorf("the name of the worker has %d bytes, at most %d are allowed", len(p.Worker), maxName)
	case p.ElapsedMS < 0:
		return fmt.Errorf("it took %d ms", p.ElapsedMS)
	}
	return nil
}

// checkRuns reports why the runs and verdicts of a part cannot be those of its batch.
func (l *Ledger) checkRuns(p *Part) error {
	h, r := l.Job.Hello, p.Result
	if r == nil {
		return errors.New("there is no result")
	}
	size := p.End - p.First
	switch {
	case r.Target != h.Target || r.Strategy != h.Strategy || r.Seed != h.Seed:
		return fmt.Errorf(
			"the result is of %.50q under %.50q with seed %d, the campaign is of %q under %q with seed %d", r.Target,
			r.Strategy, r.Seed, h.Target, h.Strategy, h.Seed)
	case r.From != p.First || r.Runs < 0 || r.Runs > size:
		return fmt.Errorf("the result is of %d runs from run %d on, the batch has %d from run %d on", r.Runs, r.From,
			size, p.First)
	case r.Exhausted && !h.Sequential:
		return fmt.Errorf("the strategy %s cannot be exhausted", h.Strategy)
	case r.Interrupted:
		return errors.New("the result is of a campaign that was interrupted")
	case r.Runs > 0 && r.Digest == 0:
		return errors.New("there is no digest")
	}
	checked := 0
	for verdict, n := range r.Verdicts {
		if !slices.Contains(verdicts, verdict) || n < 0 || n > size {
			return fmt.Errorf("verdict %.20q of %d runs: allowed are %v, of 0 to %d", verdict, n, verdicts, size)
		}
		checked += n
	}
	found := campaign.Findings(r)
	switch {
	case checked != r.Runs:
		return fmt.Errorf("%d verdicts for %d runs", checked, r.Runs)
	case found > 1 && !h.KeepGoing:
		return fmt.Errorf("%d findings in a campaign that ends with the first", found)
	case r.Runs < size && !r.Exhausted && (h.KeepGoing || found == 0):
		return fmt.Errorf("%d of %d runs are missing", size-r.Runs, size)
	}
	return nil
}

// verdicts are the possible verdicts of a run.
var verdicts = []trace.Verdict{trace.Pass, trace.Fail, trace.Unknown, trace.Vacuous, trace.Flaky}

// checkTotals reports a number of a part that is impossible for its runs.
func (l *Ledger) checkTotals(p *Part) error {
	r := p.Result
	for _, c := range []struct {
		name  string
		n     int64
		limit int64
	}{
		{"steps", r.Steps, maxTotal}, {"messages", r.Messages, maxTotal}, {"requests", r.Requests, maxTotal},
		{"units of time", int64(r.Virtual), maxTotal},
		{"stalls", int64(r.Stalls), maxTotal}, {"goroutines left", int64(r.Left), maxTotal},
		{"schedules", int64(r.Schedules), maxTotal}, {"states", int64(r.States), maxTotal},
		{"idle runs", int64(r.IdleRuns), int64(r.Runs)}, {"inconclusive runs", int64(r.Inconclusive), int64(r.Runs)},
		{"runs rechecked", int64(r.Rechecked), int64(r.Runs)},
		{"runs with states", int64(r.StateRuns), int64(r.Runs)},
		{"runs that differ", int64(r.Diverged), int64(r.Rechecked)},
		{"divergences", int64(len(r.Divergences)), int64(r.Diverged)},
		{"inconclusive runs at the end", int64(r.InconclusiveTail), int64(r.Inconclusive)},
		{"unknown runs listed", int64(len(r.Unknown)), int64(r.Verdicts[trace.Unknown])},
		{"events in a run", int64(r.Stats.Choices), maxTotal}, {"width", int64(r.Stats.Width), maxTotal},
		{"runs measured", int64(r.Stats.Runs), int64(r.Runs)},
		{"changes", int64(r.Stats.Hits), maxTotal},
	} {
		if c.n < 0 || c.n > c.limit {
			return fmt.Errorf("%d %s, possible are 0 to %d", c.n, c.name, c.limit)
		}
	}
	if r.Stats.Inverse < 0 {
		return fmt.Errorf("a sum of probabilities of %g", r.Stats.Inverse)
	}
	return nil
}

// checkCounts reports invalid counts by name in a part.
func (l *Ledger) checkCounts(p *Part) error {
	r := p.Result
	reasons := 0
	for reason, n := range r.Reasons {
		if n < 0 || n > r.Runs || len(reason) > maxText {
			return fmt.Errorf("a reason of %d bytes for %d of %d runs", len(reason), n, r.Runs)
		}
		reasons += n
	}
	if reasons > r.Verdicts[trace.Unknown] {
		return fmt.Errorf("%d reasons for %d runs of unknown verdict", reasons, r.Verdicts[trace.Unknown])
	}
	failures := 0
	for _, c := range r.ByProperty {
		failures += c.N
	}
	if failures != r.Verdicts[trace.Fail] {
		return fmt.Errorf("%d failures by property, %d runs fail", failures, r.Verdicts[trace.Fail])
	}
	for _, c := range r.Checked {
		if c.Runs > r.Runs {
			return fmt.Errorf("%.50q was checked in %d of %d runs", c.Name, c.Runs, r.Runs)
		}
	}
	sources := r.Nondeterminism
	for _, d := range r.Divergences {
		if !p.has(d.Run) || len(d.Difference) > maxText {
			return fmt.Errorf("a divergence of run %d in %d bytes", d.Run, len(d.Difference))
		}
		sources = slices.Concat(sources, d.Nondeterminism)
	}
	for i := range r.Failures {
		sources = slices.Concat(sources, r.Failures[i].Nondeterminism)
	}
	for _, u := range r.Unknown {
		if !p.has(u.Run) || len(u.Reason) > maxText {
			return fmt.Errorf("an unknown run %d with a reason of %d bytes", u.Run, len(u.Reason))
		}
	}
	for _, s := range sources {
		if len(s) > maxText {
			return fmt.Errorf("a source of nondeterminism of %d bytes", len(s))
		}
	}
	if len(r.Reached) > maxText || len(sources) > maxCounts {
		return fmt.Errorf("%d sources of nondeterminism, and how far the strategy came in %d bytes", len(sources),
			len(r.Reached))
	}
	return errors.Join(checkList("events", nil, r.Events, 0), checkList("failures", nil, r.ByProperty, 0),
		checkList("properties", l.Result.Checked, r.Checked, lockstep.NotCounted),
		checkList("parts of the scenario", l.Result.Effects, r.Effects, 0))
}

// checkList reports why counts cannot be added to the known ones. Each count is at least least.
func checkList(what string, known, counts []lockstep.Count, least int) error {
	if len(counts) > maxCounts || len(known) > 0 && len(counts) > 0 && len(known) != len(counts) {
		return fmt.Errorf("%d %s are counted, possible are %d", len(counts), what, cmp.Or(len(known), maxCounts))
	}
	for i, c := range counts {
		if c.N < least || c.N > maxTotal || c.Runs < 0 || c.Runs > max(c.N, 0) || len(c.Name) > maxText ||
			len(known) > 0 && c.Name != known[i].Name {
			return fmt.Errorf("a count of %s is of %.50q and %d", what, c.Name, c.N)
		}
		if len(known) > 0 && c.Sometimes != known[i].Sometimes {
			return fmt.Errorf("%.50q must happen sometimes: %v, before it %v", c.Name, c.Sometimes, known[i].Sometimes)
		}
		if len(known) > 0 && c.Optional != known[i].Optional {
			return fmt.Errorf("%.50q of the %s is optional: %t; in the campaign it is %t", c.Name, what, c.Optional,
				known[i].Optional)
		}
	}
	return nil
}

// checkFindings reports why the findings of a part cannot be those of its runs.
func (l *Ledger) checkFindings(p *Part) error {
	h, r := l.Job.Hello, p.Result
	if want := min(campaign.Findings(r), max(0, h.Keep-p.Ask.Found)); len(r.Failures) != want || len(p.Shapes) != want {
		return fmt.Errorf("%d findings with %d shapes, %d failing runs are to be kept", len(r.Failures), len(p.Shapes),
			want)
	}
	flaky, last := 0, p.First-1
	for i := range r.Failures {
		f := &r.Failures[i]
		switch {
		case f.Run <= last || !p.has(f.Run) || !h.KeepGoing && f.Run != p.First+r.Runs-1:
			return fmt.Errorf("a finding of run %d, after one of run %d, in runs %d to %d", f.Run, last, p.First,
				p.First+r.Runs-1)
		case f.Finding.Property == "" || len(f.Finding.Property) > maxName || !utf8.ValidString(f.Finding.Property):
			return fmt.Errorf("the finding of run %d violates the property %.50q", f.Run, f.Finding.Property)
		case len(f.Finding.Text) > maxText || len(f.Finding.Stack) > maxText || len(f.Flaky) > maxText ||
			len(p.Shapes[i]) > maxText:
			return fmt.Errorf("a text of the finding of run %d is longer than %d bytes", f.Run, maxText)
		case f.Failed < 0 || f.Failed > f.Repeated || f.Repeated > maxCounts:
			return fmt.Errorf("run %d failed in %d of %d repetitions", f.Run, f.Failed, f.Repeated)
		case f.Trace != nil:
			return fmt.Errorf("the finding of run %d has its trace in the message", f.Run)
		}
		last = f.Run
		if f.Flaky != "" {
			flaky++
		}
	}
	if flaky > r.Verdicts[trace.Flaky] || len(r.Failures)-flaky > r.Verdicts[trace.Fail] {
		return fmt.Errorf("%d of %d findings are flaky, the verdicts are %v", flaky, len(r.Failures), r.Verdicts)
	}
	return nil
}

// has reports whether a run belongs to a part.
func (p *Part) has(run int) bool { return run >= p.First && run < p.First+p.Result.Runs }

// checkMeasures reports why the measurements of a part cannot be those of its runs.
func (l *Ledger) checkMeasures(p *Part) error {
	if c := p.Coverage; c != nil {
		if c.Runs != p.Result.Runs {
			return fmt.Errorf("coverage of %d runs, the part has %d", c.Runs, p.Result.Runs)
		}
		if err := cmp.Or(l.Coverage, &coverage.Sum{}).Check(c); err != nil {
			return err
		}
	}
	if err := l.checkReached(p); err != nil {
		return err
	}
	if c := p.Closure; c != nil {
		if c.Runs < 0 || c.Runs > p.Result.Runs || c.Closed < 0 || c.Closed > c.Runs || len(c.Types) > maxCounts {
			return fmt.Errorf("late messages of %d types in %d of %d runs, the part has %d", len(c.Types), c.Closed,
				c.Runs, p.Result.Runs)
		}
		for _, t := range c.Types {
			if t.Changed < 0 || t.Late < t.Changed || t.Delivered < t.Late || t.Delivered > maxTotal ||
				len(t.Type) > maxText {
				return fmt.Errorf("of %d messages %.50q %d were late and %d changed a state", t.Delivered, t.Type,
					t.Late, t.Changed)
			}
		}
	}
	var merged sketch.Sketch
	return errors.Join(merged.Merge(p.Schedules), merged.Merge(p.States))
}

// checkReached reports why a part cannot have reached what it says.
func (l *Ledger) checkReached(p *Part) error {
	end := p.First + p.Result.Runs
	if err := p.Result.Novelty.Check(p.First, end); err != nil {
		return err
	}
	if p.Code == nil {
		return nil
	}
	if known := cmp.Or(l.Code, p.Code); p.Code.Blocks < 0 || p.Code.Blocks != known.Blocks {
		return fmt.Errorf("the statements of %d blocks, before it were %d", p.Code.Blocks, known.Blocks)
	}
	if most, ok := p.Code.Executed.Last(); ok && most >= 2*uint64(p.Code.Blocks) {
		return fmt.Errorf("the statements of block %d, there are %d", most/2, p.Code.Blocks)
	}
	return p.Code.Executed.Check(p.First, end)
}

// checkTrace reports why a stored trace cannot be that of a finding.
func (l *Ledger) checkTrace(f *lockstep.Failure, shape string, packed batch.Trace) error {
	t, err := openTrace(&packed)
	if err != nil {
		return err
	}
	h := l.Job.Hello
	switch {
	case t.Header.Target != h.Target || t.Header.Seed != h.Seed:
		return fmt.Errorf("it is of %.50q with seed %d, the campaign is of %q with seed %d", t.Header.Target,
			t.Header.Seed, h.Target, h.Seed)
	case f.Flaky == "" && (t.Outcome.Finding == nil || t.Outcome.Finding.Property != f.Finding.Property):
		return fmt.Errorf("it does not violate the property %q", f.Finding.Property)
	case packed.Shape != shape || report.Shape(t) != shape:
		return fmt.Errorf("its shape is %.50q, the part says %.50q", report.Shape(t), shape)
	}
	return nil
}

// openTrace reads a stored trace. It turns the names of the pictures into file names without a directory.
func openTrace(packed *batch.Trace) (*trace.Trace, error) {
	if n := len(packed.Pictures); n > maxPictures {
		return nil, fmt.Errorf("%d pictures, at most %d are allowed", n, maxPictures)
	}
	for i := range packed.Pictures {
		p := &packed.Pictures[i]
		if p.Name = words.Clean(artifact.SafeName(p.Name)); p.Name == "" || len(p.Name) > maxName {
			return nil, fmt.Errorf("a picture whose name has %d bytes, allowed are 1 to %d", len(p.Name), maxName)
		}
	}
	return packed.Read()
}

// normalize keeps the fields of a valid part that are added up, with printable names.
func (p *Part) normalize() {
	p.Worker = words.Clean(p.Worker)
	p.Traces, p.Learned = nil, nil
	if p.Error != "" {
		p.Made, p.Shapes = batch.Made{Ask: p.Ask, Error: words.Clean(p.Error[:min(len(p.Error), maxError)])}, nil
		return
	}
	p.Result.Guarantee = lockstep.Guarantee{} // the campaign's own counts
	for i := range p.Result.Failures {
		f := &p.Result.Failures[i].Finding
		f.Property, f.Stack, p.Shapes[i] = words.Clean(f.Property), "", words.Clean(p.Shapes[i])
	}
}

// check reports invalid values in a worker's report about itself.
func (r *Report) check() error {
	switch {
	case r.Worker == "" || len(r.Worker) > maxName || len(r.Version) > maxName || len(r.Campaign) > maxName:
		return fmt.Errorf("a report of worker %.50q of version %.50q on campaign %.50q", r.Worker, r.Version,
			r.Campaign)
	case r.Runs < 0 || !(r.Speed >= 0 && r.Speed <= maxSpeed):
		return fmt.Errorf("worker %q reports %d runs and %g a second", r.Worker, r.Runs, r.Speed)
	case len(r.Refused) > maxCounts:
		return fmt.Errorf("worker %q refuses %d campaigns, at most %d are taken", r.Worker, len(r.Refused), maxCounts)
	}
	for id, why := range r.Refused {
		if len(id) > maxName || len(why) > maxText {
			return fmt.Errorf("worker %q refuses a campaign in %d bytes", r.Worker, len(id)+len(why))
		}
	}
	return nil
}

// readReport reads the report of a worker.
func readReport(text []byte) (r Report, err error) {
	if err = json.Unmarshal(text, &r); err == nil {
		err = r.check()
	}
	return r, err
}

// readLedger reads the stored state of a campaign.
func readLedger(text []byte) (*Ledger, error) {
	l := &Ledger{}
	if hasLongNumber(text) {
		return nil, fmt.Errorf("it has a number of more than %d digits", maxDigits)
	}
	if err := json.Unmarshal(text, l); err != nil {
		return nil, err
	}
	if l.Job.ID == "" || l.Result == nil || l.Result.Runs < 0 {
		return nil, errors.New("it is not the state of a campaign")
	}
	if l.Result.Verdicts == nil {
		l.Result.Verdicts = map[trace.Verdict]int{}
	}
	if l.Result.Reasons == nil {
		l.Result.Reasons = map[string]int{}
	}
	return l, nil
}
