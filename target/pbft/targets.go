package pbft

import "github.com/lockstep-go/lockstep/target"

// Targets are the protocol and its two seeded bugs.
var Targets = []target.Target{
	target.Of("pbft", "Practical Byzantine Fault Tolerance, normal case and view change, correct", Cluster{},
		Agreement),
	target.Of("pbft-quorum", "pbft with the bug that 2f nodes make a quorum", Cluster{SmallQuorum: true}, Agreement),
	target.Of("pbft-forget", "pbft with the bug that a new view forgets prepared requests", Cluster{Forgetful: true},
		Agreement),
}
