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
)

// Strategies are the ones that a trial compares unless told otherwise. Those that can
// crash nodes and cut links do so; lock-step runs are long enough for several elections.
var Strategies = []string{
	"walk:duplicate=1,crash=1,restart=1,cut=1,heal=1", "baseline", "lossy:rounds=48", "uniform:isolations=12,rounds=48",
	"pctcp", "pos", "shadow", "delay",
}

// Trial lets strategies look for mutants: a campaign for each pair, which ends with the
// first finding. Every campaign is a process of its own, since a mutant may take it down.
type Trial struct {
	// Program is what [Builder] made.
	Program string
	// Strategies are written as on the command line; none means [Strategies].
	Strategies []string
	// Runs is the most runs of one campaign.
	Runs int
	// More is the most runs of one campaign for a mutant that no strategy found in so few;
	// it ends the trial of the mutant when one has. 0 means no more.
	More int
	// Steps is the length of a run.
	Steps int
	Seed  uint64
	// Limit ends a campaign that takes longer; 0 means no limit.
	Limit time.Duration
	// Out is a folder for traces of findings.
	Out string
	// Progress is told of every campaign when it is over.
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
	// Runs is the number of runs up to the finding, or all of them.
	Runs     int    `json:"runs"`
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
	Steps      int      `json:"steps"`
	Seed       uint64   `json:"seed"`
	// Control are the campaigns without a mutant, one row for each workload: what they
	// find is a false alarm.
	Control []Row `json:"control"`
	Mutants []Row `json:"mutants"`
}

// Run makes the campaigns: those with mutants, and then those without, each as long as
// the longest that killed a mutant with the same workload and strategy. A kill counts
// only if the library as it is passes the same runs.
func (t Trial) Run(ctx context.Context, list []Mutant) (*Table, error) {
	if len(t.Strategies) == 0 {
		t.Strategies = Strategies
	}
	table := &Table{Strategies: t.Strategies, Runs: t.Runs, More: t.More, Steps: t.Steps, Seed: t.Seed}
	for _, m := range list {
		row, err := t.row(ctx, m)
		if err != nil {
			return table, err
		}
		table.Mutants = append(table.Mutants, row)
	}
	return table, t.control(ctx, list, table)
}

// control fills the rows without a mutant.
func (t Trial) control(ctx context.Context, list []Mutant, table *Table) error {
	for _, l := range loads(list) {
		row := Row{Load: l.Name}
		for i, s := range t.Strategies {
			runs := min(t.Runs, controlRuns)
			for _, r := range table.Mutants {
				if r.Load == l.Name && r.Cells[i].Found() {
					runs = max(runs, r.Cells[i].Runs)
				}
			}
			c, err := t.cell(ctx, Mutant{Load: l}, s, runs)
			if err != nil {
				return err
			}
			row.Cells = append(row.Cells, c)
			table.discount(l.Name, i, c)
		}
		table.Control = append(table.Control, row)
	}
	return nil
}

// discount takes back the kills that the library without a mutant does not survive.
func (t *Table) discount(load string, strategy int, control Cell) {
	for _, r := range t.Mutants {
		if c := &r.Cells[strategy]; control.Found() && r.Load == load && c.Found() && c.Runs >= control.Runs {
			c.Outcome = Unclear
		}
	}
}

// controlRuns is the least number of runs without a mutant.
const controlRuns = 100

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

// row tries all strategies on a mutant.
func (t Trial) row(ctx context.Context, m Mutant) (Row, error) {
	row := Row{Mutant: m.Name, Area: m.Area, Load: m.Load.Name, Needs: m.Needs}
	for _, s := range t.Strategies {
		c, err := t.cell(ctx, m, s, t.Runs)
		if err != nil {
			return row, err
		}
		row.Cells = append(row.Cells, c)
	}
	for i := 0; t.More > t.Runs && i < len(row.Cells) && !row.Found(); i++ {
		c, err := t.cell(ctx, m, t.Strategies[i], t.More)
		if err != nil {
			return row, err
		}
		row.Cells[i] = c
	}
	return row, nil
}

// cell makes one campaign.
func (t Trial) cell(ctx context.Context, m Mutant, strategy string, runs int) (Cell, error) {
	args := []string{"run", "etcdraft", "--strategy", strategy, "--runs", strconv.Itoa(runs), "--steps", strconv.Itoa(t.Steps),
		"--seed", strconv.FormatUint(t.Seed, 10)}
	for _, s := range m.Load.Set {
		args = append(args, "--set", s)
	}
	if m.Load.Settle > 0 {
		args = append(args, "--settle", strconv.Itoa(m.Load.Settle))
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
		if err := c.read(err, out.Bytes(), failed.String()); err != nil {
			return c, fmt.Errorf("%s: %w", c.Again, err)
		}
	}
	if t.Progress != nil {
		t.Progress(m.Name, c)
	}
	return c, nil
}

// read takes over what the process reported.
func (c *Cell) read(exit error, out []byte, failed string) error {
	var report struct {
		Runs    int  `json:"runs"`
		First   *int `json:"first_finding_run"`
		Finding *struct {
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
			c.Outcome, c.Runs = Killed, *report.First+1
			c.Property, c.Text = report.Finding.Property, report.Finding.Text
		}
		return nil
	}
	// The go runtime ends a process that broke down with the status for wrong usage.
	for line := range strings.Lines(failed) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			c.Outcome, c.Property, c.Text = Crashed, "crash", strings.TrimSpace(line)
			return nil
		}
	}
	return fmt.Errorf("%w: %s", exit, strings.TrimSpace(failed))
}
