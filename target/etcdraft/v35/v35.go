//go:build !v3.6

// Package v35 tests etcd's raft v3.5.2, the version that the Netrix paper tested. Its [Cluster] is [etcdraft.Cluster]
// with that version; events, specs and everything else are the same.
package v35

import (
	"context"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/lenient"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/older"
)

func init() { lenient.Done() }

// Cluster is a deployment of etcd's raft v3.5.2: a [lockstep.System]. It has no
// asynchronous storage writes.
type Cluster etcdraft.Cluster

// Describe describes the system and its capabilities.
func (c Cluster) Describe() (lockstep.Info, error) {
	return etcdraft.Cluster(c).With(older.Library{}).Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	return etcdraft.Cluster(c).With(older.Library{}).Deploy(ctx, p)
}

// Targets is this version of the library.
var Targets = []target.Target{target.Of("etcdraft35",
	"etcd's raft v3.5.2, unmodified, with a replicated map and its clients", Cluster{},
	etcdraft.Everything).
	Settled(etcdraft.Settle).Explored(etcdraft.Usual)}
