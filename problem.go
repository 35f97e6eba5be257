package lockstep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/trace"
)

// Problem is a fact about a campaign that its user must know. [Result.Problems] lists the problems, and every front
// end prints that list: an error in one front end is an error in all of them.
type Problem struct {
	// Kind is the subject of the problem: failure, flaky, divergence, vacuous-runs, inconclusive, unknown, no-runs,
	// stopped, vacuous-part, vacuous-property, unreached, idle, nondeterminism or stall.
	Kind string `json:"kind"`
	// Severity is error or warning. An error is exit status 1.
	Severity string `json:"severity"`
	// Property is the property concerned, if any.
	Property string `json:"property,omitempty"`
	// Text says what is wrong, in one line.
	Text string `json:"text"`
	// Count is the number of runs concerned, and Runs lists the first of them, if known.
	Count int   `json:"count"`
	Runs  []int `json:"runs,omitempty"`
	// Places lists possible causes: sources of nondeterminism in the system.
	Places []string `json:"places,omitempty"`
}

// The kinds of problem, the worst first.
const (
	ProblemFailure         = "failure"          // runs violate a property
	ProblemFlaky           = "flaky"            // runs violated a property, but not when they were repeated
	ProblemDivergence      = "divergence"       // a passing run differed when it was rerun
	ProblemVacuousRuns     = "vacuous-runs"     // the scenario took effect in no run
	ProblemInconclusive    = "inconclusive"     // the environment made runs inconclusive
	ProblemUnknown         = "unknown"          // runs were not checked, e.g. because they reached a limit
	ProblemNoRuns          = "no-runs"          // the campaign ended before its first run
	ProblemStopped         = "stopped"          // a person stopped the campaign
	ProblemVacuousPart     = "vacuous-part"     // a part of the scenario never took effect
	ProblemVacuousProperty = "vacuous-property" // a property was never checked
	ProblemUnreached       = "unreached"        // something that must happen at least once in a campaign never did
	ProblemIdle            = "idle"             // runs have little activity
	ProblemNondeterminism  = "nondeterminism"   // the system has sources of nondeterminism
	ProblemStall           = "stall"            // a step was slow, or hanging goroutines were left running
)

// The severities. An error fails a test and is exit status 1. A warning is printed.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// verdicts maps a kind of problem to the campaign's verdict, if that is not a pass.
var verdicts = map[string]trace.Verdict{
	ProblemFailure: trace.Fail, ProblemFlaky: trace.Flaky, ProblemDivergence: trace.Flaky,
	ProblemVacuousRuns: trace.Vacuous, ProblemInconclusive: trace.Unknown, ProblemUnknown: trace.Unknown,
	ProblemNoRuns: trace.Unknown, ProblemStopped: trace.Unknown,
}

// Verdict is the campaign's verdict because of the problem. It is pass for a problem that only limits the
// significance of the campaign.
func (p *Problem) Verdict() trace.Verdict {
	if v, ok := verdicts[p.Kind]; ok {
		return v
	}
	return trace.Pass
}

// maxProblemRuns is the number of runs that a problem lists.
const maxProblemRuns = 10

// Problems lists the problems of a campaign, the worst first. The list is empty for a campaign that passed and
// exercised everything.
func (r *Result) Problems() []Problem {
	list := append(r.failures(trace.Fail, ProblemFailure), r.failures(trace.Flaky, ProblemFlaky)...)
	list = append(list, r.divergences()...)
	if r.Runs == 0 {
		return append(list, r.noRuns())
	}
	if n := r.Verdicts[trace.Vacuous]; n == r.Runs {
		list = append(list, Problem{Kind: ProblemVacuousRuns, Severity: SeverityError, Count: n,
			Text: fmt.Sprintf("the scenario took effect in none of %s", words.Count(n, "run"))})
	}
	list = append(list, r.unknown()...)
	if r.Stopped {
		list = append(list, Problem{Kind: ProblemStopped, Severity: SeverityWarning, Count: r.Runs,
			Text: "interrupted after " + words.Count(r.Runs, "run")})
	}
	if !r.endedEarly() {
		list = slices.Concat(list, r.vacuous(), r.idleRuns())
	}
	return slices.Concat(list, r.nondeterminism(), r.stalls())
}

// endedEarly reports whether the campaign ended with its only finding: further runs might have exercised the rest.
func (r *Result) endedEarly() bool {
	return r.Findings() == 1 && len(r.Failures) == 1 && r.Failures[0].Run == r.From+r.Runs-1
}

// Verdict is the verdict on the whole campaign: that of its problems.
func (r *Result) Verdict() trace.Verdict { return VerdictOf(r.Problems()) }

// RepetitionProblems returns those of [Result.Problems] that say that runs differed when they were repeated. The
// numbers of such a campaign are not properties of the system and the plan alone.
func (r *Result) RepetitionProblems() []Problem {
	return slices.DeleteFunc(r.Problems(), func(p Problem) bool { return p.Verdict() != trace.Flaky })
}

// VerdictOf is the verdict that several problems lead to: that of the worst, in the order fail, flaky, vacuous and
// unknown. It is pass if there is no problem.
func VerdictOf(problems []Problem) trace.Verdict {
	worst := trace.Pass
	order := []trace.Verdict{trace.Fail, trace.Flaky, trace.Vacuous, trace.Unknown, trace.Pass}
	for _, p := range problems {
		if v := p.Verdict(); slices.Index(order, v) < slices.Index(order, worst) {
			worst = v
		}
	}
	return worst
}

// failures lists the failing runs by property: those that failed again, or those that did not.
func (r *Result) failures(verdict trace.Verdict, kind string) (list []Problem) {
	for i := range r.Failures {
		f := &r.Failures[i]
		if (f.Flaky != "") != (kind == ProblemFlaky) {
			continue
		}
		at := slices.IndexFunc(list, func(p Problem) bool { return p.Property == f.Finding.Property })
		if at < 0 {
			at = len(list)
			list = append(list, Problem{Kind: kind, Severity: SeverityError, Property: f.Finding.Property,
				Text: f.text(), Places: f.Nondeterminism})
		}
		list[at].add(f.Run)
	}
	if kind == ProblemFailure {
		list = r.countFailures(list)
	}
	listed := 0
	for i := range list {
		p := &list[i]
		first := " (traces not kept)"
		if len(p.Runs) > 0 {
			first = fmt.Sprintf(", first in run %d%s", p.Runs[0], p.Text)
		}
		p.Text = fmt.Sprintf("%s in %d of %s%s", p.Property, p.Count, words.Count(r.Runs, "run"), first)
		listed += p.Count
	}
	if more := r.Verdicts[verdict] - listed; more > 0 { // of any property
		list = append(list, Problem{Kind: kind, Severity: SeverityError, Count: more,
			Text: fmt.Sprintf("%d failing %s (traces not kept)", more, words.Plural(more, "run"))})
	}
	return list
}

// countFailures sets the numbers of all failing runs, of which the result keeps only the first.
func (r *Result) countFailures(list []Problem) []Problem {
	for _, c := range r.ByProperty {
		at := slices.IndexFunc(list, func(p Problem) bool { return p.Property == c.Name })
		if at < 0 {
			at = len(list)
			list = append(list, Problem{Kind: ProblemFailure, Severity: SeverityError, Property: c.Name})
		}
		list[at].Count = max(list[at].Count, c.N)
	}
	return list
}

// text is a problem's description of the first failing run of a property.
func (f *Failure) text() string {
	text := ""
	switch {
	case f.Flaky != "":
		text = ", but " + f.Flaky
	case f.Repeated > 1:
		text = ", which " + f.Confirmed()
	}
	return text + ": " + f.Finding.Text
}

// add adds a run to the problem's runs.
func (p *Problem) add(run int) {
	p.Count++
	if len(p.Runs) < maxProblemRuns {
		p.Runs = append(p.Runs, run)
	}
}

// divergences lists the passing runs that differed when they were rerun.
func (r *Result) divergences() (list []Problem) {
	for _, d := range r.Divergences {
		list = append(list, Problem{Kind: ProblemDivergence, Severity: SeverityError,
			Count: 1, Runs: []int{d.Run}, Places: d.Nondeterminism,
			Text: fmt.Sprintf("run %d passed and differed when it was repeated: %s%s", d.Run, d.Difference, d.hint())})
	}
	if more := r.Diverged - len(list); more > 0 {
		list = append(list, Problem{Kind: ProblemDivergence, Severity: SeverityError, Count: more,
			Text: fmt.Sprintf("%d more of %s differed when they were repeated", more, words.Count(r.Rechecked, "run"))})
	}
	return list
}

// hint says where to look if no source of nondeterminism was seen.
func (d *Divergence) hint() string {
	if len(d.Nondeterminism) > 0 {
		return ""
	}
	return "; no source of nondeterminism was seen: look for state that outlives a run, e.g. in package variables"
}

// noRuns reports that nothing was tested.
func (r *Result) noRuns() Problem {
	text := "no run was made"
	if r.Interrupted {
		text = "interrupted before the first run ended"
	}
	return Problem{Kind: ProblemNoRuns, Severity: SeverityError, Text: text}
}

// unknown lists runs that were not checked. They are an error if the environment is broken, or if no run at all was
// checked.
func (r *Result) unknown() (list []Problem) {
	severity := SeverityWarning
	if unknown := r.Verdicts[trace.Unknown]; unknown > 0 && unknown+r.Verdicts[trace.Vacuous] == r.Runs {
		severity = SeverityError
	}
	if n := r.Inconclusive; n > 0 {
		p := Problem{Kind: ProblemInconclusive, Severity: severity, Count: n,
			Text: fmt.Sprintf("%d of %s inconclusive and discarded%s", n, words.Were(r.Runs, "run"), r.reasons(true))}
		if err := r.EnvironmentError(); err != nil {
			p.Severity, p.Text = SeverityError, firstLine(strings.TrimPrefix(err.Error(), "lockstep: "))
		}
		list = append(list, p)
	}
	if n := r.Verdicts[trace.Unknown] - r.Inconclusive; n > 0 {
		list = append(list, Problem{Kind: ProblemUnknown, Severity: severity, Count: n,
			Text: fmt.Sprintf("%d of %s not checked%s", n, words.Were(r.Runs, "run"), r.reasons(false))})
	}
	for i := range list {
		for _, u := range r.Unknown {
			if u.Inconclusive == (list[i].Kind == ProblemInconclusive) {
				list[i].Runs = append(list[i].Runs, u.Run)
			}
		}
	}
	return list
}

// reasons lists the first reasons why runs are unknown.
func (r *Result) reasons(inconclusive bool) string {
	const most = 3
	var list []string
	for _, u := range r.Unknown {
		if u.Inconclusive != inconclusive {
			continue
		}
		list = append(list, fmt.Sprintf("%s (%d, first run %d)", firstLine(u.Reason), r.Reasons[u.Reason], u.Run))
	}
	if len(list) > most {
		list = append(list[:most], "and other reasons")
	}
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, "; ")
}

// firstLine is a text without the stack traces that may follow it.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// vacuous lists the parts and properties that no run exercised.
func (r *Result) vacuous() (list []Problem) {
	for _, name := range r.IdleParts() {
		list = append(list, Problem{Kind: ProblemVacuousPart, Severity: SeverityWarning, Count: r.Runs,
			Text: fmt.Sprintf("the part of the scenario %q never took effect", name)})
	}
	for _, name := range r.Unchecked() {
		list = append(list, Problem{Kind: ProblemVacuousProperty, Severity: SeverityWarning,
			Property: name, Count: r.Runs, Text: fmt.Sprintf("property %s was never checked", name)})
	}
	for _, name := range r.Unreached() {
		list = append(list, Problem{Kind: ProblemUnreached, Severity: SeverityWarning, Property: name, Count: r.Runs,
			Text: fmt.Sprintf("%q is expected at least once, and happened in none of %s", name, words.Count(r.Runs, "run"))})
	}
	return list
}

// seldom is the share of runs below which a property counts as hardly exercised, in campaigns of at least leastRuns.
const (
	seldom    = 0.5
	leastRuns = 5
)

// idleRuns reports why the runs show little. A system that never emits events is not idle for that reason: its spec
// may look at states.
func (r *Result) idleRuns() []Problem {
	why := ""
	if len(r.Events) > 0 && 2*r.IdleRuns > r.Runs || len(r.Events) == 0 && len(r.Unchecked()) > 0 {
		why = "most runs are idle"
	}
	for _, j := range r.Checked {
		if why == "" && !j.Sometimes && j.N > 0 && r.Runs >= leastRuns && float64(j.Runs) < seldom*float64(r.Runs) {
			why = fmt.Sprintf("property %s was checked in %d of %d runs only", j.Name, j.Runs, r.Runs)
		}
	}
	if why == "" {
		return nil
	}
	return []Problem{{Kind: ProblemIdle, Severity: SeverityWarning, Count: r.Runs, Text: why + ": " + r.instead()}}
}

// instead suggests an alternative if the runs of a strategy are idle.
func (r *Result) instead() string {
	name, _, _ := strings.Cut(r.Strategy, ":")
	switch name {
	case "uniform", "lossy":
		return fmt.Sprintf("in the rounds of %s, nodes with timeouts of their own may get nothing done; "+
			"try the strategy walk, pos or partition, or more rounds", name)
	case "baseline", "walk":
		return "try longer runs, or delay, which follows the system's own time; " + lookAtAdapter
	default:
		return "try longer runs, or baseline:drop=0, which has no faults; " + lookAtAdapter
	}
}

const lookAtAdapter = "if they are idle, too, look at the system's adapter"

// nondeterminism lists the sources of nondeterminism that runs encountered.
func (r *Result) nondeterminism() []Problem {
	n := len(r.Nondeterminism)
	if n == 0 {
		return nil
	}
	return []Problem{{Kind: ProblemNondeterminism, Severity: SeverityWarning, Count: r.Runs, Places: r.Nondeterminism,
		Text: words.Count(n, "source") + " of nondeterminism, or of state that nodes share"}}
}

// stalls reports the observations of the watchdog.
func (r *Result) stalls() (list []Problem) {
	if n := r.Stalls; n > 0 {
		list = append(list, Problem{Kind: ProblemStall, Severity: SeverityWarning, Count: n,
			Text: fmt.Sprintf("no step ended in the time of the watchdog, %s, but the runs ended when repeated",
				words.Count(n, "time"))})
	}
	if n := r.Left; n > 0 {
		list = append(list, Problem{Kind: ProblemStall, Severity: SeverityWarning, Count: n,
			Text: fmt.Sprintf("goroutines that hang and cannot be stopped before the program ends: %d", n)})
	}
	return list
}
