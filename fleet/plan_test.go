package fleet

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/internal/sketch"
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

// Every error is named, with the allowed values.
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

// The stop rule requires as many runs as the exact limits do.
func TestStopRule(t *testing.T) {
	for _, s := range []Stop{{0.95, 1e-6}, {0.99, 1e-3}, {0.5, 0.3}} {
		n := s.Runs()
		if campaign.FailureRate(n, 0, s.Confidence).Upper > s.FailureRate*(1+1e-9) ||
			campaign.FailureRate(n-1, 0, s.Confidence).Upper <= s.FailureRate {
			t.Errorf("%+v: %d runs", s, n)
		}
	}
	if n := (Stop{0.95, 1e-6}).Runs(); n != 2995731 {
		t.Errorf("%d", n)
	}
}

// The rule gives most of the time to the campaign with the largest reward, some time to every campaign, and follows a
// change.
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

// A plan replays regressions first, runs campaigns, groups findings, and reports findings that are new since the last
// time.
func TestPlan(t *testing.T) {
	f := newFixture(t, 1)
	dir := t.TempDir()
	found := output(t, 1, "run", "smr-bug", "--strategy", "walk", "--runs", "200", "--no-shrink", "--out", dir)
	file := planFile(t, `
name: nightly
regressions: [`+found["trace"].(string)+`]
stop: {confidence: 0.9, failure-rate: 0.01}
campaigns:
  - {name: sound, target: smr, strategies: [uniform, "walk:steps=100"]}
  - {name: buggy, target: smr-bug, strategies: [walk], seeds: [1, 2], keep-going: true, runs: 300}
`)
	junit := filepath.Join(dir, "junit.xml")
	var out outcome
	for _, fresh := range []bool{true, false} {
		doc, err := json.Marshal(
			output(t, 1, "fleet", "run", file, "--fleet", f.url, "--token-file", f.tokenFile(), "--out", dir, "--junit",
				junit, "--baseline", filepath.Join(dir, "baseline.json")),
		)
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
	alone := output(t, 1, "run", "smr-bug", "--strategy", "walk", "--runs", "300", "--keep-going", "--seed", "2",
		"--no-shrink")
	if alone["digest"] != out.Campaigns[3].Digest {
		t.Errorf("digest %s, alone %v", out.Campaigns[3].Digest, alone["digest"])
	}
	if text, err := os.ReadFile(junit); err != nil || strings.Count(string(text), "<testsuite ") != 4 {
		t.Errorf("%v: %.300s", err, text)
	}
}

// A campaign ends when the stop rule holds or its runs are done, whichever comes first. A campaign that continues after
// findings makes all of its runs.
func TestStopsFirst(t *testing.T) {
	for campaign, want := range map[string]string{"{target: smr, runs: 1000000}": "230",
		"{target: smr, runs: 100}": "100", "{target: smr}": "230",
		"{target: smr, runs: 1000, keep-going: true}": "1000"} {
		p, err := ReadPlan(
			planFile(t, "name: x\nstop: {confidence: 0.9, failure-rate: 0.01}\ncampaigns: ["+campaign+"]\n"))
		if err != nil {
			t.Fatal(err)
		}
		list, _ := p.elsewhere()
		if args := strings.Join(list[0].Args, " "); !strings.Contains(args, " --runs "+want+" ") {
			t.Errorf("%s: %s", campaign, args)
		}
	}
}

// The reward of a part is 1 with a finding of a new kind, and else the share of its states that are new.
func TestNews(t *testing.T) {
	l := newLedger(jobFor(plan(true, true, 100)))
	l.Findings = []Finding{{Run: 3, Property: "prefix", Shape: "a"}}
	hashes := func(from, to uint64) (s sketch.Sketch) {
		for h := from; h < to; h++ {
			s.Add(h * 0x9e3779b97f4a7c15)
		}
		return s
	}
	l.States = hashes(0, 1000)
	part := func(shape string, states sketch.Sketch) *Part {
		p := &Part{Made: batch.Made{Ask: batch.Ask{First: 50, End: 60}, Result: &lockstep.Result{}, States: states}}
		if shape != "" {
			p.Result.Failures, p.Shapes = []lockstep.Failure{
				{Run: 55, Finding: lockstep.Finding{Property: "prefix"}},
			}, []string{
				shape,
			}
		}
		return p
	}
	for _, c := range []struct {
		p         *Part
		low, high float64
	}{
		{part("b", nil), 1, 1},
		{part("a", nil), 0, 0},
		{part("", nil), 0, 0},
		{part("", hashes(0, 500)), 0, 0.05},
		{part("a", hashes(500, 1500)), 0.4, 0.6},
		{part("", hashes(2000, 3000)), 0.9, 1},
	} {
		if n := news(l, c.p); n < c.low || n > c.high {
			t.Errorf("%q with %d states brings %g, want %g to %g", c.p.Shapes, c.p.States.Count(), n, c.low, c.high)
		}
	}
	l.Arm.reward(l, part("b", nil))
	l.Arm.reward(l, part("", nil))
	if l.Arm != (Arm{Brought: 1, Parts: 2}) {
		t.Errorf("%+v", l.Arm)
	}
	b := &ledgers{ledgers: map[string]*Ledger{"1": l, "2": newLedger(jobFor(plan(true, true, 100)))}}
	l.Job.Plan = "x"
	b.ledgers["2"].Arm = Arm{Brought: 1, Parts: 1}
	if b.fade(l); l.Arm.Parts != 2*Discount || b.ledgers["2"].Arm.Parts != 1 {
		t.Errorf("%+v, of another plan %+v", l.Arm, b.ledgers["2"].Arm)
	}
}

// The plan replays regressions before it gives out campaigns. A failing one is a finding even if there is no other.
func TestRegressionsFirst(t *testing.T) {
	f := newFixture(t, 1)
	dir := t.TempDir()
	found := output(t, 1, "run", "smr-bug", "--strategy", "walk", "--runs", "200", "--no-shrink", "--out", dir)
	file := planFile(t, "name: x\nregressions: ["+found["trace"].(string)+"]\ncampaigns: [{target: smr, runs: 20}]\n")
	c := command(t, "fleet", "run", file, "--fleet", f.url, "--token-file", f.tokenFile())
	text, _ := c.CombinedOutput()
	replayed, given := bytes.Index(text, []byte("the same finding")), bytes.Index(text, []byte("of the fleet"))
	if replayed < 0 || given < replayed || c.ProcessState.ExitCode() != 1 ||
		!bytes.Contains(text, []byte("regression: ")) {
		t.Errorf("status %d:\n%s", c.ProcessState.ExitCode(), text)
	}
}

// byCommit matches an action that is pinned to a commit.
var byCommit = regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40}$`)

// The plan and the workflow that users copy are valid. The workflow names existing files and may only read the
// repository. Like the image and the site, it uses only pinned parts.
func TestScripts(t *testing.T) {
	p, err := ReadPlan("../scripts/fleet/nightly.yaml")
	if err != nil || len(p.Campaigns) == 0 || p.Baseline != "baseline.json" {
		t.Fatalf("%+v, %v", p, err)
	}
	text, err := os.ReadFile("../scripts/fleet/workflow.yml")
	if err != nil {
		t.Fatal(err)
	}
	var w struct {
		Permissions map[string]string
		Jobs        map[string]struct {
			Steps []struct{ Run, Uses string }
		}
	}
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
		t.Errorf("the workflow has the permissions %v", w.Permissions)
	}
	for file, pinned := range map[string]string{
		"Containerfile": `(?m)^FROM \S+:[\d.]+@sha256:[0-9a-f]{64}$`,
		"../site.txt":   `(?m)^mkdocs==[\d.]+ \\\n +--hash=sha256:[0-9a-f]{64}`,
	} {
		text, err := os.ReadFile(filepath.Join("../scripts/fleet", file))
		if err != nil || !regexp.MustCompile(pinned).Match(text) {
			t.Errorf("%s is not pinned by a hash: %v", file, err)
		}
	}
	commands := ""
	for _, s := range w.Jobs["nightly"].Steps {
		if (s.Run == "") == (s.Uses == "") {
			t.Errorf("a step does nothing, or two things: %+v", s)
		}
		if s.Uses != "" && !byCommit.MatchString(s.Uses) {
			t.Errorf("%s is not pinned by a commit", s.Uses)
		}
		commands += s.Run + "\n"
	}
	for _, want := range []string{"make build", "fleet serve", "fleet join", "fleet run scripts/fleet/nightly.yaml"} {
		if !strings.Contains(commands, want) {
			t.Errorf("%q is not among\n%s", want, commands)
		}
	}
}
