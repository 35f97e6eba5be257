package smr

import "github.com/lockstep-go/lockstep/target"

// Targets are the protocol with and without its bug.
var Targets = []target.Target{
	target.Of("smr", "a small replicated log that grows phase by phase, correct", Cluster{Nodes: 3}, Prefix),
	target.Of("smr-bug", "smr with a bug: a node dates its log by the last phase that it joined",
		Cluster{Nodes: 3, Bug: true}, Prefix),
}
