package lockstep_test

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/processor"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/register"
	"github.com/lockstep-go/lockstep/target/smr"
)

// BenchmarkDistinct reports how much longer a campaign takes if it counts distinct schedules and states, as a ratio
// of CPU time within one process.
func BenchmarkDistinct(b *testing.B) {
	for _, c := range []struct {
		name string
		plan lockstep.Plan
	}{
		{"smr-walk", lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultWalk, Spec: smr.Prefix}},
		{
			"smr-uniform",
			lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultUniform, Spec: smr.Prefix},
		},
		{
			"register-walk",
			lockstep.Plan{
				System:    register.Cluster{Nodes: 5},
				Strategy:  strategy.DefaultWalk,
				Spec:      register.Linearizability,
				KeepGoing: true,
				Keep:      1,
			},
		},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkDistinct(b, c.plan) })
	}
}

func benchmarkDistinct(b *testing.B, plan lockstep.Plan) {
	plan.Workers, plan.Runs = 1, 10_000
	var spent [2]time.Duration
	for turn := range 2 * b.N {
		for k := range 2 {
			i := (k + turn) % 2 // each comes first in turn
			plan.Distinct = i == 1
			start := processor.Used()
			if _, err := lockstep.Explore(b.Context(), plan); err != nil {
				b.Fatal(err)
			}
			spent[i] += processor.Used() - start
		}
	}
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "ratio")
}
