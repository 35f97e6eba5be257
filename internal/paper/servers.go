package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/kit/published"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/cassandra"
	"github.com/lockstep-go/lockstep/target/ratis"
	"github.com/lockstep-go/lockstep/target/zookeeper"
)

// servedRows has the flags of the commands that measure rows of tables on servers.
type servedRows struct {
	Names []string      `arg:"" optional:"" name:"row" help:"Names of rows; all unless given."`
	Runs  int           `default:"1000" placeholder:"N" help:"Runs of each row (${default})."`
	Each  time.Duration `placeholder:"1h" help:"Time for each row, if it ends before its runs."`
	Seed  uint64        `default:"1" placeholder:"X" help:"Seed of each row (${default})."`
	List  bool          `help:"List the rows with their published figures instead."`
}

// check reports invalid flags.
func (s servedRows) check() error {
	if s.Runs < 1 || s.Each < 0 {
		return errors.New("--runs must be at least 1, and --each must not be negative")
	}
	return nil
}

// measure measures rows, and writes a line for each.
func (s servedRows) measure(e *cli.Env, rows []published.Row) error {
	rows, err := published.Find(rows, s.Names...)
	if err = errors.Join(s.check(), err); err != nil {
		return err
	}
	if s.List {
		for _, r := range rows {
			fmt.Fprintf(e.Out, "table %s  %-20s of %d runs:", r.Table, r.Name, r.Runs)
			for _, cell := range r.Cells {
				if !cell.Ours {
					fmt.Fprintf(e.Out, " %s %g", cell.Name, cell.Published)
				}
			}
			fmt.Fprintln(e.Out)
		}
		return nil
	}
	published.Head(e.Out)
	for _, r := range rows {
		var times process.Times
		m, err := published.Measure(e.Ctx, r, s.Runs, s.Each, times.Spec())
		if e.Interrupted() || errors.Is(err, context.Canceled) {
			e.Partial("rows measured")
			return nil
		}
		if err != nil {
			return err
		}
		m.Write(e.Out)
		if len(m.Differs()) > 0 || m.Diverged > 0 {
			e.Found()
		}
		if times.Runs() > 0 { // a model takes no time
			fmt.Fprintf(e.Err, "%s: %s\n", r.Name, &times)
		}
	}
	return nil
}

// scratch makes a directory for the servers' files, which the returned function removes.
func scratch() (string, func(), error) {
	dir, err := os.MkdirTemp("", "lockstep-paper-*")
	return dir, func() { os.RemoveAll(dir) }, err
}

// help is the end of the longer help of the commands on servers.
const servedHelp = `
Each line has the published figures beside ours: numbers of runs with their exact 95 % intervals, and means.
The last column says which figures cannot be samples of one probability by these intervals.
Exit status 1: there is one, or runs of a deterministic system differed when they were repeated.
`

type cassandraCmd struct {
	servedRows
	Sampler   string        `default:"paper" enum:"paper,partial,exact" placeholder:"S" help:"How isolations are drawn: paper, partial or exact (${default})."`
	Unbounded bool          `help:"Begin attempts after the last round, which the paper does not."`
	Timeout   time.Duration `default:"500ms" placeholder:"500ms" help:"How long servers wait for a quorum (${default})."`
	Model     bool          `help:"Make the runs with a model of the servers, which takes no time."`
	Tool      bool          `help:"Simulate the paper's own tool on the model instead, and compare with the published means."`
}

// Help returns the longer help.
func (cassandraCmd) Help() string {
	return "Table 2 of the paper on communication closure, with the baseline of its section 7.1." + servedHelp +
		"\nExamples:\n  lockstep paper cassandra k6:d8 --each 1h\n  lockstep paper cassandra --model --runs 200000\n" +
		"  lockstep paper cassandra --tool --runs 200000"
}

// Run measures the rows.
func (c *cassandraCmd) Run(e *cli.Env) error {
	dir, remove, err := scratch()
	if err != nil {
		return err
	}
	defer remove()
	sampler := strategy.Sampler(slices.Index(strategy.Exact.Words(), c.Sampler))
	rows := cassandra.Tables(cassandra.TableOptions{Seed: c.Seed, Sampler: sampler, Unbounded: c.Unbounded,
		Timeout: c.Timeout, Model: c.Model, Scratch: dir})
	if c.Tool {
		return c.simulate(e, rows)
	}
	return c.measure(e, rows)
}

// simulate compares the simulated tool with the published means.
func (c *cassandraCmd) simulate(e *cli.Env, rows []published.Row) error {
	rows, err := published.Find(rows, c.Names...)
	if err = errors.Join(c.check(), err); err != nil {
		return err
	}
	fmt.Fprintln(e.Out, "| row | means | published | simulated "+
		"| buggy: published of 1000 | simulated, read at one server | read at all |")
	fmt.Fprintln(e.Out, "|---|---|---|---|--:|--:|--:|")
	for _, r := range rows {
		u, ok := r.Plan.Strategy.(strategy.Uniform)
		if !ok {
			continue
		}
		s := cassandra.Tool(c.Runs, u.Period, u.Isolations, c.Seed)
		var names, theirs, ours string
		for i, cell := range r.Cells[1:] {
			comma := ", "
			if i == 0 {
				comma = ""
			}
			names += comma + cell.Name
			theirs += fmt.Sprintf("%s%.2f", comma, cell.Published)
			ours += fmt.Sprintf("%s%.2f", comma, s.Means[i])
		}
		per := func(n int) float64 { return 1000 * float64(n) / float64(s.Runs) }
		fmt.Fprintf(e.Out, "| %s | %s | %s | %s | %.0f | %.2f | %.2f |\n", r.Name, names, theirs, ours,
			r.Cells[0].Published, per(s.One), per(s.All))
	}
	return nil
}

type ratisCmd struct {
	servedRows
	Release      string        `default:"1.0.0" placeholder:"V" help:"Version of the servers (${default})."`
	Within       time.Duration `default:"10s" placeholder:"10s" help:"Bound of the properties (${default}; the paper waits for 2s)."`
	StartTimeout time.Duration `default:"5m" placeholder:"5m" help:"How long servers may take to start (${default})."`
	EachClient   bool          `name:"each-client" help:"Every request has a client of its own."`
	Swallow      bool          `help:"A lost message disappears alone over Netty, as with the paper's instrumentation; otherwise with its connection."`
	Cold         bool          `help:"Start a process for each start of a server, instead of JVMs that keep running."`
}

// Help returns the longer help.
func (ratisCmd) Help() string {
	return "Tables 3, 4 and 5 of the paper on communication closure." + servedHelp +
		"\nExamples:\n  lockstep paper ratis light:grpc:3 killed:netty:3 --each 1h\n  lockstep paper ratis --within 2s\n" +
		"  lockstep paper ratis light:netty:3 --swallow --each 1h"
}

// Run measures the rows.
func (r *ratisCmd) Run(e *cli.Env) error {
	dir, remove, err := scratch()
	if err != nil {
		return err
	}
	defer remove()
	return r.measure(e, ratis.Tables(ratis.TableOptions{Version: r.Release, Seed: r.Seed, Within: r.Within,
		StartTimeout: r.StartTimeout, Each: r.EachClient, Swallow: r.Swallow, Cold: r.Cold, Scratch: dir}))
}

type zookeeperCmd struct {
	servedRows
	Release string  `default:"3.5.8" placeholder:"V" help:"Version of the servers (${default})."`
	Phases  int     `default:"3" placeholder:"P" help:"Isolations fall into the first P phases (${default}, as in the paper's tool); 0: all."`
	Cold    bool    `help:"Start a process for each start of a server, instead of JVMs that keep running."`
	Model   bool    `help:"Make the runs with a model of 3.5.8, which takes no time."`
	Late    float64 `placeholder:"P" help:"Probability that a second follower of the model connects after the leader serves."`
}

// Help returns the longer help.
func (zookeeperCmd) Help() string {
	return "Tables 6 and 7 of the paper on communication closure." + servedHelp +
		"\nExamples:\n  lockstep paper zookeeper sc:8 sc:baseline --each 1h\n" +
		"  lockstep paper zookeeper --model --runs 5000\n  lockstep paper zookeeper --model --runs 5000 --phases 0"
}

// Run measures the rows.
func (z *zookeeperCmd) Run(e *cli.Env) error {
	if z.Phases < 0 || z.Late < 0 || z.Late > 1 {
		return errors.New("--phases must not be negative, and --late is a probability")
	}
	dir, remove, err := scratch()
	if err != nil {
		return err
	}
	defer remove()
	return z.measure(e, zookeeper.Tables(zookeeper.TableOptions{Version: z.Release, Seed: z.Seed, Phases: z.Phases,
		Cold: z.Cold, Model: z.Model, Late: z.Late, Scratch: dir}))
}
