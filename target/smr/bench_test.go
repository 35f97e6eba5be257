package smr

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/processor"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
)

// BenchmarkEngine compares runs of the correct protocol under each strategy with a handwritten loop over the same
// nodes. The loop makes the same kind of choices and checks the same property. Both alternate in the same process.
// The ratio is the loop's CPU time per step over the engine's: 1 would mean that the engine costs nothing.
//
//	go test ./target/smr -run '^$' -bench Engine
func BenchmarkEngine(b *testing.B) {
	for _, c := range []struct {
		strategy lockstep.Strategy
		bare     func(*bare)
	}{
		{strategy.DefaultUniform, (*bare).uniform},
		{strategy.DefaultLossy, (*bare).lossy},
		{strategy.DefaultWalk, (*bare).walk},
		{strategy.DefaultBaseline, (*bare).baseline},
	} {
		b.Run(c.strategy.String(), func(b *testing.B) { compareWithBare(b, c.strategy, c.bare) })
	}
}

func compareWithBare(b *testing.B, s lockstep.Strategy, run func(*bare)) {
	const share = 50000 // runs per turn
	plan := lockstep.Plan{System: Cluster{Nodes: 3}, Strategy: s, Spec: Prefix, Workers: 1}
	hand := newBare(3)
	var engineTime, handTime time.Duration
	var engineSteps int64
	b.ReportAllocs()
	for done := 0; done < b.N; done += share {
		plan.Seed, plan.Runs = uint64(done), min(share, b.N-done)
		start := processor.Used()
		result, err := lockstep.Explore(context.Background(), plan)
		engineTime += processor.Used() - start
		if err != nil || result.First() != nil {
			b.Fatal(err, result.First())
		}
		engineSteps += result.Steps
		start = processor.Used()
		for i := range plan.Runs {
			hand.pcg.Seed(plan.Seed, uint64(i))
			run(hand)
		}
		handTime += processor.Used() - start
	}
	perEngine := float64(engineTime.Nanoseconds()) / float64(engineSteps)
	perHand := float64(handTime.Nanoseconds()) / float64(hand.steps)
	b.ReportMetric(float64(b.N)/engineTime.Seconds(), "runs/s")
	b.ReportMetric(float64(engineSteps)/engineTime.Seconds(), "steps/s")
	b.ReportMetric(perHand/perEngine, "ratio")
	b.ReportMetric(0, "ns/op") // it would mix both loops
}

// BenchmarkWorkers compares the same runs with one worker and with two. As a control, it executes the handwritten
// loop in one goroutine and in two. All alternate. It prints the speedup of two over one, by the shortest time of
// each. The control shows the benefit of the second CPU, which may be half of a core.
//
//	go test ./target/smr -run '^$' -bench Workers -benchtime 20x -cpu 2
func BenchmarkWorkers(b *testing.B) {
	const share = 20000 // runs per turn
	for _, c := range []struct {
		strategy lockstep.Strategy
		bare     func(*bare)
	}{
		{strategy.DefaultUniform, (*bare).uniform},
		{strategy.DefaultWalk, (*bare).walk},
	} {
		b.Run(c.strategy.String(), func(b *testing.B) {
			var engine, hand [2]time.Duration // the shortest with one and two
			for range b.N {
				for i := range 2 {
					engine[i] = shortest(engine[i], func() {
						_, err := lockstep.Explore(
							context.Background(),
							lockstep.Plan{System: Cluster{Nodes: 3}, Strategy: c.strategy,
								Spec: Prefix, Workers: i + 1, Runs: share},
						)
						if err != nil {
							b.Fatal(err)
						}
					})
					hand[i] = shortest(hand[i], func() {
						var wg sync.WaitGroup
						for range i + 1 {
							wg.Go(func() {
								loop := newBare(3)
								for k := range share / (i + 1) {
									loop.pcg.Seed(0, uint64(k))
									c.bare(loop)
								}
							})
						}
						wg.Wait()
					})
				}
			}
			b.ReportMetric(float64(engine[0])/float64(engine[1]), "engine-two/one")
			b.ReportMetric(float64(hand[0])/float64(hand[1]), "bare-two/one")
			b.ReportMetric(0, "ns/op") // it would mix both loops
		})
	}
}

// shortest is the minimum of the duration of a call and the previous durations.
func shortest(before time.Duration, do func()) time.Duration {
	start := time.Now()
	do()
	if took := time.Since(start); before == 0 || took < before {
		return took
	}
	return before
}

// bare drives the nodes by hand.
type bare struct {
	sim.Bare[message]
	n       int
	pcg     rand.PCG
	rand    *rand.Rand
	flying  []int
	seen    int
	steps   int
	longest Log
	checked int
}

func newBare(n int) *bare {
	b := &bare{Bare: sim.NewBare(Cluster{Nodes: n}.cluster()), n: n}
	b.rand = rand.New(&b.pcg)
	return b
}

func (b *bare) reset() {
	b.Reset(b.rand.Uint64())
	b.flying, b.seen, b.longest, b.checked = b.flying[:0], 0, nil, 0
}

// take adds the sent messages to those in flight and checks the outputs.
func (b *bare) take() {
	b.steps++
	for ; b.seen < b.Sent(); b.seen++ {
		b.flying = append(b.flying, b.seen)
	}
	for _, e := range b.Events()[b.checked:] {
		log := *e.Value.(*Log)
		if k := min(len(log), len(b.longest)); !slices.Equal(log[:k], b.longest[:k]) {
			panic("outputs disagree")
		} else if len(log) > k {
			b.longest = log
		}
		b.checked++
	}
}

// rounds executes 16 lock-step rounds; lose decides about each message.
func (b *bare) rounds(open func(round int), lose func(from, to lockstep.Node) bool) {
	b.reset()
	var mail []int
	for round := range 16 {
		open(round)
		if round%4 == 0 {
			for n := range b.Timers().All() {
				if !lose(n, n) {
					b.Timeout(n)
					b.take()
				}
			}
		}
		mail = mail[:0]
		rest := b.flying[:0]
		for _, i := range b.flying {
			if int(b.Message(i).round) == round%4 {
				mail = append(mail, i)
			} else {
				rest = append(rest, i)
			}
		}
		b.flying = rest
		for _, i := range mail {
			if !lose(b.Endpoints(i)) {
				b.Deliver(i)
			}
			b.take()
		}
	}
}

func (b *bare) uniform() {
	var starts [12]int
	for i := range starts {
		starts[i] = 4
	}
	for range 4 {
		starts[b.rand.IntN(12)] = b.rand.IntN(4)
	}
	var kernel lockstep.Nodes
	b.rounds(func(round int) {
		kernel = 0
		for n := range 3 {
			if starts[round/4*3+n] > round%4 {
				kernel = kernel.With(lockstep.Node(n + 1))
			}
		}
	}, func(from, to lockstep.Node) bool { return !kernel.Has(from) || !kernel.Has(to) })
}

func (b *bare) lossy() {
	b.rounds(func(int) {}, func(from, to lockstep.Node) bool { return b.rand.Float64() < 0.2 })
}

// deliverAt delivers or drops the k-th message in flight.
func (b *bare) deliverAt(k int, drop bool) {
	i := b.flying[k]
	b.flying = append(b.flying[:k], b.flying[k+1:]...)
	if !drop {
		b.Deliver(i)
	}
}

func (b *bare) walk() {
	b.reset()
	for range 500 {
		timers := b.Timers()
		weight := 0
		if timers != 0 {
			weight++
		}
		if len(b.flying) > 0 {
			weight += 11
		}
		if weight == 0 {
			return
		}
		switch at := b.rand.IntN(weight); {
		case len(b.flying) > 0 && at < 11:
			b.deliverAt(b.rand.IntN(len(b.flying)), at == 10)
		default:
			b.Timeout(timers.Nth(b.rand.IntN(timers.Len())))
		}
		b.take()
	}
}

func (b *bare) baseline() {
	b.reset()
	for range 500 {
		switch timers := b.Timers(); {
		case len(b.flying) > 0:
			b.deliverAt(b.rand.IntN(len(b.flying)), b.rand.Float64() < 0.25)
		case timers != 0:
			b.Timeout(timers.Nth(b.rand.IntN(timers.Len())))
		default:
			return
		}
		b.take()
	}
}
