package sketch

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/internal/testkit/odds"
)

// Estimates are within 7.5 standard errors of the true count, for few and for many values.
func TestCount(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 10, 1000, 9000, 12000, 100_000, 1_000_000} {
		var s Sketch
		for range n {
			h := r.Uint64()
			s.Add(h, h)
		}
		if got := s.Count(); math.Abs(float64(got-n)) > odds.Sigmas*0.0163*float64(n) {
			t.Errorf("%d of %d", got, n)
		}
	}
	var s Sketch // hashes that are far from random
	for i := range uint64(50_000) {
		s.Add(i)
	}
	if got := s.Count(); got < 46_000 || got > 54_000 {
		t.Errorf("%d of 50000", got)
	}
}

// However hashes are spread over sketches, and in whatever order these are merged, the result is the same.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SliceOf(rapid.Uint64()).Draw(t, "hashes")
		var one Sketch
		one.Add(hashes...)
		parts := make([]Sketch, 3)
		for _, h := range hashes {
			parts[rapid.IntRange(0, 2).Draw(t, "part")].Add(h)
		}
		var sum Sketch
		for _, i := range rapid.Permutation([]int{0, 1, 2}).Draw(t, "order") {
			if err := sum.Merge(parts[i]); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(one, sum) {
			t.Errorf("%d, merged %d", one.Count(), sum.Count())
		}
	})
	var s Sketch
	if err := s.Merge(Sketch{1, 2}); err == nil {
		t.Error("a sketch of another size was merged")
	}
	broken := make(Sketch, size)
	if broken[7] = 200; s.Merge(broken) == nil || s.Count() != 0 {
		t.Error("a register that no hash fills was merged")
	}
	for i := range broken {
		broken[i] = maxZeros
	}
	if n := broken.Count(); n < 1<<50 {
		t.Errorf("a sketch of the largest registers counts %d", n)
	}
}
