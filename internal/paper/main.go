// Command paper is lockstep with the commands that reproduce the tables of the papers. The command lockstep builds it
// on demand.
package main

import "github.com/lockstep-go/lockstep/cli"

func main() { cli.App{Commands: []any{&commands{}}}.Main() }

// commands are the commands of the program.
type commands struct {
	Paper paperCmd `cmd:"" help:"Make the tables of the papers and of the documentation again."`
}

// paperCmd groups the commands that reproduce published tables. Testing a system does not need them.
type paperCmd struct {
	Scenarios scenariosCmd   `cmd:"" help:"The eleven Raft scenarios of the Netrix paper."`
	Predict   predictCmd     `cmd:"" help:"Tests that finding etcd's stale reads takes, set against their prediction."`
	Distal    distalTableCmd `cmd:"" help:"Asynchronous and sequential search on the example protocols, compared."`
	Mutants   mutantsCmd     `cmd:"" help:"Strategies measured by planted bugs in etcd's raft."`
}

// Help returns the longer help.
func (paperCmd) Help() string {
	return "Examples:\n  lockstep paper scenarios --runs 200\n  lockstep paper mutants run vote-twice commit-old-term"
}
