package bubble

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// Each point of a block has a preemption with the same probability, the share, and a block has at most one. Blocks
// begin where the ones before them end, with preemptions and without.
func TestDecide(t *testing.T) {
	for _, share := range []float64{0.5, 0.1, 0.004} {
		p := &preempter{Preemption: Preemption{Share: share}}
		p.chance = (&lot{seed: 7}).chance(0, preemptStream)
		size := blockSize(share, 0)
		counts, last, at := make([]float64, size), int64(-1), &count{Left: 1}
		const blocks = 40_000
		for point := int64(0); point < size*blocks; point++ {
			if at.Left--; at.Left > 0 {
				continue
			}
			if point%size == 0 {
				at.Blocks = 0 // all blocks have the same size
			}
			preempts := p.decide(at)
			if at.Left < 1 {
				t.Fatalf("share %v: the next decision is %d points away", share, at.Left)
			}
			if preempts {
				counts[point%size]++
				if point/size == last {
					t.Fatalf("share %v: two preemptions in block %d", share, last)
				}
				last = point / size
			}
		}
		want := share * blocks
		if least, most := slices.Min(counts), slices.Max(counts); math.Abs(least-want) > 5*math.Sqrt(want) ||
			math.Abs(most-want) > 5*math.Sqrt(want) {
			t.Errorf("share %v: %v to %v preemptions at each point of a block, want about %v", share, least, most, want)
		}
	}
}

// A step with a billion points has few blocks.
func TestBlockSize(t *testing.T) {
	for _, share := range []float64{0.5, 1e-3, 1e-9, 1e-300} {
		points, blocks := int64(0), int64(0)
		for ; points < 1_000_000_000; blocks++ {
			points += blockSize(share, blocks)
		}
		if blocks > blocksAlike*31 {
			t.Errorf("share %v: %d blocks", share, blocks)
		}
		if n := blockSize(share, math.MaxInt32); n < 1 || n > mostPoints {
			t.Errorf("share %v: a block of %d points", share, n)
		}
	}
}

// Settings that mean nothing are refused, and so is a share in a program without points.
func TestPreemptionCheck(t *testing.T) {
	for want, p := range map[string]Preemption{
		"":                   {},
		"allowed are 0..0.5": {Share: 0.6},
		"is NaN":             {Share: math.NaN()},
		"needs a share":      {Time: Delay{Max: 1}},
	} {
		err := p.check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", p, err, want)
		}
	}
	p := Preemption{Share: 0.5}
	err := p.check()
	if (err == nil) != hasPoints || err != nil && !strings.Contains(err.Error(), "lockstep go test -preempt") {
		t.Errorf("%+v in a program with points: %v: %v", p, hasPoints, err)
	}
	if p.Time.Min = -1; p.check() == nil {
		t.Error("a negative time is allowed")
	}
}
