// Package campaign reports the results of campaigns to people and machines.
//
//   - [Campaign.Write] summarizes a campaign in a few lines, and [Page] writes it as one HTML
//     file that works offline; [ComparePage] does so with compared strategies.
//   - [Campaign.Document] is its form in JSON; [JUnit] and [Annotations] report it to CI servers.
//   - [Progress] shows a running campaign on a terminal.
//
// Package report draws single runs, from traces alone.
package campaign

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/coverage/code"
	"github.com/lockstep-go/lockstep/coverage/model"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/novelty"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// Campaign is a finished campaign, with the files of its findings.
type Campaign struct {
	// Result is the result of the campaign.
	Result *lockstep.Result
	// Options are the settings of the target, Build the program that it is part of, and Scenario the scenario's name,
	// if there are any.
	Options  map[string]string
	Build    string
	Scenario string
	// Elapsed is the duration of the campaign.
	Elapsed time.Duration
	// TimeUp reports that the campaign used up its time.
	TimeUp bool

	// Trace is the file of the first finding, shrunk, and Page its page. Found is the file of the same run before it was
	// shrunk; empty if it was not. Traces are the files of all findings that were kept.
	Trace, Page, Found string
	// Pictures are the pictures that the spec drew of the first finding.
	Pictures []string
	Traces   []string
	// Shrunk describes how far the first finding was shrunk. ShrunkText is the finding's text in the shrunk run, whose
	// values may differ from those of the run as it was found.
	Shrunk, ShrunkText string
	// Why describes how the first finding differs from the nearest run that passes.
	Why []string
	// Groups are groups of similar findings.
	Groups []Group
	// Curve is the progress of the campaign over time.
	Curve []Sample
	// Coverage is the measured coverage, if there is any.
	Coverage []coverage.Reading
	// Code is what the runs executed of the system, if that was measured.
	Code *code.Report
	// Model is what the runs visited of a model, if they were compared with one.
	Model *model.Report
	// Suite is what the runs did with the tests of a suite, if they executed one.
	Suite *model.Suite
	// Next is what the campaign says about its next run by a criterion of its own; nil: by that of the result.
	Next *novelty.Estimate
	// Closure counts late messages, if they were counted.
	Closure []lockstepform.TypeCount

	// Control is the result of the same plan without the faults of its scenario, if the control was run.
	Control *lockstep.Result

	// Notes are further lines of the summary, such as coverage.
	Notes []string

	// Rerun is the command that reruns the campaign, and Replay the one that replays its first finding.
	Rerun, Replay string
}

// Sample is the progress of a campaign at one time.
type Sample struct {
	Runs      int   `json:"runs"`       // number of runs so far
	ElapsedMS int64 `json:"elapsed_ms"` // time so far, in milliseconds
	States    int   `json:"states"`     // distinct states so far, over the runs in which they are counted
	Schedules int   `json:"schedules"`  // distinct schedules so far
	Findings  int   `json:"findings"`   // failing runs so far
}

// samples is the largest number of points of a campaign's curve.
const samples = 400

// AddSample adds the progress of a campaign to its curve. If there are too many points, it removes every other one.
func AddSample(curve []Sample, r *lockstep.Result, elapsed time.Duration) []Sample {
	if n := len(curve); n > 0 && curve[n-1].Runs == r.Runs {
		return curve
	}
	if len(curve) >= samples {
		for i := range samples / 2 {
			curve[i] = curve[2*i+1]
		}
		curve = curve[:samples/2]
	}
	return append(
		curve,
		Sample{Runs: r.Runs, ElapsedMS: elapsed.Milliseconds(), States: r.States, Schedules: r.Schedules,
			Findings: Findings(r)},
	)
}

// Problems lists the problems of the campaign, the worst first. If the runs of its control did not repeat, this is a
// problem of the campaign, too.
func (c *Campaign) Problems() []lockstep.Problem {
	list := c.Result.Problems()
	if c.Control == nil {
		return list
	}
	at := slices.IndexFunc(list, func(p lockstep.Problem) bool {
		return p.Verdict() != trace.Fail && p.Verdict() != trace.Flaky
	})
	if at < 0 {
		at = len(list)
	}
	control := c.Control.RepetitionProblems()
	for i := range control {
		control[i].Text = "in the control: " + control[i].Text
	}
	return slices.Insert(list, at, control...)
}

// Verdict returns the verdict of the campaign, that of its problems.
func (c *Campaign) Verdict() trace.Verdict { return lockstep.VerdictOf(c.Problems()) }

// Findings returns the number of failing runs, flaky ones included.
func (c *Campaign) Findings() int { return Findings(c.Result) }

// Findings returns the number of failing runs of a result, flaky ones included.
func Findings(r *lockstep.Result) int { return r.Findings() }

// FailureRate bounds the probability that a run fails.
func (c *Campaign) FailureRate() Rate {
	return FailureRate(c.Result.Runs, c.Result.Verdicts[trace.Fail], DefaultConfidence)
}

// perSecond returns a rate.
func (c *Campaign) perSecond(n int64) float64 {
	if c.Elapsed <= 0 {
		return 0
	}
	return float64(n) / c.Elapsed.Seconds()
}

// timesReal describes the speed of virtual time, over all runs together and with the whole elapsed time.
func (c *Campaign) timesReal() string {
	if c.Result.Virtual == 0 {
		return ""
	}
	return fmt.Sprintf(", %s times real time", speed(c.speedup()))
}

// speedup returns the virtual time that passed, as a multiple of real time.
func (c *Campaign) speedup() float64 {
	return c.perSecond(int64(c.Result.Virtual)) / float64(time.Second)
}

// speed formats a rate. With real servers it is less than one run per second.
func speed(perSecond float64) string {
	if perSecond < 10 {
		return fmt.Sprintf("%.2g", perSecond)
	}
	return fmt.Sprintf("%.0f", perSecond)
}

// BestEffort describes the runs of a nondeterministic system.
const BestEffort = "best effort: a run may differ when it is repeated"

// Write summarizes the campaign in a few lines.
func (c *Campaign) Write(w io.Writer, color bool) error {
	r := c.Result
	var b strings.Builder
	fmt.Fprintf(&b, "%s under %s, seed %d\n", c.named(), plain.Clean(r.Strategy), r.Seed)
	fmt.Fprintf(&b, "%s, %s in %v (%s runs/s, %s steps/s%s)%s\n", words.Count(r.Runs, "run"),
		words.Count(r.Steps, "step"), c.Elapsed.Round(time.Millisecond), speed(c.perSecond(int64(r.Runs))),
		speed(c.perSecond(r.Steps)), c.timesReal(), c.ended())
	if r.Determinism != lockstep.Deterministic {
		fmt.Fprintln(&b, BestEffort)
	}
	for _, line := range Activity(r) {
		fmt.Fprintln(&b, line)
	}
	if c.Shrunk != "" {
		fmt.Fprintf(&b, "shrunk %s\n", plain.Clean(c.Shrunk))
	}
	for _, line := range c.Why {
		fmt.Fprintln(&b, plain.Clean(line))
	}
	if text := r.Guarantee.String(); text != "" {
		if r.Guarantee.PerRun > 0 || r.Guarantee.Certain {
			text = "guarantee: " + text
		}
		fmt.Fprintln(&b, plain.Clean(text))
		if r.Guarantee.PerRun > 0 && !r.Guarantee.Certain {
			fmt.Fprintf(&b, "           %s hit it with probability at least %.3g; probability 0.95 takes %s\n",
				words.These(r.Runs, "run"), r.Guarantee.After(r.Runs), orMany(r.Guarantee.Runs(0.95)))
			if terms := r.Guarantee.Assumes; len(terms) > 0 {
				fmt.Fprintf(&b, "           assumptions: %s\n", plain.Clean(strings.Join(terms, "; ")))
			}
		}
	}
	for _, line := range groupLines(c.Groups, c.Findings()) {
		fmt.Fprintln(&b, line)
	}
	for _, line := range c.Notes {
		fmt.Fprintln(&b, plain.Clean(line))
	}
	for _, line := range c.reached() {
		fmt.Fprintln(&b, line)
	}
	same := ""
	if r.Determinism == lockstep.Deterministic && r.Diverged == 0 && !r.Interrupted && c.ended() == "" {
		same = " (the same command gives the same digest)"
	}
	fmt.Fprintf(&b, "digest %016x%s\n", r.Digest, same)
	for _, line := range []struct{ text, value string }{
		{"trace", c.Trace},
		{"trace before shrinking", c.Found},
		{"page", c.Page},
		{"drawn by the spec:", strings.Join(c.Pictures, ", ")},
		{"replay it with:", c.Replay},
	} {
		if line.value != "" {
			fmt.Fprintf(&b, "%s %s\n", line.text, plain.Clean(line.value))
		}
	}
	if c.Replay == "" && c.Rerun != "" && Failed(c.Problems()) {
		fmt.Fprintf(&b, "repeat it with: %s\n", plain.Clean(c.Rerun))
	}
	c.writeProblems(&b, color)
	_, err := io.WriteString(w, b.String())
	return err
}

// ended returns the reason for an early end of the campaign.
func (c *Campaign) ended() string {
	switch {
	case c.Result.Stopped:
		return ", interrupted"
	case c.TimeUp:
		return ", stopped when the time was up"
	default:
		return ""
	}
}

// writeProblems ends the summary with the problems and then the verdict. The verdict is last, so that no list hides it.
func (c *Campaign) writeProblems(b *strings.Builder, color bool) {
	list := c.Problems()
	if len(list) > 0 && list[0].Verdict() == c.Verdict() && c.Verdict() != trace.Pass && len(list[0].Places) == 0 {
		list = list[1:] // the summary has it
	}
	for _, line := range ProblemLines(list, ": --json and --report list all") {
		fmt.Fprintln(b, line)
	}
	line := c.Summary()
	if word, rest, _ := strings.Cut(line, " "); c.Verdict() == trace.Fail || c.Verdict() == trace.Flaky {
		line = plain.Red(color, word) + " " + rest
	}
	fmt.Fprintln(b, line)
}

// named returns the target with its options.
func (c *Campaign) named() string { return plain.Named(c.Result.Target, c.Build, c.Options) }

func orMany(n int) string {
	if n == 0 {
		return "more than 2^53 runs"
	}
	return words.Count(n, "run")
}
