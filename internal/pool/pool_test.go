package pool_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/lockstep-go/lockstep/internal/pool"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOrdered(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 7} {
		for _, n := range []int{0, 1, 2, 100} {
			for _, stop := range []int{0, 3, n - 1, n + 1} {
				t.Run(fmt.Sprint(workers, n, stop), func(t *testing.T) { ordered(t, workers, n, stop) })
			}
		}
	}
}

func ordered(t *testing.T, workers, n, stop int) {
	next := 0
	busy := make([]bool, max(workers, 1))
	pool.Ordered(workers, n, func(w, i int) int {
		if busy[w] {
			t.Error("worker does two jobs at once")
		}
		busy[w] = true
		defer func() { busy[w] = false }()
		return i * i
	}, func(i, got int) bool {
		if i != next || got != i*i {
			t.Fatalf("take(%d, %d) where %d was next", i, got, next)
		}
		next++
		return i != stop
	})
	want := n // without an early stop
	if stop >= 0 && stop < n {
		want = stop + 1
	}
	if next != want {
		t.Errorf("%d results taken, want %d", next, want)
	}
}

// Every job is done once, each worker's in order, and a failure ends the rest.
func TestEach(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 7} {
		for _, n := range []int{0, 1, 2, 100} {
			last, done := make([]int, max(workers, 1)), make([]atomic.Int32, n)
			if err := pool.Each(workers, n, func(w, i int) error {
				if i < last[w] {
					t.Errorf("worker %d gets %d after %d", w, i, last[w])
				}
				last[w] = i
				done[i].Add(1)
				return nil
			}); err != nil {
				t.Error(err)
			}
			for i := range done {
				if done[i].Load() != 1 {
					t.Errorf("%d workers, %d jobs: %d is done %d times", workers, n, i, done[i].Load())
				}
			}
			later := atomic.Int32{}
			err := pool.Each(workers, n, func(_, i int) error {
				switch {
				case i == 3 || i == 4:
					return fmt.Errorf("job %d", i)
				case i > 4:
					later.Add(1)
				}
				return nil
			})
			if n > 3 && (err == nil || err.Error() != "job 3" || int(later.Load()) > n-5) || n <= 3 && err != nil {
				t.Errorf("%d workers, %d jobs: %v", workers, n, err)
			}
			if workers < 2 && later.Load() != 0 {
				t.Errorf("%d jobs are done after one has failed", later.Load())
			}
		}
	}
}

func ExampleEach() {
	squares := make([]int, 4)
	err := pool.Each(2, len(squares), func(_, i int) error {
		squares[i] = i * i
		return nil
	})
	fmt.Println(squares, err)
	// Output: [0 1 4 9] <nil>
}

func ExampleOrdered() {
	pool.Ordered(4, 5, func(_, i int) string { return fmt.Sprint("job ", i) }, func(_ int, s string) bool {
		fmt.Println(s)
		return true
	})
	// Output:
	// job 0
	// job 1
	// job 2
	// job 3
	// job 4
}
