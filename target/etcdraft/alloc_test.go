package etcdraft_test

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
)

// TestAllocations compares the memory that runs allocate with that of the bare loop, which is the library's own.
// Engine, adapter and the safety specs add less than a tenth.
func TestAllocations(t *testing.T) {
	const runs = 300
	loop := &bare{rand: rand.New(rand.NewPCG(1, 1))}
	plain := allocations(func() {
		for range runs {
			loop.run(3, 200)
		}
	})
	engine := allocations(func() {
		_, err := lockstep.Explore(context.Background(),
			lockstep.Plan{System: etcdraft.Cluster{}, Spec: etcdraft.Safety,
				Strategy: strategy.Walk{Deliver: 10, Drop: 1, Timer: 1, Request: 1}, Runs: runs, Steps: 200, Workers: 1,
				Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("allocations of a run: %d, of the bare loop: %d", engine/runs, plain/runs)
	if float64(engine) > 1.1*float64(plain) {
		t.Errorf("a run allocates %d times, the bare loop %d times", engine/runs, plain/runs)
	}
}

// allocations returns how often a function allocates memory. The counter belongs to the whole process, so it is the
// least of three measurements: other goroutines can only add to it.
func allocations(f func()) uint64 {
	least := uint64(math.MaxUint64)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.Mallocs-before.Mallocs)
	}
	return least
}
