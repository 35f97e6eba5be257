package bubble_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
)

// A process warms up once for all clusters that name the same runs, before any of their runs. An interrupted warm-up
// does not count.
func TestWarm(t *testing.T) {
	var starts []string
	program := func(name string) func(*bubble.Node) error {
		return func(*bubble.Node) error {
			starts = append(starts, name)
			return nil
		}
	}
	cold := bubble.Cluster{Name: "cold", Nodes: 1, Deterministic: true, Start: program("cold")}
	warming := &bubble.Warming{Plans: func() []lockstep.Plan {
		return []lockstep.Plan{{System: cold, Strategy: strategy.DefaultWalk, Runs: 2}}
	}}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := bubble.Warm(stopped, warming); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted warming says %v", err)
	}
	starts = nil
	var runs [2]int // warm-up starts that had happened after each campaign
	for i := range runs {
		cluster := bubble.Cluster{
			Name:          "warm",
			Nodes:         1,
			Deterministic: true,
			Start:         program("warm"),
			Process:       bubble.Process{Warm: []*bubble.Warming{warming}},
		}
		if _, err := lockstep.Explore(t.Context(),
			lockstep.Plan{System: cluster, Strategy: strategy.DefaultWalk, Runs: 3, Workers: 1}); err != nil {
			t.Fatal(err)
		}
		for _, name := range starts {
			if name == "cold" {
				runs[i]++
			}
		}
	}
	if starts[0] != "cold" || runs[0] < 2 || runs[1] != runs[0] || slices.Index(starts, "warm") != runs[0] {
		t.Errorf("%v starts warm the process up, of %v", runs, starts)
	}
}
