package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/internal/build"
	"github.com/lockstep-go/lockstep/kit/mutants"
	etcdraft "github.com/lockstep-go/lockstep/target/etcdraft/mutants"
	hashicorpraft "github.com/lockstep-go/lockstep/target/hashicorpraft/mutants"
)

// of is the flag that selects the library of the mutants.
type of struct {
	Of string `default:"etcdraft" enum:"etcdraft,hashicorpraft" placeholder:"TARGET" help:"Whose mutants: etcdraft or hashicorpraft (${default})."`
}

func (o of) set() mutants.Set {
	if o.Of == hashicorpraft.Set.Target {
		return hashicorpraft.Set
	}
	return etcdraft.Set
}

// mutantsCmd groups the commands for mutants of libraries.
type mutantsCmd struct {
	List  mutantsListCmd  `cmd:"" help:"List the mutants: what goes wrong and which rule of Raft that breaks."`
	Build mutantsBuildCmd `cmd:"" help:"Build the program that carries the mutants and print its path."`
	Run   mutantsRunCmd   `cmd:"" help:"Let strategies look for mutants: runs to the first finding."`
}

type mutantsListCmd struct {
	of
	JSON     bool `name:"json" help:"Print one JSON object."`
	Markdown bool `help:"Print tables for a page of documentation."`
}

// Help returns the longer help.
func (mutantsListCmd) Help() string { return "Example:\n  lockstep paper mutants list" }

// Run lists the mutants.
func (c *mutantsListCmd) Run(e *cli.Env) error {
	list := c.set().List
	switch {
	case c.JSON:
		return e.JSON(struct {
			Mutants []mutants.Mutant `json:"mutants"`
		}{list})
	case c.Markdown:
		err := mutants.WriteList(e.Out, list)
		fmt.Fprintln(e.Out)
		return errors.Join(err, mutants.WriteLoads(e.Out, list))
	}
	var area mutants.Area
	for _, m := range list {
		if m.Area != area {
			area = m.Area
			fmt.Fprintf(e.Out, "%s:\n", area)
		}
		fmt.Fprintf(e.Out, "  %-24s %s\n  %-24s breaks: %s\n", m.Name, m.Does, "", m.Breaks)
		if m.Needs != "" {
			fmt.Fprintf(e.Out, "  %-24s needs: %s\n", "", m.Needs)
		}
	}
	return nil
}

// built has the flags that select how the program is built.
type built struct {
	of
	Cache string `placeholder:"DIR" help:"Where to build; a directory in the user's cache unless given."`
}

func (b built) build(e *cli.Env) (string, error) {
	builder := build.Builder{Cache: b.Cache, Log: func(line string) { fmt.Fprintln(e.Err, "lockstep:", line) }}
	return builder.Program(e.Ctx, b.set().Program(), "")
}

type mutantsBuildCmd struct{ built }

// Help returns the longer help.
func (mutantsBuildCmd) Help() string {
	return "The program is lockstep for one library alone; " + mutants.Variable + ` switches a mutant on. Traces of mutants are replayed with it.

Example:
  ` + mutants.Variable + `=vote-twice $(lockstep paper mutants build) run etcdraft --strategy pos`
}

// Run builds the program and prints its path.
func (m *mutantsBuildCmd) Run(e *cli.Env) error {
	program, err := m.build(e)
	if err == nil {
		fmt.Fprintln(e.Out, program)
	}
	return err
}

type mutantsRunCmd struct {
	built
	Mutants    []string      `arg:"" optional:"" help:"Names of mutants; all unless given."`
	Strategies []string      `sep:"none" placeholder:"S,S,..." help:"Strategies, separated by commas or blanks; may be repeated."`
	Runs       int           `default:"2000" placeholder:"N" help:"Most runs of one campaign (${default})."`
	More       int           `placeholder:"N" help:"Most runs of one campaign for a mutant that nothing has found yet."`
	Count      bool          `help:"Make all runs, and count those that find something."`
	Steps      int           `default:"400" placeholder:"N" help:"Length of a run in steps (${default})."`
	Seed       uint64        `placeholder:"X" help:"Seed of the campaigns."`
	Workers    int           `placeholder:"W" help:"Campaigns at once; 0 is one for each processor. Results do not depend on it."`
	Limit      time.Duration `default:"10m" placeholder:"10m" help:"Longest time of one campaign (${default})."`
	JSON       bool          `name:"json" help:"Print one JSON object." xor:"form"`
	Markdown   bool          `help:"Print a table for a page of documentation." xor:"form"`
}

// Help returns the longer help.
func (mutantsRunCmd) Help() string {
	return `Every mutant is tried with every strategy, in a process of its own, and the library as it is
for as many runs. Exit status 1: a mutant survived, or something was found without one.

Examples:
  lockstep paper mutants run
  lockstep paper mutants run vote-twice commit-old-term --strategies pos,uniform:rounds=48 --runs 10000 --json
  lockstep paper mutants run vote-any-log --strategies "pctcp:late=10 pctcp:late=100" --count`
}

// Run prints the table.
func (m *mutantsRunCmd) Run(e *cli.Env) error {
	list, err := m.set().Find(m.Mutants...)
	if err != nil {
		return err
	}
	trial, err := m.trial()
	if err != nil {
		return err
	}
	show := e.Progress(0, 0)
	trial.Progress = func(mutant string, cell mutants.Cell) {
		_ = show.Show(func(time.Duration) string {
			return fmt.Sprintf("mutant %q, %s: %s in run %d", mutant, cell.Strategy, cell.Outcome, cell.Runs)
		})
	}
	if trial.Program, err = m.build(e); err != nil {
		return err
	}
	if trial.Out, err = os.MkdirTemp("", "lockstep-mutants-*"); err != nil {
		return err
	}
	defer os.RemoveAll(trial.Out)
	table, err := trial.Run(e.Ctx, list)
	_ = show.Done()
	if e.Interrupted() { // the table has the mutants that all strategies have finished
		unfinished := func(r mutants.Row) bool {
			return slices.ContainsFunc(r.Cells, func(c mutants.Cell) bool { return c.Strategy == "" })
		}
		table.Mutants, table.Control = slices.DeleteFunc(table.Mutants, unfinished), slices.DeleteFunc(table.Control,
			unfinished)
	} else if err != nil {
		return err
	}
	if table.Killed() < len(table.Mutants) || !table.Clean() {
		e.Found()
	}
	switch {
	case m.JSON:
		return e.JSON(struct {
			*mutants.Table
			Interrupted bool `json:"interrupted"`
		}{table, e.Interrupted()})
	case m.Markdown:
		err = errors.Join(table.WriteMarkdown(e.Out), report(e, table))
	default:
		err = table.WriteText(e.Out)
	}
	e.Partial("mutants tried")
	return err
}

func report(e *cli.Env, t *mutants.Table) error {
	_, err := fmt.Fprintln(e.Err, t.Summary())
	return err
}

// trial checks the flags before anything is built.
func (m *mutantsRunCmd) trial() (mutants.Trial, error) {
	t := mutants.Trial{
		Target:     m.Of,
		Strategies: m.set().Strategies,
		Runs:       m.Runs,
		More:       m.More,
		Count:      m.Count,
		Steps:      m.Steps,
		Seed:       m.Seed,
		Workers:    m.Workers,
		Limit:      m.Limit,
	}
	if m.Runs < 1 || m.Steps < 1 || m.More < 0 || m.Limit < 0 || m.Workers < 0 {
		return t, errors.New(
			"--runs and --steps must be at least 1, --more, --workers and --limit must not be negative")
	}
	if t.Workers == 0 {
		t.Workers = runtime.GOMAXPROCS(0)
	}
	if len(m.Strategies) == 0 {
		return t, nil
	}
	if _, err := cli.ParseStrategies(m.Strategies); err != nil {
		return t, err
	}
	t.Strategies = nil
	for _, list := range m.Strategies {
		t.Strategies = append(t.Strategies, cli.SplitStrategies(list)...)
	}
	return t, nil
}
