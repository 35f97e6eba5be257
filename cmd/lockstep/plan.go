package main

import (
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep/cover"
)

// planCmd answers how many tests are enough.
type planCmd struct {
	Notion     string  `arg:"" enum:"split,separate,isolate,sequence" help:"split (k nodes apart), separate (k nodes from l others), isolate (a minority), sequence (k operations in a row)."`
	Nodes      int     `required:"" placeholder:"N" help:"Number of nodes."`
	K          int     `placeholder:"K" help:"Nodes to split (2), nodes on one side (1), or length of the sequence (1)."`
	L          int     `placeholder:"L" help:"Nodes on the other side when separating (1)."`
	Balanced   bool    `help:"Partitions whose sides differ by at most one node."`
	Bridge     int     `placeholder:"B" help:"Nodes that see both sides."`
	Operations int     `placeholder:"N" help:"Different operations, for sequences; 0 is three for each node."`
	Targets    int     `placeholder:"N" help:"Sequences of which one is to occur; 0 is 1."`
	Confidence float64 `placeholder:"C" xor:"question" help:"Wanted probability, in (0,1): how many tests?"`
	Tests      int     `placeholder:"T" xor:"question" help:"Number of tests: what is reached?"`
	JSON       bool    `name:"json" help:"Print one JSON object."`
}

// Help implements kong's longer help.
func (planCmd) Help() string {
	return `Examples:
  lockstep plan split --nodes 5 --k 2 --confidence 0.95
  lockstep plan separate --nodes 5 --k 2 --l 2 --tests 40
  lockstep plan isolate --nodes 5 --balanced --confidence 0.86 --json
  lockstep plan sequence --nodes 5 --k 1 --confidence 0.8`
}

// Run implements the command.
func (c *planCmd) Run(e *env) error {
	if c.Confidence == 0 && c.Tests == 0 {
		return errors.New("plan needs --confidence (how many tests?) or --tests (what is reached?)")
	}
	answer, err := cover.Plan(cover.Params{Notion: c.Notion, Nodes: c.Nodes, K: c.K, L: c.L, Balanced: c.Balanced, Bridge: c.Bridge,
		Operations: c.Operations, Targets: c.Targets, Confidence: c.Confidence, Tests: c.Tests})
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(e.out, answer)
	}
	_, err = fmt.Fprint(e.out, answer)
	return err
}
