package etcdraft

import "github.com/lockstep-go/lockstep/target"

// Settle is the length of a settling stage in which [raftspec.Liveness] can be checked, for three to five nodes and
// the default workload.
const Settle = 2000

// Usual is the target's default strategy, with every fault that a Raft must tolerate. Among eight strategies it finds
// as many mutants as any (docs/evidence/mutants.md). Elections with racing timeouts take longer runs than the default
// of the command line.
const Usual = "walk:duplicate=1,crash=1,restart=1,cut=1,heal=1"

// Targets is the newest version of the library.
var Targets = []target.Target{target.Of("etcdraft",
	"etcd's raft v3.7, unmodified, with a replicated map and its clients", Cluster{}, Everything).
	Settled(Settle).Explored(Usual)}
