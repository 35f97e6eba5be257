package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/internal/pool"
)

// Trial lets strategies look for mutants: a campaign for each pair, which ends with the
// first finding. Every campaign is a process of its own, since a mutant may take it down.
type Trial struct {
	// Target is the name of the target, and Program the file of what was built by the recipe
	// [Set.Program].
	Target, Program string
	// Strategies are written as on the command line.
	Strategies []string
	// Runs is the most runs of one campaign.
	Runs int
	// More is the most runs of one campaign for a mutant that no strategy found in so few;
	// it ends the trial of the mutant when one has. 0 means no more.
	More int
	// Count makes all runs of every campaign and counts those that find something, where otherwise
	// the first finding ends it.
	Count bool
	// Steps is the length of a run.
	Steps int
	Seed  uint64
	// Limit ends a campaign that takes longer; 0 means no limit.
	Limit time.Duration
	// Workers is the number of campaigns at once; the result does not depend on it.
	Workers int
	// Out is a folder for traces of findings.
	Out string
	// Progress is told of every campaign when it and all before it are over.
	Progress func(mutant string, c Cell)
}

// Outcome is how a campaign ended.
type Outcome string

// The outcomes.
const (
	Killed   Outcome = "killed"   // a property was violated
	Crashed  Outcome = "crashed"  // the process broke down, which counts as killed
	Survived Outcome = "survived" // nothing was found
	TimedOut Outcome = "timeout"  // nothing was found up to the limit
	Unclear  Outcome = "unclear"  // the library without the mutant fails in these runs, too
)

// Cell is what a strategy made of a mutant.
type Cell struct {
	Strategy string  `json:"strategy"`
	Outcome  Outcome `json:"outcome"`
	// Runs is the number of runs up to the finding, or all of them, as where the process broke down.
	Runs int `json:"runs"`
	// Findings is how many of all runs found something, where that was counted.
	Findings int    `json:"findings,omitempty"`
	Property string `json:"property,omitempty"`
	Text     string `json:"text,omitempty"`
	// Again is the command that makes the campaign again.
	Again string `json:"again"`
}

// Found reports whether the strategy noticed the mutant.
func (c Cell) Found() bool { return c.Outcome == Killed || c.Outcome == Crashed }

// Row is a mutant, or the library as it is, with a cell for each strategy.
type Row struct {
	Mutant string `json:"mutant"` // empty: none
	Area   Area   `json:"area,omitempty"`
	Load   string `json:"load"`
	Needs  string `json:"needs,omitempty"` // what it would take, see [Mutant]
	Cells  []Cell `json:"cells"`
}

// Found reports whether some strategy noticed the mutant.
func (r Row) Found() bool { return slices.ContainsFunc(r.Cells, Cell.Found) }

// Table is the result of a trial.
type Table struct {
	Strategies []string `json:"strategies"`
	Runs       int      `json:"runs"`
	More       int      `json:"more"`
	Count      bool     `json:"count"`
	Steps      int      `json:"steps"`
	Seed       uint64   `json:"seed"`
	// Control are the campaigns without a mutant, one row for each workload: what they
	// find is a false alarm.
	Control []Row `json:"control"`
	Mutants []Row `json:"mutants"`
}

// Run makes the campaigns: those with mutants, longer ones for the mutants that none of
// them found, and then those without, as long as those of all mutants, or as the longest that
// killed one with the same workload and strategy. A kill counts only if the library as it is
// passes the same runs.
func (t Trial) Run(ctx context.Context, list []Mutant) (*Table, error) {
	table := &Table{Strategies: t.Strategies, Runs: t.Runs, More: t.More, Count: t.Count, Steps: t.Steps, Seed: t.Seed}
	for _, m := range list {
		table.Mutants = append(table.Mutants, Row{Mutant: m.Name, Area: m.Area, Load: m.Load.Name, Needs: m.Needs, Cells: make([]Cell, len(t.Strategies))})
	}
	for _, l := range loads(list) {
		table.Control = append(table.Control, Row{Load: l.Name, Cells: make([]Cell, len(t.Strategies))})
	}
	if err := t.first(ctx, list, table); err != nil {
		return table, err
	}
	if err := t.longer(ctx, list, table); err != nil {
		return table, err
	}
	return table, t.control(ctx, loads(list), table)
}

// first tries every strategy on every mutant.
func (t Trial) first(ctx context.Context, list []Mutant, table *Table) error {
	k := len(t.Strategies)
	return t.each(len(list)*k, func(i int) ([]Cell, error) {
		return one(t.cell(ctx, list[i/k], t.Strategies[i%k], t.Runs))
	}, func(i int, cells []Cell) {
		t.put(&table.Mutants[i/k], i%k, cells)
	})
}

// longer tries one strategy after the other on the mutants that none has found, until one
// does.
func (t Trial) longer(ctx context.Context, list []Mutant, table *Table) error {
	var left []int
	for i, row := range table.Mutants {
		if t.More > t.Runs && !row.Found() {
			left = append(left, i)
		}
	}
	return t.each(len(left), func(i int) (cells []Cell, err error) {
		for _, s := range t.Strategies {
			c, err := t.cell(ctx, list[left[i]], s, t.More)
			if cells = append(cells, c); err != nil || c.Found() {
				return cells, err
			}
		}
		return cells, nil
	}, func(i int, cells []Cell) {
		t.put(&table.Mutants[left[i]], 0, cells)
	})
}

// control fills the rows without a mutant.
func (t Trial) control(ctx context.Context, loads []Load, table *Table) error {
	k := len(t.Strategies)
	return t.each(len(loads)*k, func(i int) ([]Cell, error) {
		l := loads[i/k]
		return one(t.cell(ctx, Mutant{Load: l}, t.Strategies[i%k], table.controlRuns(l.Name, i%k)))
	}, func(i int, cells []Cell) {
		t.put(&table.Control[i/k], i%k, cells)
		table.discount(loads[i/k].Name, i%k, cells[0])
	})
}

// controlRuns is the number of runs without a mutant.
func (t *Table) controlRuns(load string, strategy int) int {
	runs := t.Runs
	for _, r := range t.Mutants {
		if c := r.Cells[strategy]; r.Load == load && c.Found() {
			runs = max(runs, c.Runs)
		}
	}
	return runs
}

// each does numbered jobs side by side and takes their cells in order.
func (t Trial) each(n int, do func(i int) ([]Cell, error), take func(i int, cells []Cell)) (err error) {
	type done struct {
		cells []Cell
		err   error
	}
	pool.Ordered(t.Workers, n, func(_, i int) done {
		cells, err := do(i)
		return done{cells, err}
	}, func(i int, d done) bool {
		if err = d.err; err == nil {
			take(i, d.cells)
		}
		return err == nil
	})
	return err
}

func one(c Cell, err error) ([]Cell, error) { return []Cell{c}, err }

// put writes cells into a row, from a column on.
func (t Trial) put(row *Row, at int, cells []Cell) {
	for _, c := range cells {
		row.Cells[at] = c
		at++
		if t.Progress != nil {
			t.Progress(row.Mutant, c)
		}
	}
}

// discount takes back the kills that the library without a mutant does not survive.
func (t *Table) discount(load string, strategy int, control Cell) {
	if t.Count { // the counts stand side by side
		return
	}
	from := control.Runs
	if control.Outcome == Crashed { // nobody knows in which run
		from = 0
	}
	for _, r := range t.Mutants {
		if c := &r.Cells[strategy]; control.Found() && r.Load == load && c.Found() && c.Runs >= from {
			c.Outcome = Unclear
		}
	}
}

// loads lists the workloads of mutants, each once.
func loads(list []Mutant) []Load {
	var all []Load
	for _, m := range list {
		if !slices.ContainsFunc(all, func(l Load) bool { return l.Name == m.Load.Name }) {
			all = append(all, m.Load)
		}
	}
	return all
}

// cell makes one campaign.
func (t Trial) cell(ctx context.Context, m Mutant, strategy string, runs int) (Cell, error) {
	args := []string{"run", t.Target, "--strategy", strategy, "--runs", strconv.Itoa(runs), "--steps", strconv.Itoa(t.Steps),
		"--seed", strconv.FormatUint(t.Seed, 10)}
	for _, s := range m.Load.Set {
		args = append(args, "--set", s)
	}
	if m.Load.Settle > 0 {
		args = append(args, "--settle", strconv.Itoa(m.Load.Settle))
	}
	if t.Count {
		args = append(args, "--keep-going")
	}
	c := Cell{Strategy: strategy, Outcome: Survived, Again: Variable + "=" + m.Name + " lockstep-mutants " + strings.Join(args, " ")}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if t.Limit > 0 {
		limited, cancel = context.WithTimeout(ctx, t.Limit)
	}
	defer cancel()
	cmd := exec.CommandContext(limited, t.Program, append(args, "--workers", "1", "--no-shrink", "--json", "--out", t.Out)...)
	cmd.Env = append(os.Environ(), Variable+"="+m.Name)
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return c, ctx.Err()
	case limited.Err() != nil:
		c.Outcome = TimedOut
	default:
		if err := c.read(err, out.Bytes(), failed.String(), runs); err != nil {
			return c, fmt.Errorf("%s: %w", c.Again, err)
		}
	}
	return c, nil
}

// read takes over what the process reported that was to make so many runs.
func (c *Cell) read(exit error, out []byte, failed string, runs int) error {
	var report struct {
		Runs     int  `json:"runs"`
		Findings int  `json:"findings"`
		First    *int `json:"first_finding_run"`
		Finding  *struct {
			Property string `json:"property"`
			Text     string `json:"text"`
		} `json:"finding"`
	}
	err := json.Unmarshal(out, &report)
	var status *exec.ExitError
	switch {
	case exit != nil && !errors.As(exit, &status):
		return exit
	case err == nil && (exit == nil || status.ExitCode() == 1):
		c.Runs = report.Runs
		if report.First != nil && report.Finding != nil {
			c.Outcome, c.Runs, c.Findings = Killed, *report.First+1, report.Findings
			c.Property, c.Text = report.Finding.Property, report.Finding.Text
		}
		return nil
	}
	// The go runtime ends a process that broke down with the status for wrong usage.
	for line := range strings.Lines(failed) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			c.Outcome, c.Runs, c.Property, c.Text = Crashed, runs, "crash", strings.TrimSpace(line)
			return nil
		}
	}
	return fmt.Errorf("%w: %s", exit, strings.TrimSpace(failed))
}
