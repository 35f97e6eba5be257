//go:build lockstep_overlay

package etcdserver

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/failpoint"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// The event of a failpoint names the node that is paused there.
func TestFailpointsNameTheirNode(t *testing.T) {
	defer failpoint.Set(nil)
	cluster := bubble.Cluster{
		Name:  "failpoints",
		Nodes: 3,
		Begin: func(w *bubble.World) { pauseAtFailpoints(w, map[string]int{anywhere: 1000}) },
		Start: func(n *bubble.Node) error {
			go failpoint.Here(fmt.Sprint(n.Self()))
			return nil
		},
	}
	paused := map[lockstep.Node]bool{}
	checker := spec.OnEvent("named", EventFailpoint, func(_ *struct{}, _ *lockstep.Run,
		e *lockstep.Event) *lockstep.Finding {
		if fmt.Sprint(int(e.Node)) != e.Value {
			return &lockstep.Finding{Text: fmt.Sprintf("the failpoint %v is an event of node %d", e.Value, e.Node)}
		}
		paused[e.Node] = true
		return nil
	})
	plan := lockstep.Plan{System: cluster, Strategy: strategy.Walk{Wait: 1, Steps: 5}, Spec: checker, Runs: 1}
	if result, err := lockstep.Explore(t.Context(), plan); err != nil || result.First() != nil {
		t.Fatalf("%v, %+v", err, result.First())
	}
	if len(paused) != 3 {
		t.Errorf("nodes %v paused, want all three", paused)
	}
}
