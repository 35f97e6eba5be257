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

// Trial lets strategies look for mutants: one campaign for each pair, which ends with the first finding. Every
// campaign is a separate process, since a mutant may crash it.
type Trial struct {
	// Target is the name of the target, and Program the executable built from the recipe [Set.Program].
	Target, Program string
	// Strategies are written as on the command line.
	Strategies []string
	// Runs is the maximum number of runs of one campaign.
	Runs int
	// More is the maximum number of runs of one campaign for a mutant that no strategy found within Runs. The trial
	// of the mutant ends when one strategy has found it. 0 disables these campaigns.
	More int
	// Count makes every campaign complete all its runs and count those with a finding. By default the first finding
	// ends a campaign.
	Count bool
	// Steps is the length of a run.
	Steps int
	Seed  uint64
	// Limit ends a campaign that takes longer; 0 means no limit.
	Limit time.Duration
	// Workers is the number of concurrent campaigns; the result does not depend on it.
	Workers int
	// Out is a directory for traces of findings.
	Out string
	// Progress is called for every campaign when it and all before it have ended.
	Progress func(mutant string, c Cell)
}

// Outcome is how a campaign ended.
type Outcome string

// The outcomes.
const (
	Killed   Outcome = "killed"   // a property was violated
	Crashed  Outcome = "crashed"  // the process broke down, which counts as killed
	Survived Outcome = "survived" // no finding
	TimedOut Outcome = "timeout"  // no finding up to the limit
	Unclear  Outcome = "unclear"  // the unmodified library fails in these runs, too
)

// Cell is the result of one strategy for one mutant.
type Cell struct {
	Strategy string  `json:"strategy"`
	Outcome  Outcome `json:"outcome"`
	// Runs is the number of runs up to the finding. It is the number of all runs if there is no finding, or if the
	// process crashed.
	Runs int `json:"runs"`
	// Findings is the number of runs with a finding, if the trial counted them.
	Findings int    `json:"findings,omitempty"`
	Property string `json:"property,omitempty"`
	Text     string `json:"text,omitempty"`
	// Command is the command that reruns the campaign.
	Command string `json:"rerun"`
}

// Found reports whether the strategy detected the mutant.
func (c Cell) Found() bool { return c.Outcome == Killed || c.Outcome == Crashed }

// Row is a mutant, or the unmodified library, with a cell for each strategy.
type Row struct {
	Mutant string `json:"mutant"` // empty: none
	Area   Area   `json:"area,omitempty"`
	Load   string `json:"load"`
	Needs  string `json:"needs,omitempty"` // the kind of run that a kill would take, see [Mutant]
	Cells  []Cell `json:"cells"`
}

// Found reports whether some strategy detected the mutant.
func (r Row) Found() bool { return slices.ContainsFunc(r.Cells, Cell.Found) }

// Table is the result of a trial.
type Table struct {
	Strategies []string `json:"strategies"`
	Runs       int      `json:"runs"`
	More       int      `json:"more"`
	Count      bool     `json:"count"`
	Steps      int      `json:"steps"`
	Seed       uint64   `json:"seed"`
	// Control are the campaigns without a mutant, one row for each workload. Their findings are false positives.
	Control []Row `json:"control"`
	Mutants []Row `json:"mutants"`
}

// Run runs the campaigns: those with mutants, then longer ones for the mutants that none of them found, then those
// without a mutant. A control campaign has as many runs as those of all mutants, or as the longest that killed a
// mutant with the same workload and strategy. A kill counts only if the unmodified library passes the same runs.
func (t Trial) Run(ctx context.Context, list []Mutant) (*Table, error) {
	table := &Table{Strategies: t.Strategies, Runs: t.Runs, More: t.More, Count: t.Count, Steps: t.Steps, Seed: t.Seed}
	for _, m := range list {
		table.Mutants = append(
			table.Mutants,
			Row{
				Mutant: m.Name,
				Area:   m.Area,
				Load:   m.Load.Name,
				Needs:  m.Needs,
				Cells:  make([]Cell, len(t.Strategies)),
			},
		)
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

// first runs every strategy on every mutant.
func (t Trial) first(ctx context.Context, list []Mutant, table *Table) error {
	k := len(t.Strategies)
	return t.each(len(list)*k, func(i int) ([]Cell, error) {
		return one(t.cell(ctx, list[i/k], t.Strategies[i%k], t.Runs))
	}, func(i int, cells []Cell) {
		t.put(&table.Mutants[i/k], i%k, cells)
	})
}

// longer runs one strategy after the other on each mutant still alive, until one finds it.
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

// each runs numbered jobs concurrently and passes on their cells in order.
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

// put writes cells into a row, starting at a column.
func (t Trial) put(row *Row, at int, cells []Cell) {
	for _, c := range cells {
		row.Cells[at] = c
		at++
		if t.Progress != nil {
			t.Progress(row.Mutant, c)
		}
	}
}

// discount revokes the kills in runs that the unmodified library fails, too.
func (t *Table) discount(load string, strategy int, control Cell) {
	if t.Count { // the table compares the counts side by side
		return
	}
	from := control.Runs
	if control.Outcome == Crashed { // the run is unknown
		from = 0
	}
	for _, r := range t.Mutants {
		if c := &r.Cells[strategy]; control.Found() && r.Load == load && c.Found() && c.Runs >= from {
			c.Outcome = Unclear
		}
	}
}

// loads lists the workloads of mutants, without duplicates.
func loads(list []Mutant) []Load {
	var all []Load
	for _, m := range list {
		if !slices.ContainsFunc(all, func(l Load) bool { return l.Name == m.Load.Name }) {
			all = append(all, m.Load)
		}
	}
	return all
}

// cell runs one campaign.
func (t Trial) cell(ctx context.Context, m Mutant, strategy string, runs int) (Cell, error) {
	args := []string{
		"run",
		t.Target,
		"--strategy",
		strategy,
		"--runs",
		strconv.Itoa(runs),
		"--steps",
		strconv.Itoa(t.Steps),
		"--seed",
		strconv.FormatUint(t.Seed, 10),
	}
	for _, s := range m.Load.Set {
		args = append(args, "--set", s)
	}
	if m.Load.Settle > 0 {
		args = append(args, "--settle", strconv.Itoa(m.Load.Settle))
	}
	if t.Count {
		args = append(args, "--keep-going")
	}
	c := Cell{
		Strategy: strategy,
		Outcome:  Survived,
		Command:  Variable + "=" + m.Name + " lockstep-mutants " + strings.Join(args, " "),
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if t.Limit > 0 {
		limited, cancel = context.WithTimeout(ctx, t.Limit)
	}
	defer cancel()
	cmd := exec.CommandContext(
		limited,
		t.Program,
		append(args, "--workers", "1", "--no-shrink", "--json", "--out", t.Out)...)
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
			return c, fmt.Errorf("%s: %w", c.Command, err)
		}
	}
	return c, nil
}

// read parses the report of a process that was started for so many runs.
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
	// The Go runtime ends a crashed process with the exit status that the command uses for wrong usage.
	for line := range strings.Lines(failed) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			c.Outcome, c.Runs, c.Property, c.Text = Crashed, runs, "crash", strings.TrimSpace(line)
			return nil
		}
	}
	return fmt.Errorf("%w: %s", exit, strings.TrimSpace(failed))
}
