package nats

import (
	"context"
	"fmt"
	"sync"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/strategy"
)

// warm makes some runs whose outcome does not matter, once in a process, with everything that
// servers can be asked for and suffer. The server and its libraries make many things when they are
// needed first, for the whole process: without the warming the first run that needs one would differ
// from the same run made again.
var warm = sync.OnceValue(func() error {
	everything := Cluster{Power: 0.5, Split: 0.1, Clients: 4, Requests: 20, Mix: kv.Mixed, Reads: 10, StepDowns: 5, MetaStepDowns: 5}
	always, wide, single := everything, everything, everything
	always.SyncAlways = true
	wide.Nodes, wide.Moves, wide.Removals, wide.Consume, wide.Sockets = 5, 5, 5, true, true
	wide.Mirror, wide.Sources = true, true
	wide.Mix.Delete, wide.Purge, wide.Purges, wide.Erasures = 2, true, 5, 5
	single.Nodes = 1
	always.Direct = true
	for _, w := range []struct {
		cluster Cluster
		runs    int
	}{{everything, 6}, {always, 2}, {wide, 2}, {single, 1}} {
		c := w.cluster.full()
		_, err := lockstep.Explore(context.Background(), lockstep.Plan{
			System:   c.bubble(c), // Cluster.Deploy would wait for the warming
			Strategy: strategy.Walk{Deliver: 1500, Drop: 2, Wait: 300, Request: 100, Cut: 2, Heal: 4, Crash: 3, Restart: 12, Down: c.Nodes, Pause: 2, Steps: 4000},
			Runs:     w.runs, Workers: 1, Seed: 1, Settle: 1000,
		})
		if err != nil {
			return fmt.Errorf("nats: warming up: %w", err)
		}
	}
	return nil
})
