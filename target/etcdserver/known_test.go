//go:build lockstep_overlay

package etcdserver

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
)

// alone is a member by itself whose power fails.
var alone = strategy.Walk{Deliver: 600, Wait: 200, Request: 100, Crash: 4, Restart: 40, Down: 1, Steps: 1500}

func TestPower(t *testing.T) {
	r := campaign(t, Cluster{Nodes: 1, Power: 1, Clients: 4, Requests: 40}, alone, *runs)
	t.Log(Version())
	if f := r.First(); f != nil {
		t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
}

func TestPowerRepeats(t *testing.T) {
	plan := lockstep.Plan{System: Cluster{Nodes: 1, Power: 1, Clients: 4, Requests: 40}, Strategy: alone, Spec: Everything, Seed: 1, Scratch: "/dev/shm"}
	r, err := bubble.Repetition(t.Context(), plan, *runs)
	t.Logf("%d of %d runs repeated, the first that did not is %d, %v", r.Same, r.Of, r.First, err)
}
