package main

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/trace"
)

// summary turns the result of a campaign into what is reported of it.
func summary(plan lockstep.Plan, r *lockstep.Result, elapsed time.Duration) *report.Campaign {
	info, _ := plan.System.Describe() // Explore has described it before
	c := &report.Campaign{
		Target: r.Target, Options: info.Options, Strategy: r.Strategy, Seed: r.Seed,
		Runs: r.Runs, Steps: r.Steps, Messages: r.Messages, Verdict: r.Verdict(), Verdicts: map[string]int{},
		Reasons: r.Reasons, ElapsedMS: elapsed.Milliseconds(), Digest: fmt.Sprintf("%016x", r.Digest),
		Interrupted: r.Interrupted, Guarantee: promise(r),
		RunsPerS: perSecond(float64(r.Runs), elapsed), StepsPerS: perSecond(float64(r.Steps), elapsed),
	}
	for v, n := range r.Verdicts {
		c.Verdicts[string(v)] = n
	}
	rate := report.FailureRate(r.Runs, r.Verdicts[trace.Fail], 0.95)
	c.FailureRate = &rate
	c.Findings = r.Verdicts[trace.Fail] + r.Verdicts[trace.Flaky]
	if f := r.First(); f != nil {
		c.FirstRun = &f.Run
		c.Finding = &report.Problem{Property: f.Finding.Property, Text: f.Finding.Text}
	}
	for _, j := range r.Judged {
		if c.Judged == nil {
			c.Judged = map[string]int{}
		}
		c.Judged[j.Name] = j.N
	}
	for _, x := range r.Effects {
		c.Effects = append(c.Effects, report.Effect{Name: x.Name, N: x.N})
	}
	return c
}

// seen says how much a campaign has seen, where it counts.
func seen(r *lockstep.Result) string {
	switch {
	case r.States > 0:
		return fmt.Sprintf("%d states", r.States)
	case r.Schedules > 0:
		return fmt.Sprintf("%d schedules", r.Schedules)
	default:
		return ""
	}
}

// samples is the number of points of a campaign's curve, at most.
const samples = 400

// addSample adds how far a campaign is to its curve. When there are too many points,
// every other one goes.
func addSample(curve []report.Sample, r *lockstep.Result, elapsed time.Duration) []report.Sample {
	if n := len(curve); n > 0 && curve[n-1].Runs == r.Runs {
		return curve
	}
	if len(curve) >= samples {
		for i := range samples / 2 {
			curve[i] = curve[2*i+1]
		}
		curve = curve[:samples/2]
	}
	return append(curve, report.Sample{Runs: r.Runs, ElapsedMS: elapsed.Milliseconds(), States: r.States, Schedules: r.Schedules,
		Findings: r.Verdicts[trace.Fail] + r.Verdicts[trace.Flaky]})
}

func promise(r *lockstep.Result) report.Promise {
	g := r.Guarantee
	p := report.Promise{Text: g.String(), PerRun: g.PerRun, AllRuns: g.After(r.Runs), RunsFor95: g.Runs(0.95), Assumes: g.Assumes}
	if g.Space != nil {
		p.Space = g.Space.String()
	}
	return p
}

func perSecond(n float64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return n / d.Seconds()
}
