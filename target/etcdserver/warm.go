package etcdserver

import (
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

// warming is the warm-up of a process before its first run. The server and its libraries initialize many things
// lazily.
func (c Cluster) warming() []*bubble.Warming {
	list := []*bubble.Warming{warmUsual}
	if c.Changes > 0 || c.Failover > 0 || c.Holders > 0 || c.Users > 0 {
		list = append(list, warmMore)
	}
	if c.Readers > 0 || c.Previous || c.Fragments || c.Quota > 0 || c.Checks > 0 {
		list = append(list, warmMost)
	}
	return list
}

// usual is the cluster of those runs.
var usual = Cluster{
	Power:            0.5,
	Snapshots:        20,
	Clients:          4,
	Requests:         20,
	Mix:              kv.Mix{Put: 2, Get: 2, Cas: 2, Delete: 2, Txn: 2},
	Watchers:         2,
	Compactions:      10,
	Batch:            5,
	Defragmentations: 5,
	Backups:          5,
	Leases:           5,
	Rewrites:         5,
	Learners:         4,
	Transfers:        4,
}

// The runs that all clusters need, and those for options that few of them have.
var (
	warmUsual = warm(usual, 3, 1)
	warmMore  = warm(func() Cluster {
		c := usual
		c.Learners, c.Spares, c.Changes, c.Failover, c.Holders, c.Users = 0, 2, 20, 1, 2, 2
		return c
	}(), 3)
	warmMost = warm(func() Cluster {
		c := usual
		c.Readers, c.Previous, c.Fragments, c.Quota, c.Checks = 2, true, true, 100, 5*time.Second
		return c
	}(), 3)
)

// warm is a warm-up of runs of a cluster with so many members.
func warm(c Cluster, nodes ...int) *bubble.Warming {
	return &bubble.Warming{Plans: func() []lockstep.Plan {
		var plans []lockstep.Plan
		for _, c.Nodes = range nodes {
			full := target.Fill(c)
			plans = append(plans, lockstep.Plan{
				System: full.bubble(full), // Cluster.system would include the warm-up
				Strategy: strategy.Walk{
					Deliver: 600,
					Drop:    1,
					Wait:    120,
					Request: 20,
					Cut:     1,
					Heal:    2,
					Crash:   2,
					Restart: 8,
					Down:    1,
					Steps:   3000,
				},
				Runs: 6, Seed: 1, Settle: 1000,
			})
		}
		return plans
	}}
}
