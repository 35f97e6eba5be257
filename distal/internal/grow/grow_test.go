package grow_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/lockstep-go/lockstep/distal/internal/grow"
)

// TestAgainstMap compares what is found with a map and slices.
func TestAgainstMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var (
		table grow.Table
		array grow.Array[int]
		runs  grow.Runs[int]
		want  = map[uint64]uint64{}
		lists [][]int
		at    []uint32
	)
	for range 20_000 {
		key := 1 + rng.Uint64N(5000)<<(32*rng.Uint64N(2))
		value, ok := table.Find(key)
		if w, there := want[key]; ok != there || value != w {
			t.Fatalf("key %d: %d %v, want %d %v", key, value, ok, w, there)
		}
		if !ok {
			want[key] = rng.Uint64()
			table.Put(key, want[key])
		}
		list := make([]int, rng.IntN(9))
		if rng.IntN(1000) == 0 {
			list = make([]int, 1000+rng.IntN(3000))
		}
		for i := range list {
			list[i] = rng.Int()
		}
		lists, at = append(lists, list), append(at, runs.Add(list))
		*array.Make(rng.IntN(1 << 20)) = 1
	}
	if table.Len() != len(want) || table.Bytes() < int64(len(want))*16 || runs.Cap() < 20_000 || array.Cap() < 1<<19 {
		t.Error(table.Len(), len(want), table.Bytes(), runs.Cap(), array.Cap())
	}
	for i, list := range lists {
		if got := runs.At(at[i], uint32(len(list))); !slices.Equal(got, list) {
			t.Fatalf("list %d is %v, want %v", i, got, list)
		}
	}
}

func TestArray(t *testing.T) {
	var a grow.Array[string]
	if a.Find(0) != nil || a.Find(1<<30) != nil {
		t.Error("an empty array has an element")
	}
	first := a.Make(3)
	*first = "three"
	for i := 10; i < 1<<22; i *= 3 {
		*a.Make(i) = fmt.Sprint(i)
	}
	for i := 10; i < 1<<22; i *= 3 {
		if *a.Find(i) != fmt.Sprint(i) || *a.Find(i ^ 1) != "" {
			t.Errorf("element %d is %q", i, *a.Find(i))
		}
	}
	if *first != "three" || *a.Find(3) != "three" || *a.Make(3) != "three" {
		t.Error("an element has changed")
	}
}

// TestTogether lets several goroutines find or make numbers for the same keys: each key has one number, which
// every node sees, and where it says there is the key. Under the race detector it also shows that no lock is missing.
func TestTogether(t *testing.T) {
	var (
		mu    sync.Mutex
		table grow.Table
		names grow.Array[uint64]
		runs  grow.Runs[uint64]
		wg    sync.WaitGroup
	)
	number := func(key uint64) uint64 {
		if v, ok := table.Find(key); ok {
			return v
		}
		mu.Lock()
		defer mu.Unlock()
		if v, ok := table.Find(key); ok {
			return v
		}
		i := uint64(table.Len())
		*names.Make(int(i)) = key
		v := i<<32 | uint64(runs.Add([]uint64{key, i}))
		table.Put(key, v)
		return v
	}
	for g := range uint64(4) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(g, 3))
			for range 20_000 {
				key := 1 + rng.Uint64N(3000)
				v := number(key)
				if got := *names.Find(int(v >> 32)); got != key {
					t.Errorf("number %d is %d's, not %d's", v>>32, got, key)
				}
				if got := runs.At(uint32(v), 2); got[0] != key || got[1] != v>>32 {
					t.Errorf("run %v at %d", got, v)
				}
			}
		})
	}
	wg.Wait()
}

func ExampleTable() {
	var t grow.Table
	t.Put(7, 49)
	fmt.Println(t.Find(7))
	fmt.Println(t.Find(8))
	// Output:
	// 49 true
	// 0 false
}

func ExampleArray() {
	var a grow.Array[int]
	*a.Make(5000) = 1
	fmt.Println(*a.Find(5000), *a.Find(0), a.Find(1_000_000))
	// Output: 1 0 <nil>
}

func ExampleRuns() {
	var r grow.Runs[string]
	r.Add([]string{"a", "b"})
	at := r.Add([]string{"c"})
	fmt.Println(r.At(at, 1))
	// Output: [c]
}
