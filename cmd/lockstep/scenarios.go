package main

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft/raftscenarios"
)

// scenariosCmd makes the Raft part of Table 3 of the Netrix paper again.
type scenariosCmd struct {
	Runs     int    `default:"1000" placeholder:"N" help:"Iterations of each scenario (${default})."`
	Seed     uint64 `default:"1" placeholder:"X" help:"Seed of the campaigns (${default})."`
	Strategy string `placeholder:"S" help:"Strategy for what the scenarios leave alone; pctcp unless given."`
}

// Help implements kong's longer help.
func (scenariosCmd) Help() string {
	return "Success rates of the scenarios on etcd's raft 3.5.2, the published ones beside ours. Exit status 1: one does\n" +
		"worse than published, is vacuous in part, or finds what it should not.\n\nExample:\n  lockstep scenarios --runs 200"
}

// Run implements the command.
func (c *scenariosCmd) Run(e *env) error {
	if c.Runs < 1 {
		return fmt.Errorf("--runs is %d, allowed is 1 and more", c.Runs)
	}
	s := raftscenarios.Strategy
	if c.Strategy != "" {
		var err error
		if s, err = strategy.Parse(c.Strategy); err != nil {
			return err
		}
	}
	start := time.Now()
	ok, err := raftscenarios.Table(e.ctx, e.out, s, c.Runs, c.Seed, func() float64 { return time.Since(start).Seconds() })
	if err == nil && !ok {
		e.status = statusFinding
	}
	return err
}
