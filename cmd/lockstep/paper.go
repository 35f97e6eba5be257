package main

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
