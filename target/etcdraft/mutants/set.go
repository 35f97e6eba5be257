// Package mutants lists known bugs to plant in etcd's raft library, each of which breaks one sentence of the Raft
// paper. Package kit/mutants plants them and measures which strategies find them.
package mutants

import (
	"slices"

	"github.com/lockstep-go/lockstep/kit/mutants"
	"github.com/lockstep-go/lockstep/target/etcdraft"
)

// Set is the mutants of etcd's raft, grouped by area. The strategies that can crash nodes and cut links do so.
// Lock-step runs have twelve phases of six rounds, enough for several elections.
var Set = mutants.Set{Target: "etcdraft", Module: "go.etcd.io/raft/v3", Version: "v3.7.0",
	List: slices.Concat(votes(), terms(), matching(), commits(), members(), reads(), snapshots(), flow()),
	Strategies: []string{etcdraft.Usual, "baseline", "lossy:rounds=72", "uniform:isolations=12,rounds=72",
		"pctcp", "pos", "queues", "delay"}}
