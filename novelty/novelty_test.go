package novelty_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/odds"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/novelty"
)

// drawRuns draws the features of some runs, each from few features so that rare and frequent ones occur.
func drawRuns(rng *rand.Rand, runs int) [][]uint64 {
	list := make([][]uint64, runs)
	for i := range list {
		for f := range uint64(1 + rng.IntN(40)) {
			if rng.Float64() < 1/float64(1+f) {
				list[i] = append(list[i], f*f)
			}
		}
	}
	return list
}

// fresh reports whether a run has a feature that none of the others has, by looking.
func fresh(run []uint64, others ...[]uint64) bool {
	known := map[uint64]bool{}
	for _, o := range others {
		for _, f := range o {
			known[f] = true
		}
	}
	for _, f := range run {
		if !known[f] {
			return true
		}
	}
	return false
}

// without returns all runs but one.
func without(runs [][]uint64, i int) [][]uint64 {
	return append(append([][]uint64{}, runs[:i]...), runs[i+1:]...)
}

// novelty adds runs in a batch, of which the first has a number.
func setOf(first int, runs [][]uint64) novelty.Set {
	var n novelty.Set
	for i, run := range runs {
		n.Add(first+i, run)
	}
	return n
}

// text is the form in JSON, which determines a Novelty.
func text(t *testing.T, n novelty.Set) string {
	t.Helper()
	b, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The number of runs that reached something that no other did is that of looking at every run, however the runs are
// divided into batches and in whatever order these are merged, also after a way through JSON and a change of features.
func TestCounts(t *testing.T) {
	tier.NotShort(t)
	rng := rand.New(rand.NewPCG(4, 4))
	for range 300 {
		runs := drawRuns(rng, 1+rng.IntN(12))
		whole := setOf(100, runs)
		only := 0
		for i, run := range runs {
			if fresh(run, without(runs, i)...) {
				only++
			}
		}
		e := whole.Estimate()
		if e.Runs != len(runs) || e.Only != only || e.Probability != float64(only)/float64(len(runs)) ||
			!(e.Lower <= e.Probability && e.Probability <= e.Upper) {
			t.Fatalf("%+v, want %d of %d", e, only, len(runs))
		}
		at, end := rng.IntN(len(runs)+1), rng.IntN(len(runs)+1)
		at, end = min(at, end), max(at, end)
		parts := []novelty.Set{setOf(100, runs[:at]), setOf(100+at, runs[at:end]), setOf(100+end, runs[end:])}
		rng.Shuffle(3, func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		var sum novelty.Set
		for _, p := range parts {
			var read novelty.Set
			if err := json.Unmarshal([]byte(text(t, p)), &read); err != nil {
				t.Fatal(err)
			}
			sum.Merge(read)
		}
		if text(t, sum) != text(t, whole) {
			t.Fatalf("merged %s, want %s", text(t, sum), text(t, whole))
		}
		if err := sum.Check(100, 100+len(runs)); err != nil {
			t.Error(err)
		}
		mapped := make([][]uint64, len(runs))
		for i, run := range runs {
			seen := map[uint64]bool{}
			for _, f := range run {
				if !seen[f/2] {
					seen[f/2] = true
					mapped[i] = append(mapped[i], f/2)
				}
			}
		}
		if got := whole.Mapped(func(f uint64) uint64 { return f / 2 }); text(t, got) != text(t, setOf(100, mapped)) {
			t.Fatalf("mapped %s, want %s", text(t, got), text(t, setOf(100, mapped)))
		}
	}
}

// A text that no campaign wrote is refused.
func TestRefuses(t *testing.T) {
	var n novelty.Set
	n.Add(7, []uint64{1, 5, math.MaxUint64})
	n.Add(8, []uint64{5})
	good := text(t, n)
	for i := range good {
		for _, b := range []byte{'A', '0', '"', 0} {
			bad := []byte(good)
			bad[i] = b
			var read novelty.Set
			if json.Unmarshal(bad, &read) == nil { // what is read is whole
				_ = read.Check(0, 10)
				_ = text(t, read)
			}
		}
	}
	for _, c := range []struct {
		first, end int
		want       string
	}{{0, 1, "features of 2 runs, where there are 1"}, {0, 8, "where there are 0 to 7"},
		{8, 10, "where there are 8 to 9"}} {
		if err := n.Check(c.first, c.end); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, bad := range []string{`{"runs":-1}`, `{"runs":0,"reached":"` + strings.Split(good, `"`)[5] + `"}`} {
		if err := json.Unmarshal([]byte(bad), &n); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

// population is a distribution of runs.
type population struct {
	name string
	draw func(*rand.Rand) []uint64
	// reaches is the probability that a run reaches something outside of the set.
	reaches func(known map[uint64]bool) float64
}

// species draws one of these features in each run, with the weights as probabilities.
func species(name string, weights []float64) population {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	return population{name, func(rng *rand.Rand) []uint64 {
		x := rng.Float64() * sum
		for i, w := range weights {
			if x -= w; x < 0 {
				return []uint64{uint64(i)}
			}
		}
		return []uint64{uint64(len(weights) - 1)}
	}, func(known map[uint64]bool) float64 {
		missing := 0.0
		for i, w := range weights {
			if !known[uint64(i)] {
				missing += w
			}
		}
		return missing / sum
	}}
}

// blocks draws each feature on its own.
func blocks(name string, chances []float64) population {
	return population{name, func(rng *rand.Rand) (list []uint64) {
		for i, p := range chances {
			if rng.Float64() < p {
				list = append(list, uint64(i))
			}
		}
		return list
	}, func(known map[uint64]bool) float64 {
		none := 1.0
		for i, p := range chances {
			if !known[uint64(i)] {
				none *= 1 - p
			}
		}
		return 1 - none
	}}
}

func weights(n int, w func(i int) float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = w(i)
	}
	return list
}

// The estimate is right on average for known distributions, and the limits enclose the true probability at least as
// often as they say, but for a small margin.
func TestEstimates(t *testing.T) {
	tier.NotShort(t)
	campaigns := tier.Pick(400, 4000)
	rng := rand.New(rand.NewPCG(9, 9))
	for _, p := range []population{
		species("uniform", weights(60, func(int) float64 { return 1 })),
		species("one", weights(1, func(int) float64 { return 1 })),
		species("Zipf", weights(2000, func(i int) float64 { return 1 / float64(1+i) })),
		species("steep", weights(500, func(i int) float64 { return math.Pow(float64(1+i), -2) })),
		species("geometric", weights(60, func(i int) float64 { return math.Pow(0.7, float64(i)) })),
		blocks("blocks", weights(300, func(i int) float64 { return math.Pow(float64(1+i), -1.5) })),
		blocks("rare blocks", weights(50, func(int) float64 { return 0.002 })),
	} {
		for _, runs := range []int{30, 200} {
			t.Run(fmt.Sprintf("%s/%d", p.name, runs), func(t *testing.T) {
				inside, below, bias, squares := 0, 0, 0.0, 0.0
				for range campaigns {
					var n novelty.Set
					known := map[uint64]bool{}
					for i := range runs {
						list := p.draw(rng)
						n.Add(i, list)
						for _, f := range list {
							known[f] = true
						}
					}
					e, truth := n.Estimate(), p.reaches(known)
					if truth <= e.Upper && truth >= e.Lower {
						inside++
					}
					if truth <= e.Upper {
						below++
					}
					bias += e.Probability - truth
					squares += (e.Probability - truth) * (e.Probability - truth)
				}
				mean := bias / float64(campaigns)
				spread := math.Sqrt(squares/float64(campaigns)) / math.Sqrt(float64(campaigns))
				t.Logf("%s, %d runs: bias %.5f ± %.5f, inside %.3f, below %.3f", p.name, runs, mean, spread,
					float64(inside)/float64(campaigns), float64(below)/float64(campaigns))
				// The estimate is exactly right for one run less, so that it is a little too large.
				if mean < -odds.Sigmas*spread || mean > odds.Sigmas*spread+1/float64(runs) {
					t.Errorf("bias %.5f ± %.5f", mean, spread)
				}
				// They hold for many runs; with few they are a little too narrow.
				least := 0.93
				if runs < 100 {
					least = 0.9
				}
				if share := float64(inside) / float64(campaigns); share < least {
					t.Errorf("the limits enclose %.3f, they say 0.95", share)
				}
			})
		}
	}
}
