package browsertest

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
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

// census is a spec that counts distinct states and schedules of a campaign with one
// worker, and lets another spec judge.
type census struct {
	lockstep.Spec
	monitor  lockstep.Monitor
	seed     maphash.Seed
	steps    maphash.Hash
	states   map[uint64]bool
	schedule map[uint64]bool
}

func (c *census) New(info lockstep.Info) lockstep.Monitor {
	c.monitor = c.Spec.New(info)
	return c
}

func (c *census) Reset() {
	c.monitor.Reset()
	c.steps.Reset()
}

func (c *census) Step(run *lockstep.Run) *lockstep.Finding {
	var h maphash.Hash
	h.SetSeed(c.seed)
	for n := range run.Info().Nodes {
		fmt.Fprintln(&h, run.Deployment().(lockstep.Fingerprinter).Fingerprint(lockstep.Node(n+1)))
	}
	c.states[h.Sum64()] = true
	fmt.Fprintln(&c.steps, *run.Last())
	f := c.monitor.Step(run)
	if f != nil {
		c.End(run)
	}
	return f
}

func (c *census) End(run *lockstep.Run) *lockstep.Finding {
	c.schedule[c.steps.Sum64()] = true
	return nil
}

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
	count := &census{Spec: smr.Prefix, seed: maphash.MakeSeed(), states: map[uint64]bool{}, schedule: map[uint64]bool{}}
	count.steps.SetSeed(count.seed)
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: strategy.DefaultUniform, Spec: count,
		Seed: 1, Runs: runs, KeepGoing: true, Workers: 1}
	c := &report.Campaign{Options: map[string]string{"nodes": "3"}, Again: "lockstep run smr-bug --runs 3000 --keep-going --seed 1"}
	plan.Progress = func(r *lockstep.Result) {
		c.Curve = append(c.Curve, report.Sample{Runs: r.Runs, States: len(count.states), Schedules: len(count.schedule), Findings: len(r.Found)})
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
	c.Coverage = []report.Covered{{Name: "distinct schedules", Seen: len(count.schedule)}, {Name: "distinct states", Seen: len(count.states)}}
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
