//go:build lockstep_overlay

package etcdserver

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Transactions over several keys are strictly serializable through crashes and partitions, and not if members answer
// reads from their own replicas, which is the control.
func TestTransactions(t *testing.T) {
	for _, stale := range []bool{false, true} {
		c := Cluster{Nodes: 3, Power: 0.5, Clients: 1, Requests: 5, Transactors: 4, Serializable: stale}
		r := campaign(t, lockstep.Plan{
			System: c, Strategy: often, Runs: max(*runs, 3), Settle: Settle, Spec: Transactions, Keep: 100, KeepGoing: true,
		})
		if n := r.Checked[0].N; n < 20*r.Runs {
			t.Errorf("only %d dependencies in %d runs", n, r.Runs)
		}
		if found := r.Verdicts[trace.Fail] > 0; found != stale {
			t.Errorf("stale reads %v: found %v, %+v", stale, found, r.First())
		}
	}
}
