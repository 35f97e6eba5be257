//go:build lockstep_overlay

package nats

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/strategy"
)

// No client or operator falls silent, however often servers crash, ready or not.
func TestClientsContinue(t *testing.T) {
	crashing := strategy.Walk{Deliver: 1500, Wait: 300, Request: 60, Crash: 20, Restart: 60, Pause: 1, Steps: 6000}
	for _, c := range []Cluster{
		{Clients: 4, Requests: 1000, Reads: 1000, StepDowns: 1000, SyncAlways: true},
		{Clients: 4, Requests: 1000, Reads: 1000, Nodes: 4, Removals: 1000, SyncAlways: true},
	} {
		o := &enginetest.Silent{}
		r, err := lockstep.Explore(
			t.Context(),
			lockstep.Plan{
				System:    c,
				Strategy:  crashing,
				Spec:      Everything,
				Runs:      3,
				Settle:    1000,
				Seed:      1,
				Observers: []lockstep.Observer{o},
			},
		)
		if err != nil || r.First() != nil {
			t.Fatalf("%+v, %v", r, err)
		}
		if t.Logf("%d requests, %d crashes", o.Requests, o.Crashes); o.Fell > 0 || o.Crashes < 10*o.Runs {
			t.Errorf("%+v: of %d clients and operators %d fell silent, in %d runs with %d crashes", c, o.Askers, o.Fell,
				o.Runs, o.Crashes)
		}
	}
}
