package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/suite"
)

// Suite reads a suite for [cli.App].
func Suite(dir string) (*cli.Suite, error) {
	tests, err := suite.Read(dir)
	if err != nil {
		return nil, err
	}
	s := suite.New(dir, tests)
	return &cli.Suite{Strategy: s, Tests: s.Runs(), Spec: s.Spec(), Result: s.Result}, nil
}

// generateCmd makes a suite.
type generateCmd struct {
	program
	instance
	Cover    string `default:"transitions" enum:"states,transitions,kinds,pairs" help:"What the tests cover: states (local states at the end of rounds), transitions (a rule with the local state and the messages on which it acts), kinds (a rule with the kind of local state before and after it), or pairs of these that follow each other at a node (${default})."`
	Rounds   int    `default:"12" placeholder:"R" help:"The most rounds of a test (${default})."`
	States   int    `placeholder:"N" help:"Most states of a round; the search ends before a round with more. 0 is 1000000."`
	Requests []int  `placeholder:"LINE,..." help:"Lines of timeouts in the program that stand for requests of clients: a request makes them fire, and no timer."`
	Out      string `required:"" placeholder:"DIR" help:"Directory to write, which must not have tests yet."`
}

// Help returns the longer help.
func (generateCmd) Help() string {
	return "A test is a schedule of rounds: which timeouts fire, which nodes hear each other, and the state of each " +
		"node after every round. lockstep run TARGET --suite DIR executes the tests.\n\nExample:\n" +
		"  lockstep distal generate examples/models/replicatedlog.distal --rounds 12 --out suite"
}

// Run runs the command.
func (c *generateCmd) Run(e *cli.Env) error {
	text, err := c.read()
	if err := errors.Join(err, c.check()); err != nil {
		return err
	}
	if c.States < 0 {
		return errors.New("--states must not be negative")
	}
	if old, _ := filepath.Glob(filepath.Join(c.Out, "*.test")); len(old) > 0 {
		return fmt.Errorf("--out %s: there is a suite already (%s); remove it, or name another directory", c.Out,
			filepath.Base(old[0]))
	}
	s, remarks, err := suite.Generate(e.Ctx, text, suite.Options{Instance: c.options(), Cover: explore.Cover(c.Cover),
		Rounds: c.Rounds, States: c.States, Requests: c.Requests})
	if err := errors.Join(c.report(e, remarks), err); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Out, 0o777); err != nil {
		return err
	}
	err = s.Write(func(name string, content func(io.Writer) error) error {
		return e.Write(filepath.Join(c.Out, name), content)
	})
	fmt.Fprint(e.Out, s.Summary)
	return err
}
