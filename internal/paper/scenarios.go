package main

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft/raftscenarios"
	"github.com/lockstep-go/lockstep/target/etcdraft/raftscenarios/versions"
)

// scenariosCmd reproduces the Raft part of Tables 3 and 4 of the Netrix paper.
type scenariosCmd struct {
	Names    []string `arg:"" optional:"" name:"scenario" help:"Names of scenarios; all unless given."`
	Runs     int      `default:"1000" placeholder:"N" help:"Iterations of each scenario (${default})."`
	Seed     uint64   `default:"1" placeholder:"X" help:"Seed of the campaigns (${default})."`
	Strategy string   `placeholder:"S" help:"Strategy for what the scenarios leave alone; pctcp unless given."`
	Ablate   bool     `help:"Leave out one filter at a time instead, and count the successes."`
	Minimize bool     `help:"Leave out filters while nine in ten of the successes stay, and say which."`
	Library  string   `default:"all" enum:"all,v3.5.2,v3.7" placeholder:"V" help:"Version of etcd's raft: v3.5.2, the paper's, or v3.7 (${default})."`
}

// Help returns the longer help.
func (scenariosCmd) Help() string {
	return "Success rates of the scenarios on etcd's raft, the published ones beside ours: with the published filters " +
		"only\n" +
		"(plain), with ours, and without faults and steering (control); the share of the steps that the scenario took\n" +
		"(guided); filters, states and lines, published/ours. Exit status 1: one does worse than published, by the exact\n" +
		"95 % intervals of both rates, is vacuous in part, or finds what it should not.\n\nExamples:\n  lockstep paper " +
		"scenarios --runs 200\n  lockstep paper scenarios ReVote ManyReVote\n" +
		"  lockstep paper scenarios --ablate --runs 60 --library v3.5.2\n  lockstep paper scenarios --minimize --runs 60 " +
		"--library v3.7"
}

// Run makes the tables.
func (c *scenariosCmd) Run(e *cli.Env) error {
	if c.Runs < 1 {
		return fmt.Errorf("--runs is %d, it must be at least 1", c.Runs)
	}
	var s lockstep.Strategy = raftscenarios.Strategy
	if c.Strategy != "" {
		var err error
		if s, err = strategy.Parse(c.Strategy); err != nil {
			return err
		}
	}
	cases, err := raftscenarios.Find(c.Names...)
	if err != nil {
		return err
	}
	for i, v := range versions.All {
		if c.Library != "all" && c.Library != v.Name {
			continue
		}
		if i > 0 && c.Library == "all" {
			fmt.Fprintln(e.Out)
		}
		err := c.table(e, cases, v, s)
		if e.Interrupted() {
			e.Partial("scenarios tried")
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// table makes the table of a version.
func (c *scenariosCmd) table(e *cli.Env, cases []raftscenarios.Case, v raftscenarios.Version,
	s lockstep.Strategy) error {
	switch {
	case c.Ablate:
		return raftscenarios.Ablations(e.Ctx, e.Out, cases, v, s, c.Runs, c.Seed)
	case c.Minimize:
		return raftscenarios.Minima(e.Ctx, e.Out, cases, v, s, c.Runs, c.Seed)
	}
	start := time.Now()
	ok, err := raftscenarios.Table(e.Ctx, e.Out, cases, v, s, c.Runs, c.Seed,
		func() float64 { return time.Since(start).Seconds() })
	if err == nil && !ok {
		e.Found()
	}
	return err
}
