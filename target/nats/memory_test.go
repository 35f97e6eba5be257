//go:build lockstep_overlay

package nats

import (
	"os"
	"runtime"
	"runtime/pprof"
	"testing"

	"github.com/lockstep-go/lockstep"
)

// Crashed servers do not stay in memory after their run.
func TestMemory(t *testing.T) {
	bench, err := lockstep.NewRunner(
		lockstep.Plan{
			System:   Cluster{Power: 1, Clients: 4, Requests: 40},
			Strategy: blackouts,
			Spec:     Everything,
			Settle:   Settle,
			Seed:     1,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer bench.Close()
	const each = 4
	var first uint64
	for i := range 2 {
		for n := range each {
			if _, err := bench.Run(t.Context(), i*each+n, nil); err != nil {
				t.Fatal(err)
			}
		}
		var full, m runtime.MemStats
		runtime.ReadMemStats(&full)
		runtime.GC()
		runtime.GC() // pooled memory survives one collection
		runtime.ReadMemStats(&m)
		t.Logf("after %d runs: %d MB, %d MB of which are no garbage; %d goroutines", (i+1)*each, full.HeapAlloc>>20,
			m.HeapAlloc>>20, runtime.NumGoroutine())
		if i == 0 {
			first = m.HeapAlloc
		} else if grown := int64(m.HeapAlloc) - int64(first); grown > each*4<<20 {
			t.Errorf("%d runs have left %d MB", each, grown>>20)
			if path := os.Getenv("LOCKSTEP_HEAP"); path != "" {
				f, err := os.Create(path)
				if err != nil {
					t.Fatal(err)
				}
				_ = pprof.WriteHeapProfile(f)
				_ = f.Close()
			}
		}
	}
}
