package hashicorpraft

import (
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/processor"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/strategy"
)

// benchSteps is the length of a run with about 200 deliveries.
const benchSteps = 320

// BenchmarkRuns compares campaigns with a handwritten loop that takes the same kinds of step: runs with about 200
// deliveries each, three nodes, two clients. It prints runs per second of CPU time and the ratio to the loop, of
// campaigns and of unrecorded runs. A campaign records every run of a best-effort system, which has a cost. The
// garbage collector runs as rarely as in the command.
func BenchmarkRuns(b *testing.B) {
	const batch = 50
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	walk := strategy.Walk{Deliver: 10, Wait: 3, Request: 1, Steps: benchSteps}
	hand, err := bubble.NewBare(Cluster{}.filled().bubble(Cluster{}), &lockstep.Env{})
	if err != nil {
		b.Fatal(err)
	}
	bench, err := lockstep.NewRunner(lockstep.Plan{System: Cluster{}, Strategy: walk, Spec: Safety})
	if err != nil {
		b.Fatal(err)
	}
	var engine, silent, bare time.Duration
	delivered, runs := 0, 0
	for i := range max(1, b.N/batch) { // alternating, so that both have the same load of the machine
		begin := processor.Used()
		enginetest.Explore(b,
			lockstep.Plan{System: Cluster{}, Strategy: walk, Spec: Safety, Runs: batch, Seed: uint64(i)})
		middle := processor.Used()
		engine += middle - begin
		for j := range batch {
			if _, err := bench.Run(b.Context(), i*batch+j, nil); err != nil {
				b.Fatal(err)
			}
		}
		begin = middle
		middle = processor.Used()
		silent += middle - begin
		for j := range batch {
			delivered += byHand(b, hand, uint64(i*batch+j))
		}
		bare += processor.Used() - middle
		runs += batch
	}
	if err := errors.Join(bench.Close(), hand.Close()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(runs)/engine.Seconds(), "recorded-runs/s")
	b.ReportMetric(float64(runs)/silent.Seconds(), "silent-runs/s")
	b.ReportMetric(float64(runs)/bare.Seconds(), "bare-runs/s")
	b.ReportMetric(float64(bare)/float64(engine), "recorded-ratio")
	b.ReportMetric(float64(bare)/float64(silent), "silent-ratio")
	b.ReportMetric(float64(delivered)/float64(runs), "deliveries/run")
}

// byHand executes a run without the engine and returns the number of deliveries.
func byHand(b *testing.B, hand *bubble.Bare, seed uint64) (delivered int) {
	r := rand.New(rand.NewPCG(seed, 1))
	finding, err := hand.Run(seed, func() {
		var flying []int
		seen := 0
		for range benchSteps {
			for ; seen < hand.Sent(); seen++ {
				flying = append(flying, seen)
			}
			x := r.IntN(14)
			switch k := len(flying); {
			case x < 10 && k > 0:
				at := r.IntN(k)
				id := flying[at]
				flying = append(flying[:at], flying[at+1:]...)
				hand.Deliver(id)
				delivered++
			case x == 10 && hand.GiveRequest(lockstep.Node(1+r.IntN(3))):
			default:
				hand.Wait(100 * time.Millisecond)
			}
		}
	})
	if finding != nil || err != nil {
		b.Fatal(finding, err)
	}
	return delivered
}
