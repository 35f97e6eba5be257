package command

import (
	"context"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/coverage/model"
	"github.com/lockstep-go/lockstep/distal/conform"
	"github.com/lockstep-go/lockstep/distal/machine"
)

// Conform reads a model for [cli.App].
func Conform(file string) (*cli.Model, error) {
	s, err := conform.Load(file)
	if err != nil {
		return nil, err
	}
	return &cli.Model{
		Spec:   s,
		Fits:   s.Fits,
		Visits: func() *model.Visits { t := s.Take(); return &model.Visits{Runs: t.Runs, Transitions: named(s, t.List)} },
		Reach: func(ctx context.Context, info lockstep.Info) (*model.Reach, error) {
			t, bound, incomplete, err := s.Reach(ctx, info)
			return &model.Reach{Model: s.Name(), Rules: s.Rules(), Bound: bound, Incomplete: incomplete,
				Transitions: named(s, t)}, err
		},
	}, nil
}

// named names the rules of transitions, and puts them in order.
func named(s *conform.Spec, list []machine.Transition) (out []model.Transition) {
	rules := s.Rules()
	for _, t := range list {
		out = append(out, model.Transition{Rule: rules[t.Rule], Before: t.Before, After: t.After})
	}
	slices.SortFunc(out, model.Transition.Compare)
	return out
}

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
