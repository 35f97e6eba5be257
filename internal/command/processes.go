//go:build unix

package command

import (
	"slices"

	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/cassandra"
	"github.com/lockstep-go/lockstep/target/maelstrom"
	"github.com/lockstep-go/lockstep/target/ratis"
)

func init() {
	processTargets = slices.Concat([]target.Target{maelstrom.Target}, cassandra.Targets, ratis.Targets)
}
