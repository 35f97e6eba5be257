// Package raftspec checks any Raft implementation by the events that it emits.
//
// A node reports its role, the changes of its log, what it committed and applied, the snapshots that it installed, and
// its state after a restart. From these events the specs keep the log of every node as one hash for each prefix.
// Comparing two logs therefore costs one comparison, and the system under test keeps no state for the specs.
//
// A [Property] is a spec, and so is a set of properties: Safety | Durability. One monitor checks a set, so that the
// logs are kept once. A deployment that is a [View] reports what events cannot. Without a View, the properties that
// need one are not checked.
package raftspec

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// View is what a deployment reports beyond its events.
type View interface {
	// Follows is the leader that a node knows of, 0: none.
	Follows(n lockstep.Node) lockstep.Node
	// Reaches is the index of the last entry on a node's disk, snapshots included.
	Reaches(n lockstep.Node) uint64
	// Answered is how many of the clients' operations are answered, and how many there are.
	Answered() (answered, all int)
	// Calm reports whether each of the nodes, as far as its clock runs, had so many ticks
	// since the last fault; 0 stands for as many as the system needs to elect a leader and to
	// answer everything.
	Calm(nodes lockstep.Nodes, ticks int) bool
	// Heeds reports whether a node takes what the leader sends: a Raft may ignore a leader of an
	// earlier term without a word, so that a node that wants to lead, because it does not know
	// the present members, is out of its reach for good.
	Heeds(n, leader lockstep.Node) bool
	// QuiescentAfter is the time without news after which a leader has sent its log to every node.
	QuiescentAfter() trace.Time
}
