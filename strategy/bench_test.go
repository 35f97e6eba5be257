//go:build unix

package strategy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/processor"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// tokens is a system with a constant number of messages in flight: each receiver sends one on.
func tokens(nodes, inFlight int) lockstep.System {
	return sim.Cluster[int]{
		Name:  "tokens",
		Nodes: nodes,
		New:   func(lockstep.Node, int) sim.Node[int] { return &tokenNode{inFlight} },
	}
}

type tokenNode struct{ inFlight int }

func (t *tokenNode) Start(c *sim.Context[int]) {
	for i := range t.inFlight {
		if i%c.Nodes()+1 == int(c.Self()) {
			t.Receive(c, 0, i)
		}
	}
}

func (t *tokenNode) Receive(c *sim.Context[int], _ lockstep.Node, m int) {
	c.Send(lockstep.Node((m*7+int(c.Self()))%c.Nodes()+1), m+1)
}

func (t *tokenNode) Timeout(*sim.Context[int])                {}
func (t *tokenNode) Request(*sim.Context[int], int32, string) {}

// dictation is a strategy whose scheduler repeats the steps of another one. It measures the cost of a run without
// choosing.
type dictation struct {
	lockstep.Strategy
	steps []lockstep.Step
	at    int
}

func (d *dictation) New(lockstep.Info) lockstep.Scheduler { return d }

// the seed of the recorded run
func (d *dictation) Reset(start *lockstep.Start)         { d.at, start.SeedOf = 0, 0 }
func (d *dictation) Report(bool) lockstep.SchedulerStats { return lockstep.SchedulerStats{} }
func (d *dictation) Next(_ *lockstep.Turn, next *lockstep.Step) bool {
	if d.at == len(d.steps) {
		return false
	}
	*next = d.steps[d.at]
	d.at++
	return true
}

// stenographer records the steps of a strategy's last run.
type stenographer struct {
	lockstep.Strategy
	lockstep.Scheduler
	steps []lockstep.Step
}

func (s *stenographer) Fit(info lockstep.Info) (lockstep.Terms, error) {
	terms, err := s.Strategy.Fit(info)
	terms.Sweeps = false
	return terms, err
}

func (s *stenographer) New(info lockstep.Info) lockstep.Scheduler {
	s.Scheduler = s.Strategy.New(info)
	return s
}
func (s *stenographer) Reset(start *lockstep.Start) { s.steps = s.steps[:0]; s.Scheduler.Reset(start) }
func (s *stenographer) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	ok := s.Scheduler.Next(turn, next)
	if ok {
		s.steps = append(s.steps, *next)
	}
	return ok
}

// BenchmarkChoosing reports for every strategy the cost of a step, the cost of choosing it, and the share of choosing.
// The cost of choosing is the cost of a run minus the cost of the same steps dictated.
func BenchmarkChoosing(b *testing.B) {
	const length = 2000
	for _, target := range []struct {
		name   string
		system lockstep.System
	}{{"50-in-flight", tokens(5, 50)}, {"smr", smr.Cluster{Nodes: 5}}} {
		for _, text := range []string{"pctcp:events=2000,steps=2000", "pctcp:depth=8,events=2000,steps=2000",
			"pos:steps=2000",
			"queues:steps=2000",
			"delay:steps=2000",
			"guided:inner=pos:steps=2000",
			"walk:steps=2000",
			"baseline:drop=0,steps=2000",
			"uniform:rounds=100,isolations=0", "lossy:rounds=100,loss=0"} {
			b.Run(target.name+"/"+text, func(b *testing.B) { benchmarkChoosing(b, target.system, text, length) })
		}
	}
}

func benchmarkChoosing(b *testing.B, system lockstep.System, text string, length int) {
	s, err := strategy.Parse(text)
	if err != nil {
		b.Fatal(err)
	}
	notes := &stenographer{Strategy: s}
	plan := lockstep.Plan{System: system, Runs: 1, Steps: length, Workers: 1}
	measure := func(s lockstep.Strategy, runs int) (time.Duration, int64) {
		plan.Strategy, plan.Runs = s, runs
		start := processor.Used()
		result := enginetest.Explore(b, plan)
		return processor.Used() - start, result.Steps
	}
	measure(notes, 1)
	script := &dictation{Strategy: s, steps: slices.Clone(notes.steps)}
	if len(script.steps) == 0 {
		b.Fatal("no steps")
	}
	var chosen, dictated time.Duration
	var steps, bareSteps int64
	const runs = 50
	for b.Loop() {
		d, n := measure(s, runs)
		chosen, steps = chosen+d, steps+n
		d, n = measure(script, runs)
		dictated, bareSteps = dictated+d, bareSteps+n
	}
	step := float64(chosen.Nanoseconds()) / float64(steps)
	bare := float64(dictated.Nanoseconds()) / float64(bareSteps)
	b.ReportMetric(step, "ns/step")
	b.ReportMetric(step-bare, "choosing-ns/step")
	b.ReportMetric((step-bare)/step, "choosing/step")
	b.ReportMetric(0, "ns/op")
}
