package raft

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target"
)

const changes = "remove 4; remove 3; add 4; add 3"

// Targets are the protocol with and without its bug.
var Targets = []target.Target{
	target.Of("raft", "a small Raft with single-server membership changes, correct",
		Cluster{Nodes: 4, Requests: 2, Changes: changes}, raftspec.Safety),
	target.Of("raft-hasty", "the same with the bug of the changes as first published",
		Cluster{Nodes: 4, Requests: 2, Changes: changes, Hasty: true}, raftspec.Safety).Guided(target.Scenario{
		Name: "ConfChangeBug", Help: "two leaders of different terms change members, and disagree", Set: []string{"requests=4"},
		Build: func() lockstep.Scenario { return ConfChange(true) }}),
}
