package report

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/trace"
)

// Campaign sums up a campaign. Its JSON form is what the command line prints with
// --json.
type Campaign struct {
	Target      string            `json:"target"`
	Options     map[string]string `json:"options,omitempty"`
	Strategy    string            `json:"strategy"`
	Scenario    string            `json:"scenario,omitempty"`
	Seed        uint64            `json:"seed"`
	Runs        int               `json:"runs"`
	Findings    int               `json:"findings"`
	FirstRun    *int              `json:"first_finding_run"` // null: none
	Finding     *Problem          `json:"finding"`           // the first; null: none
	Trace       string            `json:"trace"`             // file of the first finding, shrunk
	Traces      []string          `json:"traces,omitempty"`  // files of all findings kept
	Verdict     trace.Verdict     `json:"verdict"`
	Verdicts    map[string]int    `json:"verdicts"`
	Reasons     map[string]int    `json:"reasons,omitempty"` // limits that runs reached
	Shrunk      string            `json:"shrunk,omitempty"`
	Guarantee   Promise           `json:"guarantee"`
	Judged      map[string]int    `json:"judged,omitempty"`  // how often each property could have failed; -1: nobody counted
	Effects     []Effect          `json:"effects,omitempty"` // how often each part of the scenario took effect
	ElapsedMS   int64             `json:"elapsed_ms"`
	RunsPerS    float64           `json:"runs_per_sec"`
	StepsPerS   float64           `json:"steps_per_sec"`
	Steps       int64             `json:"steps"`
	Messages    int64             `json:"messages"`
	Digest      string            `json:"digest"`
	Interrupted bool              `json:"interrupted,omitempty"`

	// FailureRate bounds the chance that a run fails.
	FailureRate *Rate `json:"failure_rate,omitempty"`
	// Groups are the findings that are alike.
	Groups []Group `json:"groups,omitempty"`
	// Curve tells how the campaign went on over time.
	Curve []Sample `json:"curve,omitempty"`
	// Coverage is what was reached of what there is.
	Coverage []Covered `json:"coverage,omitempty"`
	// Compared are the strategies that ran on the same target.
	Compared []Compared `json:"compared,omitempty"`
	// Closure counts late messages, where the campaign measured them.
	Closure []LateCount `json:"closure,omitempty"`

	// Again is the command that makes the campaign again, and Replay the one that
	// replays its first finding.
	Again  string `json:"again,omitempty"`
	Replay string `json:"replay,omitempty"`
}

// Group is a number of findings of one property and one shape.
type Group struct {
	Property string `json:"property"`
	Shape    string `json:"shape"`
	Findings int    `json:"findings"`
	First    int    `json:"first_run"`
	Text     string `json:"text"`            // of the first
	Trace    string `json:"trace,omitempty"` // file of the first
}

// Sample is how far a campaign was at a time.
type Sample struct {
	Runs      int   `json:"runs"`
	ElapsedMS int64 `json:"elapsed_ms"`
	States    int   `json:"states"`    // distinct states seen so far
	Schedules int   `json:"schedules"` // distinct schedules so far
	Findings  int   `json:"findings"`
}

// Covered is how much of something was reached.
type Covered struct {
	Name string `json:"name"`
	Seen int    `json:"seen"`
	Of   int    `json:"of,omitempty"` // 0: not known
}

// Compared is how a strategy did on the target: the runs to its first finding, with
// confidence limits, over several repetitions.
type Compared struct {
	Strategy string  `json:"strategy"`
	Repeats  int     `json:"repeats"`
	Found    int     `json:"found"` // repetitions that found something
	Median   float64 `json:"median_runs"`
	Lower    float64 `json:"lower_runs"`
	Upper    float64 `json:"upper_runs"`
}

// LateCount is how often late messages of a type changed a state.
type LateCount struct {
	Type      string `json:"type"`
	Delivered int    `json:"delivered"`
	Late      int    `json:"late"`
	Changed   int    `json:"changed"`
}

// Problem is a finding in a campaign.
type Problem struct {
	Property string `json:"property"`
	Text     string `json:"text"`
}

// Effect is how often a part of a scenario took effect.
type Effect struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// Promise is the guarantee of a strategy for the campaign just made.
type Promise struct {
	Text      string   `json:"text"`            // for one run
	PerRun    float64  `json:"per_run"`         // lower bound for one run
	AllRuns   float64  `json:"all_runs"`        // and for all runs of the campaign
	RunsFor95 int      `json:"runs_for_95"`     // runs that reach 0.95; 0: none below 2^53
	Space     string   `json:"space,omitempty"` // exact number of targets
	Assumes   []string `json:"assumes,omitempty"`
}

// Write sums up the campaign in a few lines.
func (c *Campaign) Write(w io.Writer, o Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s under %s, seed %d\n", named(c.Target, c.Options), c.Strategy, c.Seed)
	fmt.Fprintf(&b, "%d runs, %d steps in %v (%.0f runs/s, %.0f steps/s)", c.Runs, c.Steps,
		(time.Duration(c.ElapsedMS) * time.Millisecond).Round(time.Millisecond), c.RunsPerS, c.StepsPerS)
	if c.Interrupted {
		b.WriteString(", interrupted")
	}
	b.WriteString("\n")
	c.writeVerdict(&b, o)
	c.writeCounts(&b)
	if c.Guarantee.Text != "" {
		fmt.Fprintf(&b, "guarantee: %s\n", c.Guarantee.Text)
		if c.Guarantee.PerRun > 0 {
			fmt.Fprintf(&b, "           these %d runs: at least %.3g; for 0.95 it takes %s runs\n",
				c.Runs, c.Guarantee.AllRuns, orMany(c.Guarantee.RunsFor95))
		}
	}
	fmt.Fprintf(&b, "digest %s\n", c.Digest)
	if c.Trace != "" {
		fmt.Fprintf(&b, "trace %s\n", c.Trace)
	}
	if c.Replay != "" {
		fmt.Fprintf(&b, "replay it with: %s\n", c.Replay)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Campaign) writeVerdict(b *strings.Builder, o Options) {
	switch {
	case c.Finding != nil:
		word := "FAIL"
		if c.Verdict == trace.Flaky {
			word = "FLAKY"
		}
		fmt.Fprintf(b, "%s %d of %d runs, first in run %d: %s: %s\n", o.paint(red, word), c.Findings, c.Runs, *c.FirstRun,
			clean(c.Finding.Property), clean(c.Finding.Text))
	default:
		fmt.Fprintf(b, "%s nothing found\n", strings.ToUpper(string(c.Verdict)))
	}
	for _, reason := range sorted(c.Reasons) {
		fmt.Fprintf(b, "%d runs stopped at a limit: %s\n", c.Reasons[reason], reason)
	}
	if n := c.Verdicts[string(trace.Vacuous)]; n > 0 {
		fmt.Fprintf(b, "%d runs were vacuous: the scenario never took effect in them\n", n)
	}
	if c.Shrunk != "" {
		fmt.Fprintf(b, "shrunk %s\n", c.Shrunk)
	}
}

func (c *Campaign) writeCounts(b *strings.Builder) {
	for _, name := range sorted(c.Judged) {
		if c.Judged[name] == 0 {
			fmt.Fprintf(b, "warning: property %s was never put to the test\n", name)
		} else {
			fmt.Fprintf(b, "property %s was %s\n", name, judged(c.Judged[name]))
		}
	}
	for _, e := range c.Effects {
		if e.N == 0 {
			fmt.Fprintf(b, "warning: %s never took effect\n", e.Name)
		}
	}
}

// judged says how often a property could have failed.
func judged(n int) string {
	if n < 0 {
		return "judged, nobody counted how often"
	}
	return fmt.Sprintf("judged %d times", n)
}

func named(target string, options map[string]string) string {
	s := clean(target)
	for _, k := range sorted(options) {
		s += fmt.Sprintf(" %s=%s", clean(k), clean(options[k]))
	}
	return s
}

func orMany(n int) string {
	if n == 0 {
		return "more than 2^53"
	}
	return fmt.Sprint(n)
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
