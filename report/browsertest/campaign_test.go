package browsertest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/closure"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// runsToFirst are the numbers of runs that a strategy needs with several seeds, sorted.
func runsToFirst(s lockstep.Strategy, repeats int) (runs []float64, err error) {
	for seed := range repeats {
		r, err := lockstep.Explore(context.Background(), lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true},
			Strategy: s, Spec: smr.Prefix, Seed: uint64(seed) + 100, Runs: 20_000, Workers: 1})
		if err != nil {
			return nil, err
		}
		runs = append(runs, float64(r.Runs))
	}
	slices.Sort(runs)
	return runs, nil
}

func campaign() (*report.Campaign, error) {
	const runs, repeats = 3000, 15
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: strategy.DefaultUniform, Spec: smr.Prefix,
		Seed: 1, Runs: runs, KeepGoing: true, Distinct: true, Workers: 1}
	c := &report.Campaign{Options: map[string]string{"nodes": "3"}, Again: "lockstep run smr-bug --runs 3000 --keep-going --seed 1"}
	plan.Progress = func(r *lockstep.Result) {
		c.Curve = append(c.Curve, report.Sample{Runs: r.Runs, States: r.States, Schedules: r.Schedules, Findings: len(r.Found)})
	}
	start := time.Now()
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		return nil, err
	}
	elapsed := time.Since(start)
	c.ElapsedMS, c.RunsPerS, c.StepsPerS = elapsed.Milliseconds(), float64(runs)/elapsed.Seconds(), float64(result.Steps)/elapsed.Seconds()
	c.Target, c.Strategy, c.Seed, c.Runs, c.Steps, c.Messages = result.Target, result.Strategy, result.Seed, result.Runs, result.Steps, result.Messages
	c.Verdict, c.Verdicts, c.Findings = result.Verdict(), map[string]int{}, result.Verdicts["fail"]
	for v, n := range result.Verdicts {
		c.Verdicts[string(v)] = n
	}
	f := result.First()
	c.FirstRun, c.Finding = &f.Run, &report.Problem{Property: f.Finding.Property, Text: f.Finding.Text}
	g := result.Guarantee
	c.Guarantee = report.Promise{Text: g.String(), PerRun: g.PerRun, AllRuns: g.After(runs), RunsFor95: g.Runs(0.95), Space: g.Space.String(), Assumes: g.Assumes}
	c.Digest = fmt.Sprintf("%016x", result.Digest)
	var found []report.Occurrence
	for _, f := range result.Found {
		found = append(found, report.Occurrence{Run: f.Run, Trace: f.Trace})
	}
	c.Groups = report.GroupFindings(found)
	c.Coverage = []report.Covered{{Name: "distinct schedules", Seen: result.Schedules}, {Name: "distinct states", Seen: result.States}}
	for _, s := range []lockstep.Strategy{strategy.DefaultUniform, strategy.DefaultLossy, strategy.DefaultWalk, strategy.DefaultBaseline} {
		runs, err := runsToFirst(s, repeats)
		if err != nil {
			return nil, err
		}
		// The 4th and the 12th of 15 bound the median with 96.5 % confidence.
		c.Compared = append(c.Compared, report.Compared{Strategy: s.String(), Repeats: repeats, Found: repeats, Median: runs[7], Lower: runs[3], Upper: runs[11]})
	}
	m, err := closure.Measure(context.Background(), lockstep.Plan{System: plan.System, Strategy: strategy.DefaultWalk}, 200)
	if err != nil {
		return nil, err
	}
	for _, t := range m.Types {
		c.Closure = append(c.Closure, report.LateCount(t))
	}
	return c, nil
}

func TestCampaignPage(t *testing.T) {
	c, err := campaign()
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, 1120, 1500, func(b *bytes.Buffer) error { return report.CampaignPage(b, c) })
	if got, want := count(t, b, "#groups tbody tr"), min(len(c.Groups), 12); got != want || want == 0 {
		t.Errorf("%d groups, want %d", got, want)
	}
	if got := count(t, b, "svg.curve"); got != 3 {
		t.Errorf("%d curves", got)
	}
	if got := count(t, b, "#compared tbody tr"); got != 4 {
		t.Errorf("%d strategies compared", got)
	}
	if got := text(t, b, "#guarantee"); !strings.Contains(got, "exact binomial limits") || !strings.Contains(got, "assumptions") {
		t.Errorf("guarantee %q", got)
	}
	screenshot(t, b, "campaign.png")
}
