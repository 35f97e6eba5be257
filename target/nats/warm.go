package nats

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/strategy"
)

// warm is the warm-up of a process before its first run, with all requests to servers and all faults. The server and
// its libraries initialize many things lazily.
var warm = bubble.Warming{Plans: func() []lockstep.Plan {
	everything := Cluster{
		Power:         0.5,
		Split:         0.1,
		Clients:       4,
		Requests:      20,
		Mix:           kv.Mixed,
		Reads:         10,
		StepDowns:     5,
		MetaStepDowns: 5,
	}
	always, wide, single := everything, everything, everything
	always.SyncAlways = true
	wide.Nodes, wide.Moves, wide.Removals, wide.Consume, wide.Sockets = 5, 5, 5, true, true
	wide.Mirror, wide.Sources = true, true
	wide.Mix.Delete, wide.Purge, wide.Purges, wide.Erasures = 2, true, 5, 5
	single.Nodes = 1
	always.Direct = true
	var plans []lockstep.Plan
	for _, w := range []struct {
		cluster Cluster
		runs    int
	}{{everything, 6}, {always, 2}, {wide, 2}, {single, 1}} {
		c := w.cluster.filled()
		plans = append(plans, lockstep.Plan{
			System: c.bubble(c), // Cluster.system would include the warm-up
			Strategy: strategy.Walk{
				Deliver: 1500,
				Drop:    2,
				Wait:    300,
				Request: 100,
				Cut:     2,
				Heal:    4,
				Crash:   3,
				Restart: 12,
				Down:    c.Nodes,
				Pause:   2,
				Steps:   4000,
			},
			Runs: w.runs, Seed: 1, Settle: 1000,
		})
	}
	return plans
}}
