package main

import (
	"slices"

	"github.com/lockstep-go/lockstep/distal/system"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/v35"
	"github.com/lockstep-go/lockstep/target/pbft"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/target/register"
	"github.com/lockstep-go/lockstep/target/smr"
)

// targets are the systems that the command line knows by name.
var targets = slices.Concat(smr.Targets, etcdraft.Targets, v35.Targets, raft.Targets, pbft.Targets, []target.Target{
	register.Target,
	target.Of("distal", "a protocol written in Distal, message by message (--set file=...)", system.Program{}, system.Properties),
})

// findTarget looks a target up by name.
func findTarget(name string) (target.Target, error) { return target.Find(targets, name) }
