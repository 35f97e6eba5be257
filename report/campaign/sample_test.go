package campaign_test

import (
	"math/big"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/compare"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/trace"
)

// failing returns a small trace of a failing run, in rounds or not.
func failing(inRounds bool) *trace.Trace {
	t := &trace.Trace{Header: trace.Header{Tool: "test", Target: "toy", Strategy: "walk", Seed: 7, Run: 3, Nodes: 2}}
	if inRounds {
		t.Rounds = []trace.Round{
			{Number: 1, Phase: 1, Name: "Ask", Kernel: 3},
			{Number: 2, Phase: 2, Name: "Ask", Kernel: 3},
		}
	}
	for i := range 3 {
		r := trace.Record{Number: i, Step: trace.Step{Kind: trace.Timer, Node: 1}, Text: "1 timer"}
		if i > 0 {
			r.Events = []trace.Event{{Type: "decided", Node: 1, Text: "2"}}
			if inRounds {
				r.Round = i
			}
		}
		t.Records = append(t.Records, r)
	}
	t.Outcome = trace.Outcome{
		Verdict: trace.Fail,
		Steps:   2,
		Finding: &trace.Finding{Property: "agreement", Text: "1 and 2 differ", Step: 2},
	}
	return t
}

// campaignWith returns a campaign with a text in every text field.
func campaignWith(text string) *campaign.Campaign {
	return &campaign.Campaign{
		Result: &lockstep.Result{Target: text, Strategy: text, Seed: 7, Runs: 1000, Steps: 49000, Messages: 12000,
			Verdicts: map[trace.Verdict]int{
				trace.Fail:    5,
				trace.Pass:    990,
				trace.Unknown: 5,
			}, Reasons: map[string]int{text: 5},
			Failures: []lockstep.Failure{{Run: 4, Finding: lockstep.Finding{Property: text, Text: text}, Failed: 7,
				Repeated: 10}},
			Unknown: []lockstep.Unknown{{Run: 9, Reason: text}}, ByProperty: []lockstep.Count{{Name: text, N: 5}},
			Divergences: []lockstep.Divergence{{Run: 49, Difference: text, Nondeterminism: []string{text}}},
			Diverged:    1, Rechecked: 20, Nondeterminism: []string{text},
			Checked: []lockstep.Count{
				{Name: text, N: 10},
				{Name: "never " + text},
				{Name: "uncounted " + text, N: lockstep.NotCounted},
			},
			Effects: []lockstep.Count{{Name: text, N: 1}, {Name: text + "2"}},
			Guarantee: lockstep.Guarantee{
				Class:   text,
				PerRun:  0.001,
				Space:   big.NewInt(77),
				Assumes: []string{text},
			}, Digest: 77},
		Options: map[string]string{text: text}, Build: text, Scenario: text, Elapsed: 1234 * time.Millisecond,
		Trace: text, Page: text, Traces: []string{text}, Shrunk: text, Rerun: text, Replay: text,
		Groups: []campaign.Group{{Property: text, Shape: text, Findings: 4, First: 4, Text: text, Trace: text},
			{Property: text, Shape: "other", Findings: 1, First: 90, Text: text}},
		Curve: []campaign.Sample{{Runs: 500, ElapsedMS: 600, States: 90, Schedules: 400, Findings: 2},
			{Runs: 1000, ElapsedMS: 1234, States: 130, Schedules: 700, Findings: 5}},
		Coverage: []coverage.Reading{{Name: text, Covered: 3, Goals: 4}},
		Closure:  []lockstepform.TypeCount{{Type: text, Delivered: 10, Late: 2, Changed: 1}},
	}
}

// comparisonWith returns a comparison with a text in every text field.
func comparisonWith(text string) *compare.Result {
	return &compare.Result{Target: text, Seed: 7, Runs: 1000, Repeat: 10, Rows: []compare.Row{
		{
			Strategy:   text,
			Campaigns:  10,
			Found:      9,
			Median:     100,
			MedianLow:  20,
			MedianHigh: 900,
			TotalRuns:  2000,
			TotalSteps: 40000,
		},
		{Strategy: "nothing", Campaigns: 10, Nothing: 10, TotalRuns: 10000, TotalSteps: 90000},
	}}
}

// sampleCampaign returns a campaign like those of the command line.
func sampleCampaign() *campaign.Campaign {
	return &campaign.Campaign{
		Result: &lockstep.Result{
			Target:   "smr-bug",
			Strategy: "uniform:period=4,isolations=4,rounds=16",
			Seed:     1,
			Runs:     3000,
			Verdicts: map[trace.Verdict]int{
				trace.Fail: 22,
				trace.Pass: 2978,
			},
			Steps:    152000,
			Messages: 142000,
			Digest:   0x0123456789abcdef,
			Failures: []lockstep.Failure{
				{
					Run:      238,
					Finding:  lockstep.Finding{Property: "prefix", Text: "node 1 outputs ad, but node 2 had output c"},
					Failed:   1,
					Repeated: 1,
				},
			},
			ByProperty: []lockstep.Count{{Name: "prefix", N: 22}},
			Checked:    []lockstep.Count{{Name: "prefix", N: 9120, Runs: 2900}},
			Guarantee: lockstep.Guarantee{
				Class:   "a given 4-periodic uniform execution",
				PerRun:  7.05e-06,
				Space:   big.NewInt(141905),
				Assumes: []string{"messages are lost as the rounds say; nothing else is random"},
			},
		},
		Options: map[string]string{"nodes": "3"}, Elapsed: 490 * time.Millisecond,
		Trace: "lockstep-out/prefix-seed1-run238.trace", Page: "lockstep-out/prefix-seed1-run238.html",
		Rerun:  "lockstep run smr-bug --runs 3000 --keep-going --seed 1",
		Replay: "lockstep replay lockstep-out/prefix-seed1-run238.trace",
		Groups: []campaign.Group{
			{Property: "prefix", Shape: "4 phases: 2 output in phase 3, 1 output in phase 4", Findings: 3, First: 238,
				Text: "node 1 outputs ad, but node 2 had output c", Trace: "lockstep-out/prefix-seed1-run238.trace"},
		},
	}
}

// passed returns the same campaign without a finding.
func passed() *campaign.Campaign {
	c := sampleCampaign()
	c.Result.Failures, c.Result.ByProperty, c.Result.Verdicts, c.Groups = nil, nil,
		map[trace.Verdict]int{trace.Pass: 3000}, nil
	c.Trace, c.Page, c.Replay = "", "", ""
	return c
}
