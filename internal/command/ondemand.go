package command

import (
	"fmt"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target"
)

// fleetProgram has the fleet's commands. It links a NATS server, which the command does not link.
var fleetProgram = target.Program{Name: "fleet", Help: "campaigns over many machines",
	Package: target.Root + "/fleet/program", Module: target.Root + "/fleet"}

// paperProgram reproduces the tables of the papers. It links the libraries that the papers tested.
var paperProgram = target.Program{Name: "paper", Help: "the tables of the papers",
	Package: target.Root + "/internal/paper", Module: target.Root + "/internal/paper"}

// FleetCommands stand in for those of the fleet program, which is built when the user gives one.
type FleetCommands struct {
	Fleet fleetCmd `cmd:"" passthrough:"" help:"Campaigns over many machines."`
}

type fleetCmd struct {
	Args []string `arg:"" optional:"" help:"serve, join, run, status, stop or findings, and their arguments."`
}

// fleetHelp lists the commands without building the program that has them.
const fleetHelp = `Usage: lockstep fleet <command>

Campaigns over many machines.

Commands:
  serve       Serve a fleet: a queue of work, the results, and a page.
  join        Make runs for a fleet, until interrupted.
  run         Have a campaign, or the campaigns of a plan, made by a fleet: run with --fleet.
  status      Campaigns and workers of a fleet.
  stop        End a campaign.
  findings    List what campaigns have found, or fetch it.

The program that has them is built when one of them is first given.
Run "lockstep fleet <command> --help" for more information on a command.
`

// Run runs the command in the fleet program.
func (f *fleetCmd) Run(e *cli.Env) error { return handOver(e, f.Args, fleetHelp, &fleetProgram) }

type paperCmd struct {
	Args []string `arg:"" optional:"" help:"One of the commands of the papers, and its arguments."`
}

const paperHelp = `Usage: lockstep paper <command>

Make the tables of the papers and of the documentation again.

Commands:
  scenarios        The eleven Raft scenarios of the Netrix paper.
  tendermint       The fifteen Tendermint scenarios of the Netrix paper.
  bftsmart         The eight BFT-SMaRt scenarios of the Netrix paper.
  swarm            Swarm testing against tuned weights, on planted bugs in etcd's raft.
  cassandra        Table 2 of the paper on communication closure.
  ratis            Tables 3 to 5 of the paper on communication closure.
  zookeeper        Tables 6 and 7 of the paper on communication closure.
  predict          Tests that finding etcd's stale reads takes, set against their prediction.
  stale            Stale reads of etcd servers, set against their prediction.
  distal           Asynchronous and sequential search on the example protocols, compared.
  mutants list     List the mutants: what goes wrong and which rule of Raft that breaks.
  mutants build    Build the program that carries the mutants and print its path.
  mutants run      Let strategies look for mutants: runs to the first finding.

The program that has them is built when one of them is first given.
Run "lockstep paper <command> --help" for more information on a command.

Examples:
  lockstep paper scenarios --runs 200
  lockstep paper mutants run vote-twice commit-old-term
`

// Run runs the command in the program of the papers.
func (p *paperCmd) Run(e *cli.Env) error { return handOver(e, p.Args, paperHelp, &paperProgram) }

// handOver prints the help if the user gives no command. Otherwise the program runs the command.
func handOver(e *cli.Env, args []string, help string, p *target.Program) error {
	if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
		fmt.Fprint(e.Out, help)
		return nil
	}
	return e.Become(p)
}
