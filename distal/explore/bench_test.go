package explore_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/internal/pool"
)

// bareMap puts as many vectors into a Go map as the search of six ballots meets, and returns how many a second.
func bareMap() float64 {
	const transitions = 1_603_095
	start := time.Now()
	set := map[[3]uint32]struct{}{}
	x := uint64(1)
	for range transitions {
		x = x*6364136223846793005 + 1442695040888963407
		set[[3]uint32{uint32(x>>32) % 1000, uint32(x>>20) % 1000, uint32(x>>10) % 1000}] = struct{}{}
	}
	return transitions / time.Since(start).Seconds()
}

// BenchmarkPaxosSix exhausts six ballots of Paxos. The ratio is against the bare work of putting as many random vectors
// into a Go map, in the same process.
func BenchmarkPaxosSix(b *testing.B) {
	m, phases := example(b, "paxos_fixed", distal.Options{Test: "six"})
	bare := bareMap()
	states, transitions := int64(0), int64(0)
	for b.Loop() {
		r, err := explore.Exhaustive(m, explore.Options{Phases: phases})
		if err != nil || r.States != 1_264_172 {
			b.Fatal(r.States, err)
		}
		states += r.States
		transitions += r.Transitions
	}
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(float64(states)/seconds, "states/s")
	b.ReportMetric(float64(transitions)/seconds/bare, "of-a-bare-map")
}

// BenchmarkWorkers exhausts seven ballots of Paxos with one worker and with two, in turn, and reports how much faster
// two are. machine-x says the same of pure arithmetic: what the machine has to give. cpu-x is how much more processor
// time two take.
func BenchmarkWorkers(b *testing.B) {
	m, _ := example(b, "paxos_fixed", distal.Options{})
	var search, bare, used [3]float64
	for b.Loop() {
		for workers := 1; workers <= 2; workers++ {
			start, before := time.Now(), processor(b)
			r, err := explore.Exhaustive(m, explore.Options{Phases: 7, Workers: workers})
			if err != nil || r.States != 5_393_011 {
				b.Fatal(r.States, err)
			}
			search[workers] += time.Since(start).Seconds()
			used[workers] += processor(b) - before
			start = time.Now()
			pool.Ordered(workers, 8, func(int, int) uint64 {
				x := uint64(1)
				for range 50_000_000 {
					x = x*6364136223846793005 + 1442695040888963407
				}
				return x
			}, func(int, uint64) bool { return true })
			bare[workers] += time.Since(start).Seconds()
		}
	}
	b.ReportMetric(search[1]/search[2], "speedup-x")
	b.ReportMetric(bare[1]/bare[2], "machine-x")
	b.ReportMetric(used[2]/used[1], "cpu-x")
}

// processor is the CPU time of this process so far, in seconds; 0 where the system does not say.
func processor(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	sum := 0.0
	for _, f := range fields[11:13] { // user and system time, in hundredths of a second
		n, err := strconv.ParseFloat(f, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += n / 100
	}
	return sum
}

// BenchmarkRandom samples five phases of the buggy Paxos.
func BenchmarkRandom(b *testing.B) {
	m, _ := example(b, "paxos_buggy", distal.Options{})
	rounds := int64(0)
	for b.Loop() {
		r, err := explore.Random(m, explore.RandomOptions{Phases: 5, Runs: 200_000, Deliver: 0.8, KeepOn: true, Seed: 7})
		if err != nil || r.Violations == 0 {
			b.Fatal(r, err)
		}
		rounds += r.Rounds
	}
	b.ReportMetric(float64(rounds)/b.Elapsed().Seconds(), "rounds/s")
}
