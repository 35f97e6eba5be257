package scenario_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// BenchmarkScenario measures the cost of looking: it compares a campaign under a scenario that looks at everything
// and moves nothing with the same campaign without it.
func BenchmarkScenario(b *testing.B) {
	sc := New("looks")
	sc.Machine().On(IsEvent(smr.Output), "output")
	for _, round := range []string{"Prepare", "Ack", "Propose", "Promise"} {
		sc.If(Round(round), Phase(-1), From(1, 2)).Then(Drop())
	}
	plan := lockstep.Plan{
		System:   smr.Cluster{Nodes: 3},
		Strategy: strategy.DefaultWalk,
		Spec:     smr.Prefix,
		Runs:     300,
		Workers:  1,
	}
	measure := func(s lockstep.Scenario) (time.Duration, int64) {
		p := plan
		p.Scenario = s
		start := time.Now()
		result, err := lockstep.Explore(context.Background(), p)
		if err != nil {
			b.Fatal(err)
		}
		return time.Since(start), result.Steps
	}
	var bare, guided time.Duration
	var steps int64
	for b.Loop() {
		d, n := measure(nil)
		bare += d
		d, _ = measure(sc)
		guided += d
		steps += n
	}
	b.ReportMetric(float64(steps)/guided.Seconds(), "steps/s")
	b.ReportMetric(guided.Seconds()/bare.Seconds(), "x-bare")
}
