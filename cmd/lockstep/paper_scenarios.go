package main

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft/raftscenarios"
)

// scenariosCmd makes the Raft part of Table 3 of the Netrix paper again.
type scenariosCmd struct {
	Runs     int    `default:"1000" placeholder:"N" help:"Iterations of each scenario (${default})."`
	Seed     uint64 `default:"1" placeholder:"X" help:"Seed of the campaigns (${default})."`
	Strategy string `placeholder:"S" help:"Strategy for what the scenarios leave alone; pctcp unless given."`
	Ablate   bool   `help:"Leave out one filter at a time instead, and count the successes."`
	Steps    int    `default:"3000" placeholder:"N" help:"Steps of an iteration with --ablate (${default})."`
}

// Help is the longer help.
func (scenariosCmd) Help() string {
	return "Success rates of the scenarios on etcd's raft 3.5.2, the published ones beside ours. Exit status 1: one does\n" +
		"worse than published, is vacuous in part, or finds what it should not.\n\nExamples:\n  lockstep paper scenarios --runs 200\n  lockstep paper scenarios --ablate --runs 60"
}

// Run makes the table.
func (c *scenariosCmd) Run(e *cli.Env) error {
	if c.Runs < 1 || c.Steps < 1 {
		return fmt.Errorf("--runs is %d and --steps %d, allowed is 1 and more", c.Runs, c.Steps)
	}
	s := raftscenarios.Strategy
	if c.Strategy != "" {
		var err error
		if s, err = strategy.Parse(c.Strategy); err != nil {
			return err
		}
	}
	if c.Ablate {
		return raftscenarios.Ablations(e.Ctx, e.Out, s, c.Runs, c.Steps, c.Seed)
	}
	start := time.Now()
	ok, err := raftscenarios.Table(e.Ctx, e.Out, s, c.Runs, c.Seed, func() float64 { return time.Since(start).Seconds() })
	if err == nil && !ok {
		e.Found()
	}
	return err
}
