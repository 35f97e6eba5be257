package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target/bftsmart"
)

// tendermintVersions are the versions that the paper's tests are measured on, with their targets. The paper has
// v0.34.3.
var tendermintVersions = []struct{ target, version string }{
	{"tendermint", "v0.34.3"},
	{"tendermint", "v0.30.1"},
	{"cometbft", "v0.38.26"},
	{"cometbft", "v1.0.1"},
}

type tendermintCmd struct {
	Names   []string `arg:"" optional:"" name:"scenario" help:"Names of scenarios; all unless given."`
	Release []string `default:"v0.34.3,v0.38.26,v1.0.1" placeholder:"V,V" help:"Versions: v0.34.3, the paper's, v0.30.1, v0.38.26 or v1.0.1 (${default})."`
	Runs    int      `default:"100" placeholder:"N" help:"Iterations of each scenario (${default})."`
	Seed    uint64   `default:"1" placeholder:"X" help:"Seed of the campaigns (${default})."`
	Ablate  bool     `help:"Leave out one filter at a time instead, and count the successes." xor:"what"`
	Clauses bool     `help:"Show instead which rules of the algorithm the scenarios cover." xor:"what"`
	CatchUp bool     `help:"Measure instead how long a validator that is behind takes to reach the others." xor:"what"`
}

// Help returns the longer help.
func (tendermintCmd) Help() string {
	return scenariosHelp + `
The program of each version is built when it is first needed, which takes minutes.

Examples:
  lockstep paper tendermint --release v0.34.3
  lockstep paper tendermint LaggingReplica --runs 20
  lockstep paper tendermint --catch-up --runs 20
  lockstep paper tendermint --clauses --runs 5 --release v0.34.3
  lockstep paper tendermint RoundSkip --ablate --runs 1000 --release v0.34.3`
}

// scenariosHelp says what the lines of tables of scenarios have.
const scenariosHelp = `Success rates of the scenarios with exact 95 % intervals, the published ones beside ours:
with the published filters only (plain), with ours, and without faults and steering (control); the share of
the steps that the scenario took (guided); filters, states and lines, published/ours. A star marks the tests
with which the paper reports new bugs; there a success is a run with the deviation. Exit status 1: one does
worse than published, is vacuous in part, or finds what it should not.
`

// Run has the program of each version make its table.
func (t *tendermintCmd) Run(e *cli.Env) error {
	wanted := map[string]bool{}
	for _, v := range t.Release {
		wanted[v] = true
	}
	made := 0
	for _, v := range tendermintVersions {
		if !wanted[v.version] {
			continue
		}
		delete(wanted, v.version)
		if made++; made > 1 {
			fmt.Fprintln(e.Out)
		}
		if err := t.table(e, v.target, v.version); err != nil {
			return err
		}
	}
	//lockstep:unordered one of them is reported
	for v := range wanted {
		return fmt.Errorf("unknown version %q: allowed are v0.34.3, v0.30.1, v0.38.26 and v1.0.1", v)
	}
	return nil
}

// table runs the program of a version.
func (t *tendermintCmd) table(e *cli.Env, target, version string) error {
	file, variables, err := e.ProgramOf(target, []string{"version=" + version})
	if err != nil {
		return err
	}
	args := []string{"table", "--runs", strconv.Itoa(t.Runs), "--seed", strconv.FormatUint(t.Seed, 10)}
	switch {
	case (t.CatchUp || t.Clauses) && len(t.Names) > 0:
		return errors.New("--catch-up and --clauses take no names")
	case t.Clauses:
		args[0] = "clauses"
	case t.CatchUp:
		args[0] = "catch-up"
	case t.Ablate:
		args = append(args, "--ablate")
	}
	cmd := exec.CommandContext(e.Ctx, file, append(args, t.Names...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), variables...), e.Out, e.Err
	// a program that is interrupted prints what it has
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case e.Interrupted():
		e.Partial("scenarios tried")
		return nil
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		e.Found()
		return nil
	}
	return err
}

type bftsmartCmd struct {
	Names   []string `arg:"" optional:"" name:"scenario" help:"Names of scenarios; all unless given."`
	Runs    int      `default:"10" placeholder:"N" help:"Iterations of each scenario (${default}). One takes 15 to 45 seconds."`
	Seed    uint64   `default:"1" placeholder:"X" help:"Seed of the campaigns (${default})."`
	Proxies bool     `help:"Intercept messages at proxies instead of inside the replicas."`
	List    bool     `help:"List the scenarios with their published figures instead."`
}

// Help returns the longer help.
func (bftsmartCmd) Help() string {
	return scenariosHelp + "\nExamples:\n  lockstep paper bftsmart --runs 100\n" +
		"  lockstep paper bftsmart DropWrite --runs 3 --proxies"
}

// Run writes the table.
func (b *bftsmartCmd) Run(e *cli.Env) error {
	t, err := bftsmart.Table.Find(b.Names...)
	switch {
	case err != nil:
		return err
	case b.Runs < 1:
		return fmt.Errorf("--runs is %d, it must be at least 1", b.Runs)
	case b.List:
		for _, p := range t.Cases {
			fmt.Fprintf(e.Out, "%-18s %d filters, %d states, %d lines, %d of 100\n", p.Name, p.Filters, p.States, p.Lines,
				p.Published)
		}
		return nil
	case b.Proxies:
		t.Title += ", messages intercepted at proxies"
		t.Plan = func(sc *scenario.Scenario, runs int, seed uint64) lockstep.Plan {
			plan := bftsmart.Plan(sc, runs, seed)
			cluster := plan.System.(bftsmart.Cluster)
			cluster.Proxies = true
			plan.System = cluster
			return plan
		}
	}
	holds, err := t.Write(e.Ctx, e.Out, b.Runs, b.Seed)
	if e.Interrupted() {
		e.Partial("scenarios tried")
		return nil
	}
	if err == nil && !holds {
		e.Found()
	}
	return err
}
