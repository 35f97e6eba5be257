package gen_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/lockstep-go/lockstep/gen"
	"github.com/lockstep-go/lockstep/internal/testkit/odds"
)

// zeros draws only zeros, for the simplest values.
type zeros struct{}

func (zeros) IntN(int) int { return 0 }

// Each choice occurs in proportion to its weight, and each number as often as the others.
func TestDistribution(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	letters := gen.Weighted(gen.Case(1, gen.Just("a")), gen.Case(2, gen.From("b", "c")), gen.Case(3, gen.Just("d")))
	lists := gen.List(2, 4, gen.Int(5, 7))
	const n = 60_000
	got, want := map[string]int{}, map[string]float64{
		"a": 1. / 6, "b": 1. / 6, "c": 1. / 6, "d": 1. / 2,
		"length 2": 1. / 3, "length 3": 1. / 3, "length 4": 1. / 3,
		"first 5": 1. / 3, "first 6": 1. / 3, "first 7": 1. / 3,
	}
	for range n {
		list := lists(source)
		for _, s := range []string{letters(source), fmt.Sprint("length ", len(list)), fmt.Sprint("first ", list[0])} {
			got[s]++
		}
	}
	for s, k := range got {
		p, ok := want[s]
		if !ok || !odds.Fits(k, n, p) {
			t.Errorf("%s came %d times of %d, want about %.0f", s, k, n, n*p)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d different, want %d", len(got), len(want))
	}
}

// Zeros make the simplest value.
func TestSimplest(t *testing.T) {
	g := gen.Weighted(gen.Case(1, gen.List(1, 3, gen.Int(4, 9))), gen.Case(9, gen.Just[[]int](nil)))
	if v := fmt.Sprint(g(zeros{})); v != "[4]" {
		t.Errorf("the simplest is %s", v)
	}
}

// A generator that cannot make a value is refused when it is built and not in the middle of a run.
func TestBugs(t *testing.T) {
	for name, f := range map[string]func(){
		"empty range": func() { gen.Int(2, 1) }, "no values": func() { gen.From[int]() },
		"no choices": func() { gen.Weighted[int]() },
		"no weight":  func() { gen.Case(0, gen.Just(1)) }, "empty list": func() { gen.List(2, 1, gen.Just(1)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is accepted", name)
				}
			}()
			f()
		}()
	}
}

func ExampleWeighted() {
	key := gen.From("x", "y", "z")
	get := func(s gen.Source) string { return "get " + key(s) }
	put := func(s gen.Source) string { return fmt.Sprintf("put %s %d", key(s), gen.Int(1, 9)(s)) }
	operation := gen.Weighted(gen.Case(3, get), gen.Case(1, put))
	source := rand.New(rand.NewPCG(1, 0))
	for range 4 {
		fmt.Println(operation(source))
	}
	// Output:
	// put x 7
	// get z
	// get z
	// get x
}

func ExampleList() {
	batch := gen.List(1, 3, gen.From("read", "write"))
	fmt.Println(batch(rand.New(rand.NewPCG(5, 0))))
	// Output: [read read]
}
