package browsertest

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/compare"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// made runs a campaign on the replicated log.
func made() (*campaign.Campaign, error) {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: strategy.DefaultUniform, Spec: smr.Prefix,
		Seed: 1, Runs: 3000, KeepGoing: true, Distinct: true}
	c := &campaign.Campaign{
		Options: map[string]string{"nodes": "3"},
		Rerun:   "lockstep run smr-bug --runs 3000 --keep-going --seed 1",
	}
	plan.Progress = func(r *lockstep.Result) {
		c.Curve = append(c.Curve,
			campaign.Sample{Runs: r.Runs, States: r.States, Schedules: r.Schedules, Findings: campaign.Findings(r)})
	}
	start := time.Now()
	var err error
	if c.Result, err = lockstep.Explore(context.Background(), plan); err != nil {
		return nil, err
	}
	c.Elapsed = time.Since(start)
	var found []campaign.Occurrence
	for _, f := range c.Result.Failures {
		found = append(found, campaign.Occurrence{Run: f.Run, Trace: f.Trace})
	}
	c.Groups = campaign.GroupFindings(found)
	m, err := lockstepform.Measure(context.Background(),
		lockstep.Plan{System: plan.System, Strategy: strategy.DefaultWalk}, 200)
	if err == nil {
		c.Closure = m.Types
	}
	return c, err
}

func TestCampaignPage(t *testing.T) {
	c, err := made()
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, 1120, 1500, func(b *bytes.Buffer) error { return campaign.Page(b, c) })
	if got, want := count(t, b, "#groups tbody tr"), min(len(c.Groups), 12); got != want || want == 0 {
		t.Errorf("%d groups, want %d", got, want)
	}
	if got := count(t, b, "svg.curve"); got != 3 {
		t.Errorf("%d curves", got)
	}
	if got := text(t, b, "#guarantee"); !strings.Contains(got, "exact binomial limits") ||
		!strings.Contains(got, "assumptions") {
		t.Errorf("guarantee %q", got)
	}
	screenshot(t, b, "campaign.png")
}

func TestComparePage(t *testing.T) {
	result, err := compare.Strategies(context.Background(), compare.Comparison{
		Plan: lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix, Seed: 100, Runs: 20_000},
		Strategies: []lockstep.Strategy{
			strategy.DefaultUniform,
			strategy.DefaultLossy,
			strategy.DefaultWalk,
			strategy.DefaultBaseline,
		}})
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, 1120, 700, func(b *bytes.Buffer) error {
		return campaign.ComparePage(b, result,
			"lockstep compare smr-bug --strategies uniform,lossy,walk,baseline --runs 20000 --seed 100")
	})
	if got := count(t, b, "#compared tbody tr"); got != 4 {
		t.Errorf("%d strategies compared", got)
	}
}
