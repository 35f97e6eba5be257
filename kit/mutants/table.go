package mutants

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Killed counts the mutants that some strategy found.
func (t *Table) Killed() int {
	n := 0
	for _, r := range t.Mutants {
		if r.Found() {
			n++
		}
	}
	return n
}

// Clean reports whether the campaigns without a mutant found nothing.
func (t *Table) Clean() bool { return !slices.ContainsFunc(t.Control, Row.Found) }

// WriteText writes the table for people. Each cell shows the runs up to the first finding, or the number of runs with
// one if the trial counted them.
func (t *Table) WriteText(w io.Writer) error {
	for _, lines := range [][][]string{t.lines(), t.byStrategy()} {
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, line := range lines {
			fmt.Fprintln(tw, strings.Join(line, "\t"))
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintln(w, t.Summary())
	return err
}

// WriteMarkdown writes the tables for a page.
func (t *Table) WriteMarkdown(w io.Writer) error {
	if err := writeMarkdown(w, t.lines()); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeMarkdown(w, t.byStrategy())
}

func writeMarkdown(w io.Writer, lines [][]string) error {
	for i, line := range lines {
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(line, " | ")); err != nil {
			return err
		}
		if i == 0 {
			fmt.Fprintf(w, "|%s\n", strings.Repeat("---|", len(line)))
		}
	}
	return nil
}

// Summary is the result in one line.
func (t *Table) Summary() string {
	s := fmt.Sprintf("%d of %d mutants killed", t.Killed(), len(t.Mutants))
	if !t.Clean() {
		return s + ", but something was found without a mutant as well"
	}
	return s + ", nothing found without a mutant"
}

// lines are the cells as texts, the heading first.
func (t *Table) lines() [][]string {
	head := slices.Concat([]string{"mutant", "workload"}, t.names(), []string{"found as, or what it would take"})
	lines := [][]string{head}
	for _, r := range slices.Concat(t.Control, t.Mutants) {
		lines = append(lines, t.line(r))
	}
	return lines
}

// names are the names of the strategies, with their options where needed to distinguish them.
func (t *Table) names() []string {
	var names []string
	for _, s := range t.Strategies {
		name, _, _ := strings.Cut(s, ":")
		if slices.Contains(names, name) {
			return t.Strategies
		}
		names = append(names, name)
	}
	return names
}

func (t *Table) line(r Row) []string {
	name := r.Mutant
	if name == "" {
		name = "(none)"
	}
	line := []string{name, r.Load}
	var as []string
	for _, c := range r.Cells {
		text := strconv.Itoa(c.Runs)
		switch {
		case t.Count && (c.Outcome == Survived || c.Outcome == Killed):
			text = strconv.Itoa(c.Findings)
		case c.Outcome == Survived:
			text = ">" + text
		case c.Outcome == TimedOut:
			text = "time-out"
		case c.Outcome == Unclear:
			text = "unclear"
		case c.Outcome == Crashed:
			text = "crash"
		}
		line = append(line, text)
		if c.Found() && !slices.Contains(as, c.Property) {
			as = append(as, c.Property)
		}
	}
	if !r.Found() {
		return append(line, r.Needs)
	}
	return append(line, strings.Join(as, ", "))
}

// byStrategy summarizes the table by strategy, within the number of runs that all strategies had.
func (t *Table) byStrategy() [][]string {
	lines := [][]string{
		{"strategy", fmt.Sprintf("mutants killed in %d runs", t.Runs), "median run of a kill", "killed by no other"},
	}
	for i, s := range t.Strategies {
		killed := 0
		var runs []int
		var alone []string
		for _, r := range t.Mutants {
			if !t.early(r.Cells[i]) {
				continue
			}
			killed++
			if r.Cells[i].Outcome == Killed { // the run in which a process crashed is unknown
				runs = append(runs, r.Cells[i].Runs)
			}
			if !slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Strategy != s && t.early(c) }) {
				alone = append(alone, r.Mutant)
			}
		}
		slices.Sort(runs)
		median := "-"
		if len(runs) > 0 {
			median = strconv.Itoa(runs[(len(runs)-1)/2])
		}
		lines = append(lines, []string{s, strconv.Itoa(killed), median, cmp.Or(strings.Join(alone, ", "), "-")})
	}
	return lines
}

// early reports whether a kill took no more runs than every strategy had.
func (t *Table) early(c Cell) bool { return c.Found() && c.Runs <= t.Runs }

// WriteList writes the mutants themselves as a table for a page.
func WriteList(w io.Writer, list []Mutant) error {
	lines := [][]string{{"mutant", "area", "where", "what goes wrong", "rule that it breaks", "workload"}}
	for _, m := range list {
		lines = append(
			lines,
			[]string{m.Name, string(m.Area), "`" + m.File + "` " + m.Func, m.Does, m.Breaks, m.Load.Name},
		)
	}
	return writeMarkdown(w, lines)
}

// WriteLoads writes the workloads of mutants as a table for a page.
func WriteLoads(w io.Writer, list []Mutant) error {
	lines := [][]string{{"workload", "options", "what for"}}
	for _, l := range loads(list) {
		lines = append(lines, []string{l.Name, "`" + l.String() + "`", l.Why})
	}
	return writeMarkdown(w, lines)
}
