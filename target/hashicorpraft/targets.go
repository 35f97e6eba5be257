package hashicorpraft

import "github.com/lockstep-go/lockstep/target"

// Settle is the length of a settling stage in which Live is judged, for three nodes.
const Settle = 3000

// Targets is the library in the version of this build.
var Targets = []target.Target{target.Of("hashicorpraft", "hashicorp/raft, unmodified, in virtual time, with a replicated map and its clients", Cluster{}, Everything).Settled(Settle)}
