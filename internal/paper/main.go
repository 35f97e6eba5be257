// Command paper is lockstep with the commands that make the tables of the papers again, which lockstep builds on
// demand.
package main

import "github.com/lockstep-go/lockstep/cli"

func main() { cli.App{Commands: []any{&commands{}}}.Main() }

// commands are those of the program.
type commands struct {
	Paper paperCmd `cmd:"" help:"Make the tables of the papers and of the documentation again."`
}

// paperCmd groups what makes published tables again: nobody needs it to test a system.
type paperCmd struct {
	Scenarios scenariosCmd   `cmd:"" help:"The eleven Raft scenarios of the Netrix paper."`
	Predict   predictCmd     `cmd:"" help:"Tests that finding etcd's stale reads takes, set against their prediction."`
	Distal    distalTableCmd `cmd:"" help:"Asynchronous and sequential search on the example protocols, compared."`
	Mutants   mutantsCmd     `cmd:"" help:"Strategies measured by planted mistakes in etcd's raft."`
}

// Help is the longer help.
func (paperCmd) Help() string {
	return "Examples:\n  lockstep paper scenarios --runs 200\n  lockstep paper mutants run vote-twice commit-old-term"
}
