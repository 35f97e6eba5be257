package coverage_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/internal/testkit/odds"
)

// campaign feeds a meter with runs of a few stages, drawn from a space.
func campaign(rng *rand.Rand, space cover.Space, runs int,
	watches ...coverage.Watch) ([][]cover.Stage, *coverage.Meter) {
	meter := must(coverage.NewMeter(watches...))
	sampler := must(cover.NewSampler(space))
	var all [][]cover.Stage
	for range runs {
		run := []cover.Stage{{Partition: must(cover.Whole(space.Nodes)), Ops: []cover.Op{{Name: "read", Node: 1}}}}
		for range 1 + rng.IntN(3) {
			stage := draw(rng, sampler, rng.IntN(4))
			stage.Roles = []cover.Role{{Name: "leader", Nodes: must(cover.SetOf(1 + rng.IntN(space.Nodes)))}}
			run = append(run, stage)
		}
		meter.Add(run)
		all = append(all, run)
	}
	return all, meter
}

// TestMeterCounts recomputes the incremental counts of the meter from scratch.
func TestMeterCounts(t *testing.T) {
	space := cover.Uniform(6, 2)
	reads := cover.Op{Name: "read"}
	watches := []coverage.Watch{
		must(coverage.WatchGoals(cover.Split{K: 2}, space)),
		must(coverage.WatchGoals(cover.Separate{K: 1, L: 3}, space)),
		must(coverage.WatchGoals(cover.Isolate{}, space)),
		must(coverage.WatchSequences(2, reads, cover.Op{Name: "write 0"}, cover.Op{Name: "write 1", Node: 3})),
		{
			Name: "roles",
			Goals: []cover.Goal{
				cover.RoleGoal{Kind: cover.Isolates, A: "leader"},
				cover.RoleGoal{Kind: cover.Isolates, A: "no node"},
			},
		},
		{
			Name: "sequences",
			Goals: []cover.Goal{
				must(cover.ParsePartitionSequence("n1(minority)|* then n2(minority)|*")),
				must(cover.ParsePartitionSequence("n1|n2: read@1")),
			},
		},
	}
	runs, meter := campaign(seeded(4), space, 25, watches...)
	for i, reading := range meter.Read() {
		covered, tests := map[int]bool{}, 0
		curve := reading.Curve
		for r, run := range runs {
			tests += watches[i].Goals[0].Tests(run)
			for a, goal := range watches[i].Goals {
				if goal.In(run) {
					covered[a] = true
				}
			}
			for len(curve) > 0 && curve[0].Run < r+1 {
				curve = curve[1:]
			}
			if len(curve) > 0 && curve[0].Run == r+1 && (curve[0].Covered != len(covered) || curve[0].Tests != tests) {
				t.Errorf("%s: after run %d the curve has %+v, want %d covered by %d tests", reading.Name, r+1, curve[0],
					len(covered), tests)
			}
		}
		last := reading.Curve[len(reading.Curve)-1]
		if reading.Covered != len(covered) || reading.Tests != tests || reading.Runs != 25 ||
			reading.Goals != len(watches[i].Goals) ||
			last.Run != 25 {
			t.Errorf("%s: read %+v, want %d covered by %d tests", reading.Name, reading, len(covered), tests)
		}
		if reading.Covered == 0 || reading.Fraction != float64(reading.Covered)/float64(reading.Goals) {
			t.Errorf("%s: fraction %v", reading.Name, reading.Fraction)
		}
		missing := meter.Missing(reading.Name)
		for _, goal := range missing {
			for _, run := range runs {
				if goal.In(run) {
					t.Errorf("%s: %v is said to be missing", reading.Name, goal)
				}
			}
		}
		if len(missing) != reading.Goals-reading.Covered {
			t.Errorf("%s: %d missing of %d, covered %d", reading.Name, len(missing), reading.Goals, reading.Covered)
		}
		if (reading.Theory != nil) != (watches[i].Probability.P != nil) {
			t.Errorf("%s: theory %v", reading.Name, reading.Theory)
		}
	}
	if meter.Missing("no such watch") != nil {
		t.Error("an unknown watch has missing goals")
	}
}

// TestMeterTheory measures 400 campaigns: the mean covered share is as expected by the theory, and full coverage is at
// least as frequent as guaranteed.
func TestMeterTheory(t *testing.T) {
	const campaigns, runs = 400, 12
	space := cover.Balanced(5, 2)
	watch := must(coverage.WatchGoals(cover.Separate{K: 1, L: 2}, space))
	sampler := must(cover.NewSampler(space))
	rng := seeded(8)
	sum, squares, full := 0.0, 0.0, 0.0
	var theory coverage.Theory
	for range campaigns {
		meter := must(coverage.NewMeter(watch))
		for range runs {
			meter.Add([]cover.Stage{{Partition: sampler.Draw(rng)}})
		}
		reading := meter.Read()[0]
		theory = *reading.Theory
		sum += reading.Fraction
		squares += reading.Fraction * reading.Fraction
		if reading.Covered == reading.Goals {
			full++
		}
	}
	mean := sum / campaigns
	margin := odds.Sigmas * math.Sqrt((squares/campaigns-mean*mean)/campaigns)
	if math.Abs(mean-theory.Fraction) > margin {
		t.Errorf("mean share %.4f, expected %.4f, margin %.4f", mean, theory.Fraction, margin)
	}
	margin = odds.Sigmas * math.Sqrt(theory.Probability*(1-theory.Probability)/campaigns)
	if full/campaigns < theory.Probability-margin || theory.Bound > theory.Probability {
		t.Errorf("all covered in %v of %v campaigns, guaranteed %.4f, by the paper %.4f", full, campaigns,
			theory.Probability, theory.Bound)
	}
}

// TestMeterEmpty reads a meter before the first run, and one that observed no partition.
func TestMeterEmpty(t *testing.T) {
	meter := must(coverage.NewMeter(must(coverage.WatchGoals(cover.Isolate{}, cover.Uniform(5, 2)))))
	if r := meter.Read()[0]; len(r.Curve) != 0 || r.Covered != 0 || *r.Theory != (coverage.Theory{}) {
		t.Errorf("before the first run: %+v", r)
	}
	meter.Add(nil)
	meter.Add([]cover.Stage{{}})
	if r := meter.Read()[0]; r.Runs != 2 || r.Tests != 0 || r.Covered != 0 || len(r.Curve) != 1 {
		t.Errorf("after two empty runs: %+v", r)
	}
}

// TestMeterRefusesChance checks that NewMeter validates the chance of a watch.
func TestMeterRefusesChance(t *testing.T) {
	goals := []cover.Goal{cover.PartitionGoal{}}
	for _, w := range [][]coverage.Watch{
		{{Name: "a", Goals: goals, Probability: cover.Probability{P: big.NewRat(2, 1), Goals: big.NewInt(1)}}},
		{{Name: "a", Goals: goals, Probability: cover.Probability{P: big.NewRat(1, 2), Goals: big.NewInt(1)}}},
		{{Name: "a", Goals: goals}, {Name: "a", Goals: goals}},
		{{Name: "a", Goals: []cover.Goal{nil}}},
	} {
		if _, err := coverage.NewMeter(w...); err == nil {
			t.Errorf("%+v is accepted", w)
		}
	}
}

// TestMeterCountsHits feeds samples of a partition sequence and counts those that cover it.
func TestMeterCountsHits(t *testing.T) {
	sequence := must(cover.ParsePartitionSequence("n1+n2(2)|2 then n1(1)|*"))
	meter := must(coverage.NewMeter(must(coverage.WatchPartitionSequence(sequence, cover.Sampling{Nodes: 4}))))
	first, second := must(cover.NewSampler(cover.Sized(2, 2))), must(cover.NewSampler(cover.Sized(1, 3)))
	rng := seeded(6)
	hits := 0
	for range 500 {
		run := []cover.Stage{
			{Partition: must(cover.Whole(4))},
			{Partition: first.Draw(rng)},
			{Partition: second.Draw(rng)},
		}
		if run[1].Partition.String() == "1,2|3,4" && run[2].Partition.String() == "1|2,3,4" {
			hits++
		}
		meter.Add(run)
	}
	if r := meter.Read()[0]; r.Hits != hits || hits < 20 || r.Tests != 500 || r.Theory.Fraction < 0.99 {
		t.Errorf("%d hits: %+v", hits, r)
	}
}

// TestMeterRefuses checks that errors name the value that is out of range.
func TestMeterRefuses(t *testing.T) {
	for _, c := range []struct {
		want string
		err  error
	}{
		{"goals of empty = 0: want at least 1", errOf(coverage.NewMeter(coverage.Watch{Name: "empty"}))},
		{
			"number of sequences = 10000000: want at most 1048576 to count them one by one",
			errOf(coverage.WatchSequences(7, make([]cover.Op, 10)...)),
		},
	} {
		var wrong *cover.RangeError
		if !errors.As(c.err, &wrong) || c.err.Error() != c.want {
			t.Errorf("have error %v\nwant       %v", c.err, c.want)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// draw draws a stage.
func draw(rng *rand.Rand, sampler *cover.Sampler, operations int) cover.Stage {
	stage := cover.Stage{Partition: sampler.Draw(rng)}
	for range operations {
		name := []string{"read", "write 0", "write 1"}[rng.IntN(3)]
		stage.Ops = append(stage.Ops, cover.Op{Name: name, Node: 1 + rng.IntN(stage.Partition.Nodes())})
	}
	return stage
}

// BenchmarkMeter adds a run of one stage and reports the cost relative to drawing its partition.
func BenchmarkMeter(b *testing.B) {
	space := cover.Uniform(7, 2)
	watches := []coverage.Watch{
		must(coverage.WatchGoals(cover.Split{K: 2}, space)),
		must(coverage.WatchGoals(cover.Separate{K: 1, L: 2}, space)),
		must(coverage.WatchGoals(cover.Isolate{}, space)),
	}
	sampler, rng := must(cover.NewSampler(space)), seeded(1)
	meter := must(coverage.NewMeter(watches...))
	for b.Loop() {
		meter.Add([]cover.Stage{{Partition: sampler.Draw(rng)}})
	}
	added, start := b.Elapsed(), time.Now()
	for range b.N {
		sampler.Draw(rng)
	}
	b.ReportMetric(float64(b.N)/added.Seconds(), "runs/s")
	b.ReportMetric(added.Seconds()/time.Since(start).Seconds(), "x-drawing")
}

func ExampleMeter() {
	space := cover.Balanced(5, 2)
	isolate, _ := coverage.WatchGoals(cover.Isolate{}, space)
	pairs, _ := coverage.WatchSequences(2, cover.Op{Name: "read"}, cover.Op{Name: "write"})
	meter, _ := coverage.NewMeter(isolate, pairs)
	for _, text := range []string{"1,2|3,4,5", "1,2|3,4,5", "3,4|1,2,5"} {
		p, _ := cover.ParsePartition(text)
		meter.Add([]cover.Stage{{Partition: p, Ops: []cover.Op{{Name: "write", Node: 1}, {Name: "read", Node: 3}}}})
	}
	for _, r := range meter.Read() {
		fmt.Printf("%s: %d of %d goals by %d tests (expected %.2f of them)\n", r.Name, r.Covered, r.Goals, r.Tests,
			r.Theory.Fraction)
		for _, point := range r.Curve {
			fmt.Printf("  run %d: %d\n", point.Run, point.Covered)
		}
	}
	fmt.Println(meter.Missing("minority isolation"))
	// Output:
	// minority isolation: 4 of 5 goals by 3 tests (expected 0.78 of them)
	//   run 1: 2
	//   run 3: 4
	// sequences of 2 operations: 1 of 4 goals by 3 tests (expected 0.58 of them)
	//   run 1: 1
	//   run 3: 1
	// [isolate {5} in a minority]
}

func ExampleWatchPartitionSequence() {
	sequence, _ := cover.ParsePartitionSequence("n1+n2(2)|2 then n1(1)|*")
	watch, err := coverage.WatchPartitionSequence(sequence, cover.Sampling{Nodes: 4})
	fmt.Println(watch.Name, watch.Probability.P, err)
	// Output: the partition sequence n1+n2(2)|2 then n1(1)|* 1/12 <nil>
}

func ExampleWatchIrregular() {
	meter, _ := coverage.NewMeter(coverage.WatchIrregular(3)...)
	fmt.Println(len(meter.Read()), "readings before there is anything to read")
	links, _ := cover.AllLinks(3)
	one, _ := cover.SetOf(1)
	two, _ := cover.SetOf(2)
	links.Cut(one, two) // node 2 does not receive from node 1, but node 1 receives from node 2
	meter.Add([]cover.Stage{{Links: links}})
	for _, r := range meter.Read() {
		fmt.Println(r.Name, r.Covered, "of", r.Goals)
	}
	// Output:
	// 0 readings before there is anything to read
	// links cut one way 1 of 6
}
