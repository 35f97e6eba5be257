package zookeeper

import (
	"flag"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/kit/published"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// The schedules have the same effects in the model as in the servers.
func TestModel(t *testing.T) {
	for _, c := range []struct{ name, property, words string }{
		{"ZOOKEEPER-3875", "sequential-consistency", "read all in the end: k0=200 k1=301"},
		{"divergence", "equal-data", "has k0=101 k1=302"},
		{
			"client-dropped",
			"client-comes-back",
			"server 1 has 0x100000004, server 2 has 0x400000000, server 3 has 0x100000004; client 2 has seen " +
				"0x300000000, client 3 has seen 0x200000000",
		},
	} {
		plan := planned(t, c.name, "3.5.8", true)
		plan.System = modelled{Cluster: plan.System.(Cluster)}
		if f := enginetest.First(t, plan); f.Finding.Property != c.property ||
			!strings.Contains(f.Finding.Text, c.words) {
			t.Errorf("%s: %s: %s", c.name, f.Finding.Property, f.Finding.Text)
		}
	}
}

// TestPredicted predicts the rows of tables 6 and 7 with the model. Without isolations there are no violations, nor
// when all servers are isolated in all of the first three steps. The others agree with the paper, by exact intervals.
func TestPredicted(t *testing.T) {
	tier.NotShort(t)
	for _, late := range []float64{0, 1} {
		for _, r := range Tables(TableOptions{Seed: 1, Phases: DefaultPhases, Model: true, Late: late}) {
			m, err := published.Measure(t.Context(), r, tier.Pick(200, 5000), 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %v of %d", r.Name, m.Values, m.N)
			u := r.Plan.Strategy.(strategy.Uniform)
			none := u.Isolations == 0 || u.Isolations >= 3*DefaultPhases // then no server runs in any step with faults
			if none && m.Values[0]+m.Values[1]+m.Values[2] > 0 {
				t.Errorf("%s: %v", r.Name, m.Values)
			}
			if !m.Agrees(0) {
				t.Errorf("%s: %v of %d diverge, published are %v of %d", r.Name, m.Values[0], m.N,
					r.Cells[0].Published, r.Runs)
			}
		}
	}
}

// With isolations in all five steps of sc, the model diverges where the paper has nothing: that the authors' tool
// injects faults into the first three steps only is what makes the rows agree.
func TestPhasesMatter(t *testing.T) {
	tier.NotShort(t)
	for _, c := range []struct {
		phases   int
		diverges bool
	}{{0, true}, {DefaultPhases, false}} {
		rows, err := published.Find(Tables(TableOptions{Seed: 1, Phases: c.phases, Model: true}), "sc:12")
		if err != nil {
			t.Fatal(err)
		}
		m, err := published.Measure(t.Context(), rows[0], 2000, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Values[0] > 0; got != c.diverges || m.Agrees(0) == c.diverges {
			t.Errorf("isolations in the first %d phases: %v of %d diverge", c.phases, m.Values[0], m.N)
		}
	}
}

// Of the executions of the paper's harness with at most three isolations one diverges in the model, and with four a
// few.
func TestFewest(t *testing.T) {
	for _, late := range []float64{0, 1} {
		for isolations, want := range []struct {
			runs      int
			low, high float64
		}{
			{1, 0, 0},
			{19, 0, 0},
			{163, 0, 0},
			{835, 1, 1},
			{2851, 6, 7},
		} {
			plan := lockstep.Plan{
				System:    modelled{Cluster{Harness: "div"}, late},
				Spec:      Properties,
				Settle:    Settle,
				Workers:   1,
				Runs:      1 << 20,
				KeepGoing: true,
				Keep:      1 << 20,
				Strategy: strategy.Uniform{
					Period:     2,
					Rounds:     6,
					Isolations: isolations,
					By:         strategy.ByRestart,
					Sampler:    strategy.Every,
				},
			}
			result := enginetest.Explore(t, plan)
			c := violations(result)
			if result.Runs != want.runs || c[0] < want.low || c[0] > want.high || c[1]+c[2] > 0 {
				t.Errorf("%d isolations: %v of %d", isolations, c, result.Runs)
			}
			for _, f := range result.Failures {
				t.Logf("%d isolations, run %d: %s", isolations, f.Run, f.Finding.Text)
			}
		}
	}
}

// The servers confirm the model's predictions of single executions: of those with few isolations, these diverge.
func TestForetold(t *testing.T) {
	if !*long {
		t.Skip("-long makes it")
	}
	outside.JVM(t)
	for _, c := range []struct{ isolations, run int }{{3, 743}, {4, 2255}, {4, 2258}, {4, 2286}} {
		plan := lockstep.Plan{
			System:  Cluster{Harness: "div", Version: *version, Warm: true, StartTimeout: 5 * time.Minute},
			Spec:    Properties,
			Settle:  Settle,
			Workers: 1,
			Scratch: t.TempDir(),
			Strategy: strategy.Uniform{
				Period:     2,
				Rounds:     6,
				Isolations: c.isolations,
				By:         strategy.ByRestart,
				Sampler:    strategy.Every,
			},
		}
		tr, err := lockstep.Record(t.Context(), plan, c.run)
		if err != nil {
			t.Fatal(err)
		}
		plan.System = modelled{Cluster: Cluster{Harness: "div"}}
		want, err := lockstep.Record(t.Context(), plan, c.run)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d isolations, run %d: %v, foretold %v", c.isolations, c.run, tr.Outcome.Finding, want.Outcome.Finding)
		if f := tr.Outcome.Finding; f == nil || want.Outcome.Finding == nil ||
			f.Property != want.Outcome.Finding.Property {
			t.Errorf("run %d: %+v", c.run, tr.Outcome)
		}
	}
}

// The servers end with the same data as the model, run by run, if no random lateness is involved.
func TestAgrees(t *testing.T) {
	if !*long {
		t.Skip("-long makes it")
	}
	outside.JVM(t)
	plan := lockstep.Plan{
		Strategy: strategy.Uniform{
			Period:     2,
			Rounds:     10,
			Isolations: 8,
			By:         strategy.ByRestart,
			Sampler:    strategy.Paper,
		},
		Settle:  Settle,
		Workers: 1,
		Runs:    *agreeing,
		Seed:    *seed,
		Scratch: t.TempDir(),
	}
	cluster := Cluster{Harness: "sc", Version: "3.5.8", Warm: true, StartTimeout: 5 * time.Minute,
		Refusal: 3 * time.Second}
	var ran [2]ends
	for i, system := range []lockstep.System{modelled{Cluster: cluster}, cluster} {
		plan.System, plan.Spec = system, spec.New("ends", func(lockstep.Info) *ends { return &ran[i] })
		if _, err := lockstep.Explore(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	}
	differ := 0
	for run, end := range ran[1] {
		if want := ran[0][run]; !maps.Equal(end, want) {
			differ++
			t.Logf("run %d: by the model %v, in the servers %v", run, want, end)
		}
	}
	if t.Logf("%d of %d runs differ", differ, plan.Runs); 3*differ > plan.Runs || len(ran[1]) < plan.Runs {
		t.Errorf("%d of %d runs", differ, len(ran[1]))
	}
}

// ends are the final data of servers, by run, and whether a client was dropped.
type ends []map[lockstep.Node]string

// Reset begins another run.
func (q *ends) Reset() { *q = append(*q, map[lockstep.Node]string{}) }

// Event records the last report.
func (q *ends) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	now := (*q)[len(*q)-1]
	switch {
	case e.Type == EventData:
		now[e.Node] = e.Text
	case e.Type == EventDropped && run.Settling():
		now[0] = "dropped"
	}
	return nil
}

// Checked counts every run.
func (q *ends) Checked() int { return 1 }

// End returns nil: only events are checked.
func (q *ends) End(*lockstep.Run) *lockstep.Finding { return nil }

var (
	version = flag.String("version", "3.5.8", "version of the servers")
	seed    = flag.Uint64("seed", 1, "seed of the runs that are compared with the model")
)

var agreeing = flag.Int("agreeing", 30, "runs of the servers that are compared with the model")
