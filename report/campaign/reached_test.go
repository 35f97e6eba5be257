package campaign_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage/code"
	"github.com/lockstep-go/lockstep/coverage/model"
	"github.com/lockstep-go/lockstep/novelty"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/trace"
)

// What the runs executed, what never happened and what the next run may reach are on the console, in JSON and on the
// page. A campaign that ended with its first finding says nothing about a next run.
func TestReached(t *testing.T) {
	r := &lockstep.Result{Target: "kv", Runs: 10, Verdicts: map[trace.Verdict]int{trace.Pass: 10}}
	r.Checked = []lockstep.Count{
		{Name: "safe", N: 4, Runs: 3},
		{Name: "a leader crashes", N: 3, Runs: 2, Sometimes: true},
		{Name: "a snapshot is lost", N: 0, Sometimes: true},
	}
	for run := range 10 {
		r.Novelty.Add(run, []uint64{1, uint64(max(run, 7))})
	}
	c := &campaign.Campaign{Result: r}
	has := func(what, text string, parts ...string) {
		t.Helper()
		for _, p := range parts {
			if !strings.Contains(text, p) {
				t.Errorf("%s: no %q in\n%s", what, p, text)
			}
		}
	}
	text := func() string {
		var b bytes.Buffer
		if err := c.Write(&b, false); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	has("text", text(), "a leader crashes: happened 3 times, in 2 runs\n",
		"next run: reaches something new with probability 20% (95% confidence: 0% to 55.6%); 2 of 10 runs reached "+
			"something that no other run did: a pair of consecutive steps and events at a node\n",
		`warning: "a snapshot is lost" is expected at least once, and happened in none of 10 runs`)
	has("a Go test", strings.Join(campaign.NextRun(r), "\n"),
		"next run: reaches something new with probability 20% (95% confidence: 0% to 55.6%)")
	var fleet bytes.Buffer
	if err := campaign.FleetPage(&fleet, &campaign.Fleet{Campaigns: []campaign.FleetCampaign{{Campaign: c}}}); err != nil {
		t.Fatal(err)
	}
	has("the fleet's page", fleet.String(), "next run reaches something new</th>", "<td>20% (0% to 55.6%)</td>")
	c.Code = &code.Report{Runs: 10, Total: code.Count{Statements: 40, Executed: 30, UnderFaults: 5},
		Packages: []code.Count{{Package: "kv", Statements: 30, Executed: 30},
			{Package: "kv/log", Statements: 10, UnderFaults: 5,
				Executed: 5}}}
	c.Next = &novelty.Estimate{Criterion: "a statement", Runs: 10, Upper: 0.25, Confidence: 0.95}
	has("text", text(), "statements executed in 10 runs:\n"+
		"  kv      100.0% of 30\n  kv/log   50.0% of 10,  50.0% only under faults\n",
		"in all:  75.0% of 40,  12.5% only under faults\n",
		"0 of 10 runs reached something that no other run did: a statement\n")
	c.Model = model.Of(&model.Visits{Runs: 10}, &model.Reach{Model: "M", Bound: "4 phases", Rules: []string{"upon A"},
		Transitions: []model.Transition{{Rule: "upon A", Before: "zero", After: "one"}}})
	has("text", text(), "model M: 0 of 1 rules exercised in 10 passing runs\n",
		"model M: 0 of 1 (0.0%) transitions", "never: upon A\n")
	document, err := json.Marshal(c.Document())
	if err != nil {
		t.Fatal(err)
	}
	has("JSON", string(document), `"sometimes":[{"name":"a leader crashes","n":3,"runs":2},{"name":"a snapshot is lost","n":0,"runs":0}]`,
		`"next_run":{"criterion":"a statement","runs":10,`, `"checked":{"safe":4}`, `"kind":"unreached"`,
		`"model":{"model":"M","runs":10,"bound":"4 phases","rules":{"visited":0,"of":1},"transitions":{"visited":0,"of":1}`,
		`"never":[{"rule":"upon A","before":"zero","after":"one"}]`, `"code":{"runs":10,"total":{"statements":40,"executed":30,"under_faults":5}`)
	var page bytes.Buffer
	if err := campaign.Page(&page, c); err != nil {
		t.Fatal(err)
	}
	has("page", page.String(), "The next run reaches something new", "kv/log", "a snapshot is lost",
		"What must happen at least once", "10 passing runs visited of the model M", "0 of 1 (0.0%)", "<td>zero</td>")
	c.Suite = &model.Suite{Dir: "tests", Tests: 2, Realized: 1, States: true, Diverged: []model.Divergence{
		{Test: "002", Round: 3, Name: "Ack", Node: 1, Expected: "Ack to 2", Observed: "no Ack"}}}
	has("text", text(), "suite tests: 1 of 2 tests realized as written, 1 diverged\n", "test 002 diverges in round 3")
	if strings.Contains(text(), "next run") {
		t.Error("a suite draws no runs, but there is an estimate of the next one")
	}
	page.Reset()
	if err := campaign.Page(&page, c); err != nil {
		t.Fatal(err)
	}
	has("page", page.String(), "1 of 2 tests of the suite tests were realized", "<td>3 Ack</td>", "no Ack")
	c.Suite = nil

	r.Runs, r.Verdicts[trace.Fail] = 11, 1
	r.Failures = []lockstep.Failure{{Run: 10, Finding: lockstep.Finding{Property: "safe"}}}
	if out := text(); strings.Contains(out, "next run") {
		t.Errorf("after the first finding: %s", out)
	}
}
