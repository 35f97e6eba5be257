package etcdserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/strategy"
)

// warm makes a few runs whose outcome does not matter, once in a process. The server and its
// libraries make many things when they are needed first, for the whole process: without the warming
// the first run would differ from those that follow, and so from the same run made again.
func warm(c Cluster) error {
	if err := warmUsual(); err != nil {
		return err
	}
	if c.more() {
		if err := warmMore(); err != nil {
			return err
		}
	}
	if c.most() {
		return warmMost()
	}
	return nil
}

// usual is the cluster of those runs.
var usual = Cluster{Power: 0.5, Snapshots: 20, Clients: 4, Requests: 20, Mix: kv.Mix{Put: 2, Get: 2, Cas: 2, Delete: 2, Txn: 2},
	Watchers: 2, Compactions: 10, Batch: 5, Defragmentations: 5, Backups: 5, Leases: 5, Rewrites: 5, Learners: 4, Transfers: 4}

var warmUsual = sync.OnceValue(func() error { return errors.Join(run(usual, 3), run(usual, 1)) })

// more reports whether the cluster has something that not all have.
func (c Cluster) more() bool { return c.Changes > 0 || c.Failover > 0 || c.Holders > 0 || c.Users > 0 }

var warmMore = sync.OnceValue(func() error {
	c := usual
	c.Learners, c.Spares, c.Changes, c.Failover, c.Holders, c.Users = 0, 2, 20, 1, 2, 2
	return run(c, 3)
})

// most reports whether the cluster has something that fewer have.
func (c Cluster) most() bool {
	return c.Readers > 0 || c.Previous || c.Fragments || c.Quota > 0 || c.Checks > 0
}

var warmMost = sync.OnceValue(func() error {
	c := usual
	c.Readers, c.Previous, c.Fragments, c.Quota, c.Checks = 2, true, true, 100, 5*time.Second
	return run(c, 3)
})

// run makes runs with so many members.
func run(c Cluster, nodes int) error {
	c.Nodes = nodes
	c = c.full()
	_, err := lockstep.Explore(context.Background(), lockstep.Plan{
		System:   c.bubble(c), // Cluster.Deploy would wait for the warming
		Strategy: strategy.Walk{Deliver: 600, Drop: 1, Wait: 120, Request: 20, Cut: 1, Heal: 2, Crash: 2, Restart: 8, Down: 1, Steps: 3000},
		Runs:     6, Workers: 1, Seed: 1, Settle: 1000,
	})
	if err != nil {
		return fmt.Errorf("etcdserver: warming up: %w", err)
	}
	return nil
}
