package campaign

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/coverage/code"
	"github.com/lockstep-go/lockstep/coverage/model"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/novelty"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/trace"
)

// Document is a campaign in the JSON form that the command line prints. Programs rely on the keys; a key that is
// removed or changes its meaning changes the schema number of the command line.
type Document struct {
	// Target is the name of the system under test.
	Target string `json:"target"`
	// Build is the program that the target is part of, such as a library in a version.
	Build string `json:"build,omitempty"`
	// Options are the options of the target that were set.
	Options map[string]string `json:"options,omitempty"`
	// Strategy is the strategy with its options, as --strategy takes it.
	Strategy string `json:"strategy"`
	// Scenario is the name of the scenario.
	Scenario string `json:"scenario,omitempty"`
	// Seed is the seed of the campaign.
	Seed uint64 `json:"seed"`
	// Runs is the number of runs.
	Runs int `json:"runs"`
	// Findings is the number of failing runs, flaky ones included.
	Findings int `json:"findings"`
	// FirstRun is the number of the first failing run, from 0; null: no finding.
	FirstRun *int `json:"first_finding_run"`
	// Finding is the first finding; null: none.
	Finding *Finding `json:"finding"`
	// Trace is the file of the first finding, shrunk; empty: none.
	Trace string `json:"trace"`
	// Page is the HTML page of the first finding.
	Page string `json:"page,omitempty"`
	// Pictures are files that the spec drew of the first finding.
	Pictures []string `json:"pictures,omitempty"`
	// Traces are the files of all findings that were kept.
	Traces []string `json:"traces,omitempty"`
	// Verdict is the verdict of the campaign: pass, fail, unknown, vacuous or flaky.
	Verdict trace.Verdict `json:"verdict"`
	// Problems are all problems of the campaign, the worst first. Every other output prints the same list.
	Problems []lockstep.Problem `json:"problems"`
	// Verdicts is the number of runs by verdict.
	Verdicts map[string]int `json:"verdicts"`
	// Determinism is "deterministic", or "best effort" if a run may differ when it is rerun.
	Determinism string `json:"determinism"`
	// Reasons is the number of runs without a verdict, by reason.
	Reasons map[string]int `json:"reasons,omitempty"`
	// Shrunk describes how far the first finding was shrunk.
	Shrunk string `json:"shrunk,omitempty"`
	// Why describes how the first finding differs from the nearest run that passes.
	Why []string `json:"why,omitempty"`
	// Guarantee is what the strategy guarantees.
	Guarantee Guarantee `json:"guarantee"`
	// Checked is the number of checks of each property that could have failed; null: not counted, which is not zero.
	Checked map[string]*int `json:"checked,omitempty"`
	// CheckedRuns is the number of runs that checked each property at least once, for properties that are counted.
	CheckedRuns map[string]int `json:"checked_runs,omitempty"`
	// Sometimes counts how often that happened which must happen at least once in the campaign.
	Sometimes []Sometimes `json:"sometimes,omitempty"`
	// Effects counts how often each part of the scenario took effect.
	Effects []Effect `json:"effects,omitempty"`
	// Events counts the observable events of all runs, by type.
	Events []Effect `json:"events,omitempty"`
	// Requests is the number of client requests that nodes received in all runs.
	Requests int64 `json:"requests"`
	// IdleRuns is the number of runs without an observable event.
	IdleRuns int `json:"idle_runs"`
	// ElapsedMS is the duration of the campaign in milliseconds.
	ElapsedMS int64 `json:"elapsed_ms"`
	// RunsPerS is the number of runs per second.
	RunsPerS float64 `json:"runs_per_sec"`
	// StepsPerS is the number of steps per second.
	StepsPerS float64 `json:"steps_per_sec"`
	// VirtualMS is the virtual time that passed in all runs, in milliseconds, if the system has one virtual clock.
	VirtualMS int64 `json:"virtual_ms,omitempty"`
	// Speedup is the virtual time that passed, as a multiple of the duration of the campaign.
	Speedup float64 `json:"speedup,omitempty"`
	// Steps is the number of steps of all runs.
	Steps int64 `json:"steps"`
	// Messages is the number of messages sent in all runs.
	Messages int64 `json:"messages"`
	// Digest is a hash of the steps of all runs.
	Digest string `json:"digest"`
	// Interrupted reports that the user stopped the campaign.
	Interrupted bool `json:"interrupted"`

	// FailureRate bounds the probability that a run fails.
	FailureRate Rate `json:"failure_rate"`
	// Groups are groups of similar findings, the most frequent first.
	Groups []Group `json:"groups,omitempty"`
	// Curve is the progress of the campaign over time.
	Curve []Sample `json:"curve,omitempty"`
	// Coverage is the measured coverage, one entry for each criterion.
	Coverage []coverage.Reading `json:"coverage,omitempty"`
	// Code is what the runs executed of the system, if that was measured.
	Code *code.Report `json:"code,omitempty"`
	// Model is what the runs visited of a model, if they were compared with one.
	Model *model.Report `json:"model,omitempty"`
	// Suite is what the runs did with the tests of a suite, if they executed one.
	Suite *model.Suite `json:"suite,omitempty"`
	// NextRun estimates the probability that the next run reaches something new, if there is an estimate.
	NextRun *novelty.Estimate `json:"next_run,omitempty"`
	// Closure counts messages by type, and how many of them were late: of a round that their receiver had left.
	Closure []lockstepform.TypeCount `json:"closure,omitempty"`
	// Control counts the runs of the same plan without the faults of its scenario, if they were made.
	Control *Control `json:"control,omitempty"`

	// Rerun is the command that reruns the campaign.
	Rerun string `json:"rerun,omitempty"`
	// Replay is the command that replays the first finding.
	Replay string `json:"replay,omitempty"`
}

// Finding is a finding in a document.
type Finding struct {
	// Property is the violated property.
	Property string `json:"property"`
	// Text describes the violation.
	Text string `json:"text"`
	// Confirmed reports in how many repetitions the run failed again.
	Confirmed string `json:"confirmed,omitempty"`
}

// Control counts the runs of the same plan without the faults of its scenario.
type Control struct {
	// Runs is the number of runs.
	Runs int `json:"runs"`
	// Successes is the number of runs in which the scenario succeeded, if the scenario has states of success.
	Successes *int `json:"successes,omitempty"`
	// Findings is the number of runs with a finding.
	Findings int `json:"findings"`
}

// controlOf returns the counts of the control, or nil if it was not run.
func controlOf(r *lockstep.Result) *Control {
	if r == nil {
		return nil
	}
	c := &Control{Runs: r.Runs, Findings: Findings(r)}
	if scenario.CanSucceed(r) {
		n := scenario.Successes(r)
		c.Successes = &n
	}
	return c
}

// Effect is the number of times that something happened: a part of a scenario took effect, or an event was observed.
type Effect struct {
	// Name is the part of the scenario, or the type of event.
	Name string `json:"name"`
	// N is the number of times that it happened.
	N int `json:"n"`
}

// Sometimes is what must happen at least once in a campaign.
type Sometimes struct {
	// Name says what must happen.
	Name string `json:"name"`
	// N is the number of times that it happened.
	N int `json:"n"`
	// Runs is the number of runs in which it happened.
	Runs int `json:"runs"`
}

// Guarantee is the guarantee of a strategy for a campaign.
type Guarantee struct {
	// Text is the guarantee for one run, as text.
	Text string `json:"text"`
	// PerRun is the lower bound of the probability for one run.
	PerRun float64 `json:"per_run"`
	// AllRuns is the lower bound of the probability for all runs of the campaign.
	AllRuns float64 `json:"all_runs"`
	// RunsFor95 is the number of runs with which the probability reaches 0.95; 0: none below 2^53.
	RunsFor95 int `json:"runs_for_95"`
	// Certain reports that the campaign has covered every goal.
	Certain bool `json:"certain"`
	// Space is the exact number of goals, in digits.
	Space string `json:"space,omitempty"`
	// Assumes are the assumptions of the bound.
	Assumes []string `json:"assumes,omitempty"`
}

// addProperties adds how often each property was checked, and what happened sometimes.
func (d *Document) addProperties(checked []lockstep.Count) {
	for _, j := range checked {
		if j.Sometimes {
			d.Sometimes = append(d.Sometimes, Sometimes{j.Name, max(j.N, 0), j.Runs})
			continue
		}
		d.Checked[j.Name] = nil
		if n := j.N; n != lockstep.NotCounted {
			d.Checked[j.Name] = &n
			if n > 0 || !j.Optional {
				d.CheckedRuns[j.Name] = j.Runs
			}
		}
	}
}

// Document returns the campaign as JSON.
func (c *Campaign) Document() Document {
	r := c.Result
	d := Document{
		Target:      r.Target,
		Build:       c.Build,
		Options:     c.Options,
		Strategy:    r.Strategy,
		Scenario:    c.Scenario,
		Seed:        r.Seed,
		Runs:        r.Runs,
		Findings:    c.Findings(),
		Trace:       c.Trace,
		Page:        c.Page,
		Pictures:    c.Pictures,
		Traces:      c.Traces,
		Verdict:     c.Verdict(),
		Problems:    c.Problems(),
		Verdicts:    map[string]int{},
		Determinism: r.Determinism.String(),
		Reasons:     r.Reasons,
		Shrunk:      c.Shrunk,
		Why:         c.Why,
		Guarantee:   guarantee(r),
		Checked:     map[string]*int{},
		CheckedRuns: map[string]int{},
		ElapsedMS:   c.Elapsed.Milliseconds(),
		RunsPerS:    c.perSecond(int64(r.Runs)),
		StepsPerS:   c.perSecond(r.Steps),
		VirtualMS:   time.Duration(r.Virtual).Milliseconds(),
		Speedup:     c.speedup(),
		Steps:       r.Steps,
		Messages:    r.Messages,
		Requests:    r.Requests,
		IdleRuns:    r.IdleRuns,
		Digest:      fmt.Sprintf("%016x", r.Digest),
		Interrupted: r.Stopped,
		FailureRate: c.FailureRate(),
		Groups:      c.Groups,
		Curve:       c.Curve,
		Coverage:    c.Coverage,
		Code:        c.Code,
		Model:       c.Model,
		Suite:       c.Suite,
		NextRun:     c.next(),
		Closure:     c.Closure,
		Control:     controlOf(c.Control),
		Rerun:       c.Rerun,
		Replay:      c.Replay,
	}
	if d.Problems == nil {
		d.Problems = []lockstep.Problem{} // a list in JSON, not null
	}
	for v, n := range r.Verdicts {
		d.Verdicts[string(v)] = n
	}
	if f := r.First(); f != nil {
		d.FirstRun = &f.Run
		d.Finding = &Finding{Property: f.Finding.Property, Text: f.Finding.Text, Confirmed: f.Confirmed()}
	}
	d.addProperties(r.Checked)
	for _, x := range r.Effects {
		d.Effects = append(d.Effects, Effect{x.Name, x.N})
	}
	for _, x := range r.Events {
		d.Events = append(d.Events, Effect{x.Name, x.N})
	}
	return d
}

func guarantee(r *lockstep.Result) Guarantee {
	g := r.Guarantee
	p := Guarantee{
		Text:      g.String(),
		PerRun:    g.PerRun,
		AllRuns:   g.After(r.Runs),
		RunsFor95: g.Runs(0.95),
		Certain:   g.Certain,
		Assumes:   g.Assumes,
	}
	if g.Space != nil {
		p.Space = g.Space.String()
	}
	return p
}
