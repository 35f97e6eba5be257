package command

import "github.com/lockstep-go/lockstep/cli"

// conformCmd compares a stored run with a program. The run is repeated on the present system, because a trace holds the
// texts of events and not their values.
type conformCmd struct {
	program
	Trace string   `arg:"" help:"Trace file."`
	Set   []string `placeholder:"K=V" sep:"none" help:"Allow what a trace must not choose, as --set of replay; may be repeated."`
	JSON  bool     `name:"json" help:"Print one JSON object, as replay does."`
}

// Help returns the longer help.
func (conformCmd) Help() string {
	return "The run is repeated on the present system. It is lockstep replay TRACE --conform FILE.\n\n" +
		"Exit status 1: the run is no behavior of the program, or fails otherwise.\n\nExample:\n" +
		"  lockstep distal conform examples/distal/raftlog_fixed.distal lockstep-out/raft-conformance-seed0-run6.trace"
}

// Run runs the command.
func (c *conformCmd) Run(e *cli.Env) error {
	args := []string{"replay", c.Trace, "--conform", c.File}
	for _, s := range c.Set {
		args = append(args, "--set", s)
	}
	if c.JSON {
		args = append(args, "--json")
	}
	e.Execute(args...)
	return nil
}
