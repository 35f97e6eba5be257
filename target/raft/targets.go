package raft

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target"
)

const changes = "remove 4; remove 3; add 4; add 3"

// The default strategies of the targets. With every fault that a Raft must tolerate, most runs check every property.
// The bug makes leaders lose their followers, so its runs need more requests, and partitions that heal.
const (
	usual    = "walk:deliver=40,drop=2,duplicate=1,timer=10,request=1,crash=1,restart=2,cut=1,heal=2,steps=1500"
	usualBug = "partition:stages=8,steps=80"
)

// Targets are the protocol with and without its bug.
var Targets = []target.Target{
	target.Of("raft", "a small Raft with single-server membership changes, correct",
		Cluster{Nodes: 4, Requests: 2, Changes: changes}, raftspec.Safety).Explored(usual),
	target.Of(
		"raft-bug",
		"raft with a bug: membership changes as first published, which can make two leaders",
		Cluster{
			Nodes:        4,
			Requests:     12,
			Changes:      changes,
			EarlyChanges: true,
		},
		raftspec.Safety,
	).Explored(usualBug).Guided(target.Scenario{
		Name: "ConfChangeBug", Help: "two leaders of different terms change members, and disagree",
		Set:   []string{"requests=4"},
		Build: func() lockstep.Scenario { return ConfChange(true) }}),
}
