package smr

import "github.com/lockstep-go/lockstep/target"

// Targets are the protocol with and without its bug.
var Targets = []target.Target{
	target.Of("smr", "the papers' replicated log, correct", Cluster{Nodes: 3}, Prefix),
	target.Of("smr-bug", "the papers' replicated log with the bug of Fig. 1", Cluster{Nodes: 3, Bug: true}, Prefix),
}
