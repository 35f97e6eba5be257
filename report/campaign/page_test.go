package campaign_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/compare"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/report/internal/pagetest"
	"github.com/lockstep-go/lockstep/trace"
)

func TestCampaignPage(t *testing.T) {
	c := sampleCampaign()
	page := pagetest.Write(t, func(w io.Writer) error { return campaign.Page(w, c) })
	for _, want := range []string{"exact binomial limits for 22 findings in 3000 runs", "at most 1.05%",
		"messages are lost as the rounds say",
		"lockstep run smr-bug --runs 3000 --keep-going --seed 1", "takes 424926 runs",
		"4 phases: 2 output in phase 3"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if campaign.Page(io.Discard, nil) == nil || campaign.ComparePage(io.Discard, nil, "") == nil {
		t.Error("no campaign at all was written")
	}
	c.Groups = nil
	for i := range 150 {
		c.Groups = append(c.Groups, campaign.Group{Property: "prefix", Shape: fmt.Sprint(i), Findings: 1})
	}
	if page = pagetest.Write(t, func(w io.Writer) error { return campaign.Page(w, c) }); !strings.Contains(page,
		"The first 100 of 150 groups") {
		t.Error("the page does not say that groups are left out")
	}
}

func TestGroupFindings(t *testing.T) {
	other := failing(true)
	other.Outcome.Finding.Property = "validity"
	passed := failing(true)
	passed.Outcome = trace.Outcome{Verdict: trace.Pass}
	groups := campaign.GroupFindings(
		[]campaign.Occurrence{
			{Run: 1, Trace: other},
			{Run: 2, Trace: failing(true), File: "a"},
			{Run: 5, Trace: failing(true), File: "b"},
			{Run: 6, Trace: passed},
			{Run: 7, Trace: failing(false)},
		},
	)
	var b bytes.Buffer
	for _, g := range groups {
		fmt.Fprintf(&b, "%s|%s|%d|%d|%s\n", g.Property, g.Shape, g.Findings, g.First, g.Trace)
	}
	want := "agreement|2 phases: 1 decided in phase 1, 1 decided in phase 2|2|2|a\n" +
		"validity|2 phases: 1 decided in phase 1, 1 decided in phase 2|1|1|\n" +
		"agreement|2 decided|1|7|\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// If there is no finding within the budget, the page shows this as a limit: there is no run 0.
func TestLimitsBeyondTheBudget(t *testing.T) {
	r := &compare.Result{Target: "toy", Runs: 10000, Repeat: 5, Rows: []compare.Row{
		{Strategy: "nothing", Campaigns: 5, Nothing: 5, First: []int{0, 0, 0, 0, 0}},
		{
			Strategy:   "once",
			Campaigns:  5,
			Found:      1,
			Median:     0,
			MedianLow:  1,
			MedianHigh: 0,
			First:      []int{1, 0, 0, 0, 0},
		}}}
	page := pagetest.Write(t, func(w io.Writer) error { return campaign.ComparePage(w, r, "") })
	for _, want := range []string{
		`<td class="number">1 – &gt;10000</td>`, `<td class="number">&gt;10000 – &gt;10000</td>`,
		`<td class="number">&gt;10000</td>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is not on the page", want)
		}
	}
}
