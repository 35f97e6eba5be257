//go:build lockstep_overlay

package bubble_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// A loop that waits for the clock to advance ends, though time passes only in a quiescent bubble. The same holds with a
// wrong clock.
func TestLooks(t *testing.T) {
	for name, faults := range map[string]bubble.Faults{"right": {}, "wrong": {MaxJump: time.Hour}} {
		cluster := bubble.Cluster{
			Name:   "impatient",
			Nodes:  2,
			Faults: faults,
			Events: []string{"ended"},
			Start: func(n *bubble.Node) error {
				for end := time.Now().Add(time.Millisecond); time.Now().Before(end); {
				}
				n.Emit("ended", n.World().Now()) // no time has passed for the world
				return nil
			},
		}
		r := explore(t,
			lockstep.Plan{System: cluster, Strategy: strategy.Walk{Wait: 1, Steps: 2}, Runs: 2, Seed: 1, Workers: 1})
		if r.Verdict() != trace.Pass || !slices.Contains(r.Events, lockstep.Count{Name: "ended", N: 4}) {
			t.Errorf("%s: %v %v, events %v", name, r.Verdicts, r.Reasons, r.Events)
		}
	}
}
