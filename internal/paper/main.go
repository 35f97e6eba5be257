// Command paper is lockstep with the commands that reproduce the tables of the papers. The command lockstep builds it
// on demand.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/programs"
)

func main() { cli.App{Programs: programs.All, Commands: []any{&commands{}}}.Main() }

// commands are the commands of the program.
type commands struct {
	Paper paperCmd `cmd:"" help:"Make the tables of the papers and of the documentation again."`
}

// paperCmd groups the commands that reproduce published tables. Testing a system does not need them.
type paperCmd struct {
	Scenarios  scenariosCmd   `cmd:"" help:"The eleven Raft scenarios of the Netrix paper."`
	Tendermint tendermintCmd  `cmd:"" help:"The fifteen Tendermint scenarios of the Netrix paper."`
	Bftsmart   bftsmartCmd    `cmd:"" help:"The eight BFT-SMaRt scenarios of the Netrix paper."`
	Swarm      swarmCmd       `cmd:"" help:"Swarm testing against tuned weights, on planted bugs in etcd's raft."`
	Cassandra  cassandraCmd   `cmd:"" help:"Table 2 of the paper on communication closure."`
	Ratis      ratisCmd       `cmd:"" help:"Tables 3 to 5 of the paper on communication closure."`
	Zookeeper  zookeeperCmd   `cmd:"" help:"Tables 6 and 7 of the paper on communication closure."`
	Predict    predictCmd     `cmd:"" help:"Tests that finding etcd's stale reads takes, set against their prediction."`
	Stale      staleCmd       `cmd:"" help:"Stale reads of etcd servers, set against their prediction."`
	Distal     distalTableCmd `cmd:"" help:"Asynchronous and sequential search on the example protocols, compared."`
	Mutants    mutantsCmd     `cmd:"" help:"Strategies measured by planted bugs in etcd's raft."`
}

// Help returns the longer help.
func (paperCmd) Help() string {
	return "Examples:\n  lockstep paper scenarios --runs 200\n  lockstep paper mutants run vote-twice commit-old-term"
}
