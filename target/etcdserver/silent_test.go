//go:build lockstep_overlay

package etcdserver

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
)

// No client or operator falls silent, however often members crash, ready or not.
func TestClientsContinue(t *testing.T) {
	crashing := briefly
	crashing.Crash, crashing.Steps = 20, 1000
	for _, c := range []Cluster{
		{Nodes: 1, Power: 1, Backups: 1000, Watchers: 2, Clients: 4, Requests: 1000},
		{Backups: 1000, Watchers: 2, Clients: 4, Requests: 1000},
		{Spares: 2, Changes: 1000, Failover: 1, Watchers: 2, Clients: 4, Requests: 1000},
	} {
		o := &enginetest.Silent{}
		r := campaign(t,
			lockstep.Plan{System: c, Strategy: crashing, Runs: 3, Settle: 500, Observers: []lockstep.Observer{o}})
		clean(t, r)
		if t.Logf("%d requests", o.Requests); o.Fell > 0 || o.Crashes < 3*o.Runs {
			t.Errorf("%+v: of %d clients and operators %d fell silent, in %d runs with %d crashes", c, o.Askers, o.Fell,
				o.Runs, o.Crashes)
		}
	}
}
