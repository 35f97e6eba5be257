package campaign_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/golden"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/trace"
)

func TestGoldenExports(t *testing.T) {
	unknown := passed()
	unknown.Result.Verdicts = map[trace.Verdict]int{trace.Pass: 2997, trace.Unknown: 3}
	unknown.Result.Reasons = map[string]int{"more than 100000 steps": 3}
	unknown.Result.Unknown = []lockstep.Unknown{{Run: 17, Reason: "more than 100000 steps"}}
	stopped := passed()
	stopped.Result.Stopped = true
	vacuous := passed()
	vacuous.Result.Effects = []lockstep.Count{
		{Name: "hold votes", N: 12},
		{Name: "release votes"},
		{Name: "guard", Optional: true},
	}
	diverged := passed()
	diverged.Result.Rechecked, diverged.Result.Diverged, diverged.Result.Nondeterminism = 60, 5,
		[]string{"a.go:1 reads the clock", "b.go:2 reads the use of memory"}
	for run := range 5 {
		diverged.Result.Divergences = append(diverged.Result.Divergences, lockstep.Divergence{Run: 50*run + 49,
			Difference:     "step 3: deliver 1->2 Ask, then deliver 2->1 Ask",
			Nondeterminism: []string{"a.go:1 reads the clock"}})
	}
	all := []*campaign.Campaign{sampleCampaign(), unknown, stopped, vacuous, diverged}
	golden.Check(t, "junit.xml", func(w io.Writer) error { return campaign.JUnit(w, all...) })
	golden.Check(t, "campaign.json", func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(sampleCampaign().Document())
	})
	golden.Check(t, "summary.txt", func(w io.Writer) error {
		for _, c := range append(all, campaignWith("text")) {
			if err := c.Write(w, false); err != nil {
				return err
			}
		}
		return nil
	})
	golden.Check(t, "annotations.txt", func(w io.Writer) error {
		for _, c := range all {
			if err := campaign.Annotations(w, c, campaign.Place{File: "smr_test.go", Line: 12}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Every verdict of a campaign: an interrupted campaign does not pass, and a finding remains a finding.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*campaign.Campaign)
		want   trace.Verdict
	}{
		{"as it is", func(*campaign.Campaign) {}, trace.Pass},
		{"stopped", func(c *campaign.Campaign) { c.Result.Stopped = true }, trace.Unknown},
		{"time up", func(c *campaign.Campaign) { c.TimeUp = true }, trace.Pass},
		{"time up at once", func(c *campaign.Campaign) { c.TimeUp, c.Result.Runs = true, 0 }, trace.Unknown},
		{"stopped with a finding", func(c *campaign.Campaign) {
			c.Result.Stopped, c.Result.Verdicts[trace.Fail] = true,
				1
		}, trace.Fail},
	} {
		x := passed()
		if c.change(x); x.Verdict() != c.want {
			t.Errorf("%s: %s, want %s", c.what, x.Verdict(), c.want)
		}
	}
}

// A campaign that has hit every target reports this, instead of the number of runs that it would take.
func TestCertain(t *testing.T) {
	c := passed()
	c.Result.Guarantee.Certain = true
	var text, page strings.Builder
	if err := errors.Join(c.Write(&text, false), campaign.Page(&page, c)); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{text.String(), page.String()} {
		if !strings.Contains(s, "certain: the runs hit every 4-periodic uniform execution (there are 141905)") ||
			strings.Contains(s, "it takes") {
			t.Error(s)
		}
	}
	if g := c.Document().Guarantee; !g.Certain || g.AllRuns != 1 {
		t.Errorf("%+v", g)
	}
}
