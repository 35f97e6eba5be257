// Package published measures rows of published tables again and prints them beside the published figures.
//
// A target whose paper has tables offers their rows as a function that returns a list of [Row]. The command
// "lockstep paper" measures them.
package published

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/exact"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Row is a row of a published table, or a column, if the table has a column for each setting.
type Row struct {
	Table string // the number of the table
	Name  string // unique among the rows of a target
	Runs  int    // of the published campaign
	Cells []Cell
	Plan  lockstep.Plan // of the campaign; Measure sets its runs
	// Count returns the measured figures of the cells after the campaign. A row can be measured once.
	Count func(*lockstep.Result) []float64
}

// Cell is a figure of a row.
type Cell struct {
	Name      string
	Published float64
	// Mean marks a mean over the runs. Other cells are numbers of runs.
	Mean bool
	// Ours marks a figure that the table does not have.
	Ours bool
}

// Find returns the rows with the given names, in the order of the tables; without names it returns all rows.
func Find(rows []Row, names ...string) ([]Row, error) {
	if len(names) == 0 {
		return rows, nil
	}
	var found []Row
	var all []string
	unknown := slices.Clone(names)
	for _, r := range rows {
		all = append(all, r.Name)
		if slices.Contains(names, r.Name) {
			found = append(found, r)
			unknown = slices.DeleteFunc(unknown, func(n string) bool { return n == r.Name })
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("unknown row %q: one of %s", unknown[0], strings.Join(all, ", "))
	}
	return found, nil
}

// Measured is a row with the results of its campaign.
type Measured struct {
	Row
	N            int       // conclusive runs
	Values       []float64 // of the cells
	Inconclusive int
	Took         time.Duration
	Diverged     int // runs of a deterministic system that differed when they were repeated
}

// Measure makes up to so many runs of a row, as far as the time permits; 0 means no limit. Further specs may watch
// them.
func Measure(ctx context.Context, r Row, runs int, limit time.Duration, specs ...lockstep.Spec) (*Measured, error) {
	if limit > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	if r.Plan.Spec != nil { // a row may have an observer instead of a spec
		specs = append(specs, r.Plan.Spec)
	}
	r.Plan.Spec, r.Plan.Runs = spec.All(specs...), runs
	if runs == 0 {
		r.Plan.Runs = 1 << 20
	}
	r.Plan.KeepGoing, r.Plan.Keep, r.Plan.Repetitions = true, 1<<20, 1
	begin := time.Now()
	result, err := lockstep.Explore(ctx, r.Plan)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	m := &Measured{Row: r, Inconclusive: result.Verdicts[trace.Unknown], Took: time.Since(begin),
		Values: r.Count(result), Diverged: result.Diverged}
	m.N = result.Runs - m.Inconclusive
	return m, nil
}

// Agrees reports whether the exact 95 % intervals of a cell and of the published figure have a value in common. A mean
// has no interval and agrees with anything.
func (m *Measured) Agrees(cell int) bool {
	c := m.Cells[cell]
	if c.Mean || c.Ours || m.Runs == 0 {
		return true
	}
	low, high := m.interval(cell)
	lowest, highest := exact.Limits(int(c.Published), m.Runs, 0.025)
	return low <= highest && lowest <= high
}

func (m *Measured) interval(cell int) (low, high float64) {
	return exact.Limits(int(m.Values[cell]), max(m.N, 1), 0.025)
}

// Differs lists the cells that do not agree with the published ones.
func (m *Measured) Differs() (names []string) {
	for i, c := range m.Cells {
		if !m.Agrees(i) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Head writes the head of a table of rows.
func Head(out io.Writer) {
	fmt.Fprintln(out, "| row | figures | published | ours | 95 % of ours | inconclusive | runs an hour | beside |")
	fmt.Fprintln(out, "|---|---|---|---|---|--:|--:|---|")
}

// Write writes the row as a line of a Markdown table.
func (m *Measured) Write(out io.Writer) {
	var names, theirs, ours, limits []string
	for i, c := range m.Cells {
		names = append(names, c.Name)
		format := "%.0f"
		if c.Mean {
			format = "%.2f"
		}
		if c.Ours {
			theirs = append(theirs, "-")
		} else {
			theirs = append(theirs, fmt.Sprintf(format, c.Published))
		}
		ours = append(ours, fmt.Sprintf(format, m.Values[i]))
		if !c.Mean {
			low, high := m.interval(i)
			limits = append(limits, fmt.Sprintf("%.2f to %.2f %%", 100*low, 100*high))
		}
	}
	beside := "agrees"
	if differs := m.Differs(); len(differs) > 0 {
		beside = "differs: " + strings.Join(differs, ", ")
	}
	if m.Diverged > 0 {
		beside += "; " + words.Count(m.Diverged, "run") + " differed when repeated"
	}
	fmt.Fprintf(out, "| %s | %s | %s of %d | %s of %d | %s | %d | %.0f | %s |\n", m.Name, strings.Join(names, ", "),
		strings.Join(theirs, ", "), m.Runs, strings.Join(ours, ", "), m.N, strings.Join(limits, ", "), m.Inconclusive,
		float64(m.N+m.Inconclusive)/max(m.Took.Hours(), 1e-9), beside)
}

// Violations counts the runs that violate each of some properties, which is the Count of rows whose cells are those.
func Violations(properties ...string) func(*lockstep.Result) []float64 {
	return func(r *lockstep.Result) []float64 {
		counts := make([]float64, len(properties))
		for _, f := range r.Failures {
			if i := slices.Index(properties, f.Finding.Property); i >= 0 {
				counts[i]++
			}
		}
		return counts
	}
}
