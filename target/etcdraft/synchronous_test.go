package etcdraft_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/trace"
)

// Runs in rounds are lossy-synchronous: by the traces alone, no delivery crosses a round or a
// phase, whether terms change or not.
func TestRoundsAreSynchronous(t *testing.T) {
	for _, s := range []lockstep.Strategy{strategy.Uniform{Period: 4, Isolations: 12, Rounds: 48}, strategy.Lossy{Rounds: 48, Loss: 0.2}} {
		bench, err := lockstep.NewBench(lockstep.Plan{System: etcdraft.Cluster{Clients: 2, Requests: 4}, Strategy: s, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		delivered := 0
		for run := range 50 {
			tr, err := bench.Record(t.Context(), run, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := rounds.Check(tr); err != nil {
				t.Errorf("%s, run %d: %s", s, run, err)
			}
			for _, r := range tr.Records {
				if r.Step.Kind == trace.Deliver {
					delivered++
				}
			}
		}
		if err := bench.Close(); err != nil || delivered < 1000 {
			t.Errorf("%s: %d deliveries, %v", s, delivered, err)
		}
	}
}
