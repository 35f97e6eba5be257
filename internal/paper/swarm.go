package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/internal/exact"
	"github.com/lockstep-go/lockstep/kit/mutants"
)

// swarmCmd compares swarm testing with weights chosen by hand, as section 3 of the paper on systematic testing does
// without figures: the paper reports that draws of the weights do better than one tuned set.
type swarmCmd struct {
	built
	Mutants []string      `arg:"" optional:"" help:"Names of mutants; all unless given."`
	Seeds   int           `default:"3" placeholder:"N" help:"Campaigns with each strategy for a mutant, with one seed after the other (${default})."`
	Runs    int           `default:"300" placeholder:"N" help:"Most runs of one campaign (${default})."`
	Steps   int           `default:"400" placeholder:"N" help:"Length of a run in steps (${default})."`
	Seed    uint64        `default:"1" placeholder:"X" help:"The first seed (${default})."`
	Workers int           `placeholder:"W" help:"Campaigns at once; 0 is one for each processor. Results do not depend on it."`
	Limit   time.Duration `default:"10m" placeholder:"10m" help:"Longest time of one campaign (${default})."`
	JSON    bool          `name:"json" help:"Print one JSON object."`
}

// Help returns the longer help.
func (swarmCmd) Help() string {
	return `Planted bugs in etcd's raft, on the network of that paper: links with commit, drop, swap and dup, and
bounds. Swarm draws the weights of the classes of actions, and the bounds, for each run. Each of the others
keeps one set of weights, with the same bounds. A mutant counts as found in a campaign if a run of it
violates a property. The last columns compare campaign by campaign which of the two found the mutant in
fewer runs, with an exact sign test.

Examples:
  lockstep paper swarm
  lockstep paper swarm vote-twice commit-old-term --seeds 10`
}

// tunedSets are weights chosen by hand. Actions of nodes are favored in all of them, since runs that mostly disturb
// messages hardly elect a leader.
var tunedSets = []struct{ Name, Strategy string }{
	{"swarm", "queues:swarm=true"},
	{"no faults", "queues:swarm=false,run=10,commit=10,timer=2,request=2"},
	{"few faults", "queues:swarm=false,run=20,commit=20,timer=2,request=2,drop=1,dup=1,swap=1"},
	{"faults", "queues:swarm=false,run=10,commit=10,timer=2,request=2,drop=1,dup=1,swap=2"},
	{"losses", "queues:swarm=false,run=10,commit=10,timer=2,request=2,drop=2"},
	{"timers", "queues:swarm=false,run=10,commit=10,timer=10,request=2,drop=1,dup=1,swap=1"},
}

// swarmRow sums the campaigns of one set of weights.
type swarmRow struct {
	Name     string `json:"name"`
	Strategy string `json:"strategy"`
	Found    int    `json:"found"` // campaigns that found their mutant
	Runs     int    `json:"runs"`  // of all campaigns, each up to its finding
	// Fewer and More are the campaigns in which swarm needed fewer runs than this set, and more.
	Fewer int     `json:"swarm_fewer"`
	More  int     `json:"swarm_more"`
	P     float64 `json:"p_two_sided"`
}

// swarmTable is the command's whole result.
type swarmTable struct {
	Mutants   int        `json:"mutants"`
	Seeds     int        `json:"seeds"`
	Runs      int        `json:"runs"`
	Steps     int        `json:"steps"`
	Seed      uint64     `json:"seed"`
	Campaigns int        `json:"campaigns"`
	False     int        `json:"false_findings"`
	Rows      []swarmRow `json:"rows"`
}

// Run makes the campaigns.
func (c *swarmCmd) Run(e *cli.Env) error {
	list, err := c.set().Find(c.Mutants...)
	if err != nil {
		return err
	}
	if c.Seeds < 1 || c.Runs < 1 || c.Steps < 1 || c.Workers < 0 || c.Limit < 0 {
		return errors.New("--seeds, --runs and --steps must be at least 1, --workers and --limit must not be negative")
	}
	trial := mutants.Trial{Target: c.Of, Runs: c.Runs, Steps: c.Steps, Workers: c.Workers, Limit: c.Limit}
	if trial.Workers == 0 {
		trial.Workers = runtime.GOMAXPROCS(0)
	}
	for _, s := range tunedSets {
		trial.Strategies = append(trial.Strategies, s.Strategy)
	}
	if trial.Program, err = c.build(e); err != nil {
		return err
	}
	if trial.Out, err = os.MkdirTemp("", "lockstep-mutants-*"); err != nil {
		return err
	}
	defer os.RemoveAll(trial.Out)
	table := newSwarmTable(c, len(list))
	for i := range c.Seeds {
		trial.Seed = c.Seed + uint64(i)
		made, err := trial.Run(e.Ctx, list)
		if e.Interrupted() {
			e.Partial("seeds tried")
			break
		}
		if err != nil {
			return err
		}
		table.add(made)
	}
	table.finish()
	if c.JSON {
		return e.JSON(table)
	}
	return table.write(e.Out)
}

func newSwarmTable(c *swarmCmd, list int) *swarmTable {
	t := &swarmTable{Mutants: list, Seeds: c.Seeds, Runs: c.Runs, Steps: c.Steps, Seed: c.Seed}
	for _, s := range tunedSets {
		t.Rows = append(t.Rows, swarmRow{Name: s.Name, Strategy: s.Strategy})
	}
	return t
}

// add adds the campaigns of one seed.
func (s *swarmTable) add(made *mutants.Table) {
	for _, m := range made.Mutants {
		s.Campaigns++
		swarm := m.Cells[0]
		for i, cell := range m.Cells {
			r := &s.Rows[i]
			r.Runs += cell.Runs
			if cell.Found() {
				r.Found++
			}
			switch {
			case i == 0 || !swarm.Found() && !cell.Found():
			case swarm.Found() && (!cell.Found() || swarm.Runs < cell.Runs):
				r.Fewer++
			case cell.Found() && (!swarm.Found() || cell.Runs < swarm.Runs):
				r.More++
			}
		}
	}
	for _, control := range made.Control {
		if control.Found() {
			s.False++
		}
	}
}

// finish computes the sign tests.
func (s *swarmTable) finish() {
	for i := range s.Rows[1:] {
		r := &s.Rows[i+1]
		r.P = signTest(r.Fewer, r.More)
	}
}

// signTest returns the two-sided probability of a split at least as uneven between two equally likely sides.
func signTest(a, b int) float64 {
	n, k := a+b, min(a, b)
	if n == 0 {
		return 1
	}
	p, term := 0.0, math.Pow(0.5, float64(n))
	for i := 0; i <= k; i++ {
		p += term
		term *= float64(n-i) / float64(i+1)
	}
	return min(1, 2*p)
}

// write writes the table.
func (s *swarmTable) write(out io.Writer) error {
	fmt.Fprintf(out, "%d mutants of etcd's raft, %d campaigns with each set of weights, up to %d runs of %d steps, "+
		"seeds from %d\n\n",
		s.Mutants, s.Campaigns, s.Runs, s.Steps, s.Seed)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "weights\tfound\t95 %\truns of all\tswarm fewer, more\tp\tstrategy")
	best := slices.MaxFunc(s.Rows[1:], func(a, b swarmRow) int { return a.Found - b.Found })
	for i, r := range s.Rows {
		low, high := exact.Limits(r.Found, max(s.Campaigns, 1), 0.025)
		beside, p := "", ""
		if i > 0 {
			beside, p = fmt.Sprintf("%d, %d", r.Fewer, r.More), fmt.Sprintf("%.3g", r.P)
		}
		name := r.Name
		if r.Name == best.Name {
			name += " (best)"
		}
		fmt.Fprintf(w, "%s\t%d\t%.0f to %.0f %%\t%d\t%s\t%s\t%s\n", name, r.Found, 100*low, 100*high, r.Runs, beside, p,
			r.Strategy)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nwithout a mutant %d workloads and seeds had a finding\n", s.False)
	return err
}
