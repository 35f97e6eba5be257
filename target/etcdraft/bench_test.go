//go:build unix

package etcdraft_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/processor"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/v35"
)

var benchWalk = strategy.Walk{Deliver: 10, Drop: 1, Timer: 1, Request: 1}

func explore(b *testing.B, sys lockstep.System, s lockstep.Spec, runs int) (*lockstep.Result, time.Duration) {
	start := processor.Used()
	r, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: sys, Strategy: benchWalk, Spec: s, Runs: runs, Steps: 200, Workers: 1, Seed: 1})
	if err != nil || r.First() != nil {
		b.Fatal(err, r.First())
	}
	return r, processor.Used() - start
}

// BenchmarkRatio compares runs of 200 steps under the engine with the bare loop, without a spec and with all of them.
// Both alternate in the same process.
func BenchmarkRatio(b *testing.B) {
	for _, nodes := range []int{3, 5} {
		for _, spec := range []struct {
			name string
			spec lockstep.Spec
		}{{"none", nil}, {"safety", etcdraft.Safety}, {"everything", etcdraft.Everything}} {
			b.Run(fmt.Sprintf("nodes=%d/spec=%s", nodes, spec.name), func(b *testing.B) {
				const batch = 1000
				loop := &bare{rand: rand.New(rand.NewPCG(1, 1))}
				var engine, plain time.Duration
				var result *lockstep.Result
				for b.Loop() {
					r, d := explore(b, etcdraft.Cluster{Nodes: nodes}, spec.spec, batch)
					result = r
					engine += d
					start := processor.Used()
					loop.messages, loop.steps = 0, 0
					for range batch {
						loop.run(nodes, 200)
					}
					plain += processor.Used() - start
				}
				b.ReportMetric(float64(batch*b.N)/engine.Seconds(), "runs/s")
				b.ReportMetric(float64(batch*b.N)/plain.Seconds(), "bare-runs/s")
				b.ReportMetric(plain.Seconds()/engine.Seconds(), "ratio")
				b.ReportMetric(float64(result.Messages)/batch, "msgs/run")
				b.ReportMetric(float64(loop.messages)/batch, "bare-msgs/run")
			})
		}
	}
}

// BenchmarkApart executes runs of one kind only, for tools that count instructions and cache misses.
func BenchmarkApart(b *testing.B) {
	b.Run("engine", func(b *testing.B) { explore(b, etcdraft.Cluster{Nodes: 3}, nil, b.N) })
	b.Run("bare", func(b *testing.B) {
		loop := &bare{rand: rand.New(rand.NewPCG(1, 1))}
		for range b.N {
			loop.run(3, 200)
		}
	})
}

// BenchmarkRuns measures the speed of both versions.
func BenchmarkRuns(b *testing.B) {
	for _, sys := range []lockstep.System{etcdraft.Cluster{}, v35.Cluster{}, etcdraft.Cluster{Nodes: 5},
		v35.Cluster{Nodes: 5}, etcdraft.Cluster{Async: true}} {
		info, _ := sys.Describe()
		b.Run(fmt.Sprintf("%s/nodes=%d/async=%s", info.Name, info.Nodes, info.Options["async"]), func(b *testing.B) {
			var spent time.Duration
			for b.Loop() {
				_, d := explore(b, sys, etcdraft.Safety, 100)
				spent += d
			}
			b.ReportMetric(float64(100*b.N)/spent.Seconds(), "runs/s")
			b.ReportMetric(float64(100*200*b.N)/spent.Seconds(), "steps/s")
		})
	}
}
