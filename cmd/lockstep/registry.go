package main

import (
	"slices"

	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/smr"
)

// targets are the systems that the command line knows by name.
var targets = slices.Concat(smr.Targets)

// findTarget looks a target up by name.
func findTarget(name string) (target.Target, error) { return target.Find(targets, name) }
