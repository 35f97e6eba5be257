package cover_test

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/cover"
)

// BenchmarkDraw draws partitions and reports how many times as long that takes as a
// bare loop which puts each node on a random side. The second set of sizes needs
// integers beyond uint64.
func BenchmarkDraw(b *testing.B) {
	for _, c := range []struct {
		name  string
		space cover.Space
	}{
		{"uniform/n=5/k=2", cover.Uniform(5, 2)},
		{"uniform/n=64/k=2", cover.Uniform(64, 2)},
		{"balanced/n=5/k=2", cover.Balanced(5, 2)},
		{"uniform/n=64/k=8", cover.Uniform(64, 8)},
	} {
		b.Run(c.name, func(b *testing.B) {
			sampler, rng := must(cover.NewSampler(c.space)), seeded(1)
			b.ReportAllocs()
			for b.Loop() {
				sampler.Draw(rng)
			}
			drawn := b.Elapsed()
			start, labels := time.Now(), make([]byte, c.space.Nodes)
			for range b.N {
				for i := range labels {
					labels[i] = byte(rng.IntN(c.space.Blocks))
				}
			}
			b.ReportMetric(float64(b.N)/drawn.Seconds(), "partitions/s")
			b.ReportMetric(drawn.Seconds()/time.Since(start).Seconds(), "x-bare-loop")
		})
	}
}

// BenchmarkPlan answers the question of the documentation.
func BenchmarkPlan(b *testing.B) {
	for b.Loop() {
		must(cover.Plan(cover.Params{Criterion: "split", Nodes: 5, K: 2, Confidence: 0.95}))
	}
}
