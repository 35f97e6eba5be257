package campaign

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/trace"
)

// Document is a campaign in the JSON form that the command line prints. Programs rely on the keys.
type Document struct {
	Target   string            `json:"target"`
	Build    string            `json:"build,omitempty"`
	Options  map[string]string `json:"options,omitempty"`
	Strategy string            `json:"strategy"`
	Scenario string            `json:"scenario,omitempty"`
	Seed     uint64            `json:"seed"`
	Runs     int               `json:"runs"`
	Findings int               `json:"findings"`
	FirstRun *int              `json:"first_finding_run"` // null: no finding
	Finding  *Finding          `json:"finding"`           // the first finding; null: none
	Trace    string            `json:"trace"`
	Page     string            `json:"page,omitempty"`
	Pictures []string          `json:"pictures,omitempty"`
	Traces   []string          `json:"traces,omitempty"`
	Verdict  trace.Verdict     `json:"verdict"`
	// Problems are all problems of the campaign, the worst first.
	Problems    []lockstep.Problem `json:"problems"`
	Verdicts    map[string]int     `json:"verdicts"`
	Determinism string             `json:"determinism"` // deterministic, or best effort
	Reasons     map[string]int     `json:"reasons,omitempty"`
	Shrunk      string             `json:"shrunk,omitempty"`
	Guarantee   Promise            `json:"guarantee"`
	Checked     map[string]*int    `json:"judged,omitempty"`       // null: not counted, which is not zero
	CheckedRuns map[string]int     `json:"checked_runs,omitempty"` // runs that checked a property, if it is counted
	Effects     []Effect           `json:"effects,omitempty"`
	Events      []Effect           `json:"events,omitempty"` // by type
	Requests    int64              `json:"requests"`         // given to nodes
	IdleRuns    int                `json:"idle_runs"`        // runs in which nothing observable happened
	ElapsedMS   int64              `json:"elapsed_ms"`
	RunsPerS    float64            `json:"runs_per_sec"`
	StepsPerS   float64            `json:"steps_per_sec"`
	VirtualMS   int64              `json:"virtual_ms,omitempty"`
	TimesReal   float64            `json:"times_real,omitempty"`
	Steps       int64              `json:"steps"`
	Messages    int64              `json:"messages"`
	Digest      string             `json:"digest"`
	Interrupted bool               `json:"interrupted"`

	FailureRate Rate                     `json:"failure_rate"`
	Groups      []Group                  `json:"groups,omitempty"`
	Curve       []Sample                 `json:"curve,omitempty"`
	Coverage    []coverage.Reading       `json:"coverage,omitempty"`
	Closure     []lockstepform.TypeCount `json:"closure,omitempty"`
	Control     *Control                 `json:"control,omitempty"`

	Command string `json:"again,omitempty"`
	Replay  string `json:"replay,omitempty"`
}

// Finding is a finding in a document.
type Finding struct {
	Property string `json:"property"`
	Text     string `json:"text"`
	// Confirmed reports in how many repetitions the run failed again.
	Confirmed string `json:"confirmed,omitempty"`
}

// Control counts the runs of the same plan without the faults of its scenario.
type Control struct {
	Runs      int  `json:"runs"`
	Successes *int `json:"successes,omitempty"` // if the scenario has states of success
	Findings  int  `json:"findings"`            // runs with a finding
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

// Effect counts how often something happened: a part of a scenario took effect, or a property was checked.
type Effect struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// Promise is the guarantee of a strategy for this campaign.
type Promise struct {
	Text      string   `json:"text"`            // for one run
	PerRun    float64  `json:"per_run"`         // lower bound for one run
	AllRuns   float64  `json:"all_runs"`        // for all runs of the campaign
	RunsFor95 int      `json:"runs_for_95"`     // runs that reach 0.95; 0: none below 2^53
	Certain   bool     `json:"certain"`         // the campaign has hit every target
	Space     string   `json:"space,omitempty"` // exact number of targets
	Assumes   []string `json:"assumes,omitempty"`
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
		Problems:    r.Problems(),
		Verdicts:    map[string]int{},
		Determinism: r.Determinism.String(),
		Reasons:     r.Reasons,
		Shrunk:      c.Shrunk,
		Guarantee:   promise(r),
		Checked:     map[string]*int{},
		CheckedRuns: map[string]int{},
		ElapsedMS:   c.Elapsed.Milliseconds(),
		RunsPerS: c.perSecond(
			int64(r.Runs),
		),
		StepsPerS:   c.perSecond(r.Steps),
		VirtualMS:   time.Duration(r.Virtual).Milliseconds(),
		TimesReal:   c.perVirtual(),
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
		Closure:     c.Closure,
		Control:     controlOf(c.Control),
		Command:     c.Command,
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
	for _, j := range r.Checked {
		d.Checked[j.Name] = nil
		if n := j.N; n != lockstep.NotCounted {
			d.Checked[j.Name] = &n
			if n > 0 || !j.Optional {
				d.CheckedRuns[j.Name] = j.Runs
			}
		}
	}
	for _, x := range r.Effects {
		d.Effects = append(d.Effects, Effect{x.Name, x.N})
	}
	for _, x := range r.Events {
		d.Events = append(d.Events, Effect{x.Name, x.N})
	}
	return d
}

func promise(r *lockstep.Result) Promise {
	g := r.Guarantee
	p := Promise{
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
