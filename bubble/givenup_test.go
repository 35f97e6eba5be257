//go:build lockstep_overlay

package bubble_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
)

// Nothing goes on of a run that is given up because a node does not fall quiet that is being buried, or that was stopped at the end of the
// run, which the one that warms the process up comes to.
func TestNothingGoesOn(t *testing.T) {
	var turns atomic.Int64
	cluster := bubble.Cluster{Name: "restless", Nodes: 1, Freeze: true, Bury: time.Second, Patience: 200 * time.Millisecond, Start: func(n *bubble.Node) error {
		for n.Alive() {
			time.Sleep(time.Millisecond)
		}
		for {
			turns.Add(1)
			runtime.Gosched()
		}
	}}
	r := explore(t, lockstep.Plan{System: cluster, Strategy: strategy.Walk{Wait: 1, Crash: 1, Steps: 20}, Runs: 1, Seed: 1, Workers: 1})
	if r.Worthless != 1 || turns.Load() == 0 {
		t.Fatalf("%v %v, %d turns", r.Verdicts, r.Reasons, turns.Load())
	}
	const enough = 1 << 18 // turns of this goroutine, in which the others end theirs, or take more
	for range enough {
		runtime.Gosched()
	}
	before := turns.Load()
	for range enough {
		runtime.Gosched()
	}
	if after := turns.Load(); after != before {
		t.Errorf("it goes on: %d turns, and then %d", before, after)
	}
}
