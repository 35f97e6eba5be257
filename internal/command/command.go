// Package command is the lockstep command: the targets that it links, those that it builds on demand, and its own
// commands. A fleet's program shares this package, so that a worker has the targets of the command.
package command

import (
	"slices"

	"github.com/lockstep-go/lockstep/cli"
	distal "github.com/lockstep-go/lockstep/distal/command"
	"github.com/lockstep-go/lockstep/distal/system"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/backup"
	"github.com/lockstep-go/lockstep/target/pbft"
	"github.com/lockstep-go/lockstep/target/programs"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/target/register"
	"github.com/lockstep-go/lockstep/target/smr"
)

// App returns the command line of the lockstep command, with the given commands in addition to its own.
func App(commands ...any) cli.App {
	return cli.App{
		Targets: slices.Concat(smr.Targets, raft.Targets, pbft.Targets, backup.Targets, []target.Target{
			register.Target,
			target.Of("distal", "a protocol written in Distal, message by message (--set file=...)", system.Program{},
				system.Properties).
				Gathered("params"),
		}, processTargets),
		Programs:     programs.All,
		Commands:     append([]any{&ownCommands{}, &distal.Commands{}}, commands...),
		Conform:      distal.Conform,
		Suite:        distal.Suite,
		FleetProgram: &fleetProgram,
		Examples: []string{"lockstep demo", "lockstep run smr-bug --runs 10000 --seed 7",
			"lockstep run etcdraft --set version=v3.6.0",
			"lockstep distal explore examples/distal/paxos_buggy.distal"},
	}
}

// ownCommands are the commands that concern no single target.
type ownCommands struct {
	Demo  demoCmd  `cmd:"" help:"Find, shrink, explain and draw a bug in a small replicated log."`
	Copy  copyCmd  `cmd:"" help:"Copy Go packages, so that several versions link into one test."`
	Paper paperCmd `cmd:"" passthrough:"" help:"Regenerate the tables of the papers and of the documentation."`
}

// processTargets are the targets whose nodes are processes, on systems with process groups.
var processTargets []target.Target
