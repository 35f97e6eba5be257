package etcdserver

import (
	"context"
	"fmt"
	"sync"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/strategy"
)

// warm makes a few runs whose outcome does not matter, once in a process. The server and its
// libraries make many things when they are needed first, for the whole process: without the warming
// the first run would differ from those that follow, and so from the same run made again.
var warm = sync.OnceValue(func() error {
	for _, nodes := range []int{3, 1} {
		c := Cluster{Nodes: nodes, Power: 0.5, Snapshots: 20, Clients: 4, Requests: 20, Mix: kv.Mix{Put: 2, Get: 2, Cas: 2, Delete: 2, Txn: 2},
			Watchers: 2, Compactions: 10, Batch: 5, Defragmentations: 5, Backups: 5, Leases: 5, Rewrites: 5, Learners: 4, Transfers: 4}.full()
		_, err := lockstep.Explore(context.Background(), lockstep.Plan{
			System:   c.bubble(c), // Cluster.Deploy would wait for the warming
			Strategy: strategy.Walk{Deliver: 600, Drop: 1, Wait: 120, Request: 20, Cut: 1, Heal: 2, Crash: 2, Restart: 8, Down: 1, Steps: 3000},
			Runs:     6, Workers: 1, Seed: 1, Settle: 1000,
		})
		if err != nil {
			return fmt.Errorf("etcdserver: warming up: %w", err)
		}
	}
	return nil
})
