package pool_test

import (
	"fmt"
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
	want := n // nothing stops it
	if stop >= 0 && stop < n {
		want = stop + 1
	}
	if next != want {
		t.Errorf("%d results taken, want %d", next, want)
	}
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
