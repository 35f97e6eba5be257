// Command program is the lockstep command for etcd's raft alone. The lockstep command builds it on demand in the
// requested version.
package main

import (
	"slices"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/distal/command"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/raftscenarios"
)

// besides are targets of other versions of the library that this build can link as well.
var besides []target.Target

func main() {
	cli.App{Targets: raftscenarios.Guided(slices.Concat(etcdraft.Targets, besides)), Conform: command.Conform,
		Suite: command.Suite}.Main()
}
