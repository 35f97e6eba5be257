package bftscenarios

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/cli"
)

// Commands are the commands of the program that measure published tables. The command "lockstep paper tendermint" runs
// them in the program of each version.
type Commands struct {
	Table   tableCmd   `cmd:"" hidden:"" help:"The fifteen Tendermint scenarios of the Netrix paper on this version."`
	Clauses clausesCmd `cmd:"" hidden:"" help:"Which rules of the algorithm the fifteen scenarios cover on this version."`
	CatchUp catchUpCmd `cmd:"" hidden:"" help:"How long a validator that is behind takes to reach the others on this version."`
}

type tableCmd struct {
	Names  []string `arg:"" optional:"" name:"scenario" help:"Names of scenarios; all unless given."`
	Runs   int      `default:"100" placeholder:"N" help:"Iterations of each scenario (${default})."`
	Seed   uint64   `default:"1" placeholder:"X" help:"Seed of the campaigns (${default})."`
	Ablate bool     `help:"Leave out one filter at a time instead, and count the successes."`
}

// Run writes the table.
func (c *tableCmd) Run(e *cli.Env) error {
	t, err := Table.Find(c.Names...)
	switch {
	case err != nil:
		return err
	case c.Runs < 1:
		return fmt.Errorf("--runs is %d, it must be at least 1", c.Runs)
	case c.Ablate:
		return t.Ablate(e.Ctx, e.Out, c.Runs, c.Seed)
	}
	holds, err := t.Write(e.Ctx, e.Out, c.Runs, c.Seed)
	if err == nil && !holds {
		e.Found()
	}
	return err
}

type clausesCmd struct {
	Runs int    `default:"5" placeholder:"N" help:"Iterations of each scenario (${default})."`
	Seed uint64 `default:"1" placeholder:"X" help:"Seed of the campaigns (${default})."`
}

// Run writes a line for each rule with the number of scenarios that cover it, and the first of them.
func (c *clausesCmd) Run(e *cli.Env) error {
	if c.Runs < 1 {
		return fmt.Errorf("--runs is %d, it must be at least 1", c.Runs)
	}
	by := map[int][]string{}
	for _, s := range Cases {
		covered, err := Coverage(e.Ctx, s, c.Runs, c.Seed)
		if err != nil {
			return err
		}
		for _, clause := range Clauses {
			if covered[clause.Line] {
				by[clause.Line] = append(by[clause.Line], s.Name)
			}
		}
	}
	fmt.Fprintf(e.Out, "%s: rules of the algorithm that hold at a correct validator in %d iterations of each scenario\n",
		Table.Title, c.Runs)
	for _, clause := range Clauses {
		first := "none"
		if len(by[clause.Line]) > 0 {
			first = by[clause.Line][0]
		}
		fmt.Fprintf(e.Out, "line %d  %-45s  in %2d of %d scenarios, first in %s\n", clause.Line, clause.Text,
			len(by[clause.Line]), len(Cases), first)
	}
	return nil
}

type catchUpCmd struct {
	Behind []int32 `default:"2,5,10,20" placeholder:"R,R" help:"Numbers of rounds that the validator is behind (${default})."`
	Runs   int     `default:"20" placeholder:"N" help:"Iterations for each (${default})."`
	Seed   uint64  `default:"1" placeholder:"X" help:"Seed of the campaigns (${default})."`
}

// Run writes a line for each number of rounds. Times are virtual, at a hundredth of the library's default timeouts.
func (c *catchUpCmd) Run(e *cli.Env) error {
	if c.Runs < 1 || slices.ContainsFunc(c.Behind, func(r int32) bool { return r < 1 || r > 100 }) {
		return errors.New("--runs must be at least 1, and --behind within 1..100")
	}
	fmt.Fprintf(e.Out, "%s: time until a validator that is behind reaches the round of the others\n", Table.Title)
	for _, behind := range c.Behind {
		times, err := CatchUp(e.Ctx, behind, c.Runs, c.Seed)
		if err != nil {
			return err
		}
		slices.Sort(times)
		if len(times) == 0 {
			fmt.Fprintf(e.Out, "%3d rounds behind: in 0 of %d runs\n", behind, c.Runs)
			continue
		}
		round := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
		fmt.Fprintf(e.Out, "%3d rounds behind: in %d of %d runs, median %s (%s to %s)\n", behind, len(times), c.Runs,
			round(times[len(times)/2]), round(times[0]), round(times[len(times)-1]))
	}
	return nil
}
