package lockstep

import (
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/trace"
)

// If nodes draw in a nondeterministic order, each gets its own draws again, and a recording has them by node.
func TestDrawsOfNodes(t *testing.T) {
	r := &Run{}
	r.out.run = r
	var one, two, engine Source
	for i, c := range []*Source{&engine, &one, &two} {
		c.By = Node(i)
		c.Seed(&r.out, 1, uint64(i))
	}
	recorded := []trace.Draw{{N: 9}, {By: 1, N: 5}, {By: 1, N: 7}, {By: 2, N: 6}}
	r.draws.recall(recorded)
	if a, b, c, d := two.IntN(10), one.IntN(10), engine.IntN(10), one.IntN(10); a != 6 || b != 5 || c != 9 || d != 7 {
		t.Errorf("drew %d, %d, %d, %d", a, b, c, d)
	}
	if !slices.Equal(r.draws.record(), recorded) {
		t.Errorf("recorded %v", r.draws.record())
	}
	two.IntN(10) // a draw without a recording
	if got := r.draws.record(); len(got) != 5 || got[4].By != 2 {
		t.Errorf("recorded %v", got)
	}
	if !slices.Equal(recorded, []trace.Draw{{N: 9}, {By: 1, N: 5}, {By: 1, N: 7}, {By: 2, N: 6}}) {
		t.Errorf("the recording was changed to %v", recorded)
	}
}

// A node's draw without a recording follows from the step and from the number of its draws in it, whatever other
// nodes drew meanwhile.
func TestUnknownDrawsOfNodes(t *testing.T) {
	drawn := func(others int) (list [3]int) {
		r := &Run{}
		r.out.run = r
		r.draws.fromTrace(&trace.Trace{})
		r.draws.reset(7, false)
		one, two := Source{By: 1}, Source{By: 2}
		one.Seed(&r.out, 1, 1)
		two.Seed(&r.out, 1, 2)
		for i := range list {
			for range others {
				two.IntN(1000)
			}
			list[i] = one.IntN(1000)
		}
		return list
	}
	if a, b := drawn(0), drawn(3); a != b || a[0] == a[1] && a[1] == a[2] {
		t.Errorf("drew %v alone and %v beside another", a, b)
	}
}

// Draws about goroutines are drawn again by their names, in any order of the goroutines, and are 0 without a recording.
func TestDrawsAboutGoroutines(t *testing.T) {
	r := &Run{}
	r.out.run = r
	r.draws.fromTrace(&trace.Trace{})
	r.draws.reset(7, false)
	var c, other Source
	c.Seed(&r.out, 1, 1)
	other.Seed(&r.out, 1, 2)
	about := func(goroutine uint32) int {
		c.Goroutine = goroutine
		return c.IntN(10)
	}
	r.draws.recall([]trace.Draw{{N: 5, Goroutine: 1}, {N: 9}, {N: 6, Goroutine: 2}, {N: 7, Goroutine: 1}})
	got := []int{about(2), about(1), other.IntN(10), about(3), about(1), about(1), about(2)}
	if want := []int{6, 5, 9, 0, 7, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("drew %v, want %v", got, want)
	}
}
