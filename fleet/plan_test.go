package fleet

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/report/campaign"
)

func planFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// Every mistake is named, with what is allowed.
func TestPlanRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"name: x\ntarget: smr\n": "unknown field",
		"name: x\n":              "campaigns is empty",
		"name: a b\ncampaigns: [{target: smr, runs: 1}]\n":                    "allowed are letters",
		"name: x\nfor: soon\ncampaigns: [{target: smr}]\n":                    "for is \"soon\"",
		"name: x\nstop: {confidence: 2}\ncampaigns: [{target: smr}]\n":        "stop.confidence is 2",
		"name: x\ncampaigns: [{target: smr}]\n":                               "campaigns[0].runs is missing",
		"name: x\ncampaigns: [{runs: 1}]\n":                                   "campaigns[0].target is missing",
		"name: x\ncampaigns: [{target: smr, runs: many}]\n":                   "of type int",
		"name: x\nstop: {failure-rate: 1}\ncampaigns: [{target: a, runs: 1}]": "stop.failure-rate is 1",
		"]": "",
	} {
		if p, err := ReadPlan(planFile(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", text, p, err, want)
		}
	}
}

// The rule to stop by asks for as many runs as the exact limits do.
func TestStopRule(t *testing.T) {
	for _, s := range []Stop{{0.95, 1e-6}, {0.99, 1e-3}, {0.5, 0.3}} {
		n := s.Runs()
		if campaign.FailureRate(n, 0, s.Confidence).Upper > s.FailureRate*(1+1e-9) || campaign.FailureRate(n-1, 0, s.Confidence).Upper <= s.FailureRate {
			t.Errorf("%+v: %d runs", s, n)
		}
	}
	if n := (Stop{0.95, 1e-6}).Runs(); n != 2995731 {
		t.Errorf("%d", n)
	}
}

// The rule gives most of the time to the campaign that brings most, every campaign some, and follows a change.
func TestChoose(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	list := []*Ledger{{}, {}, {}}
	chances := []float64{0.05, 0.5, 0.1}
	shares := func(n int) (count [3]int) {
		for range n {
			best := choose(list)
			for i, l := range list {
				if l != best {
					continue
				}
				count[i]++
				l.Arm.Parts++
				if r.Float64() < chances[i] {
					l.Arm.Brought++
				}
			}
			for _, l := range list {
				l.Arm.fade()
			}
		}
		return count
	}
	first := shares(3000)
	if first[1] < 1500 || min(first[0], first[2]) < 100 {
		t.Errorf("shares %v", first)
	}
	chances = []float64{0.5, 0.05, 0.1}
	if second := shares(3000); second[0] < 1300 {
		t.Errorf("after the change %v", second)
	}
	if s := (&Arm{}).score(10); !math.IsInf(s, 1) {
		t.Error("one that had no turn is not the first")
	}
}

// A plan: regressions first, campaigns, groups, and what is new since the last time.
func TestPlan(t *testing.T) {
	f := newFixture(t, 1)
	dir := t.TempDir()
	found := output(t, 1, "run", "smr-bug", "--strategy", "walk", "--runs", "200", "--no-shrink", "--out", dir)
	file := planFile(t, `
name: nightly
baseline: `+filepath.Join(dir, "baseline.json")+`
regressions: [`+found["trace"].(string)+`]
stop: {confidence: 0.9, failure-rate: 0.01}
campaigns:
  - {name: sound, target: smr, strategies: [uniform, "walk:steps=100"]}
  - {name: buggy, target: smr-bug, strategies: [walk], seeds: [1, 2], keep-going: true, runs: 300}
`)
	junit := filepath.Join(dir, "junit.xml")
	var out outcome
	for _, fresh := range []bool{true, false} {
		doc, err := json.Marshal(output(t, 1, "fleet", "run", file, "--fleet", f.url, "--out", dir, "--junit", junit))
		if err != nil {
			t.Fatal(err)
		}
		out = outcome{}
		if err := json.Unmarshal(doc, &out); err != nil {
			t.Fatal(err)
		}
		if len(out.Campaigns) != 4 || len(out.Groups) == 0 || len(out.Regressions) != 1 || !out.Regressions[0].Fails {
			t.Fatalf("%s", doc)
		}
		for _, g := range out.Groups {
			if _, err := os.Stat(g.Trace); err != nil || g.New != fresh || g.Target != "smr-bug" {
				t.Errorf("%+v: %v", g, err)
			}
		}
	}
	if n := (Stop{0.9, 0.01}).Runs(); out.Campaigns[0].Runs != n || out.Campaigns[0].Findings != 0 {
		t.Errorf("%+v: want %d runs", out.Campaigns[0], n)
	}
	alone := output(t, 1, "run", "smr-bug", "--strategy", "walk", "--runs", "300", "--keep-going", "--seed", "2", "--no-shrink")
	if alone["digest"] != out.Campaigns[3].Digest {
		t.Errorf("digest %s, alone %v", out.Campaigns[3].Digest, alone["digest"])
	}
	if text, err := os.ReadFile(junit); err != nil || !strings.Contains(string(text), `tests="4"`) {
		t.Errorf("%v: %.300s", err, text)
	}
}
