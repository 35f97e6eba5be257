package etcdraft

import "github.com/lockstep-go/lockstep/target"

// Settle is the length of a settling stage in which [raftspec.Liveness] is judged, for three to five
// nodes and the default workload.
const Settle = 2000

// Targets is the newest version of the library.
var Targets = []target.Target{target.Of("etcdraft", "etcd's raft v3.7, unmodified, with a replicated map and its clients", Cluster{}, Everything).Settled(Settle)}
