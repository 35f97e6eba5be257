package processes

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Row has the outcomes of one experiment, one for each seed.
type Row struct {
	Name     string
	Outcomes []string // without blanks
}

// Share counts the outcomes of a row that were the same in all processes.
type Share struct {
	Name     string
	Same, Of int
}

// Shares runs the test that calls it in several processes at once, as [Same] does. It counts for each row the outcomes
// that are the same in all of them, and logs a table. In the child processes it returns nil.
func Shares(t *testing.T, lines func() []Row) []Share {
	t.Helper()
	if os.Getenv(child) != "" {
		for _, r := range lines() {
			fmt.Printf("%s%s\t%s\n", mark, r.Name, strings.Join(r.Outcomes, " "))
		}
		return nil
	}
	outputs := run(t)
	tables := make([][]Row, len(outputs))
	for i, out := range outputs {
		if tables[i] = rows(out); len(tables[i]) == 0 || len(tables[i]) != len(tables[0]) {
			t.Fatalf("process %d printed %d rows, the first %d:\n%s", i, len(tables[i]), len(tables[0]), out)
		}
	}
	shares := compare(tables)
	var text strings.Builder
	fmt.Fprintf(&text, "%d processes at once\n  same   of  what\n", count())
	for _, s := range shares {
		fmt.Fprintf(&text, "%6d %4d  %s\n", s.Same, s.Of, s.Name)
	}
	t.Log(text.String())
	return shares
}

// rows returns the rows that a process printed.
func rows(output string) (list []Row) {
	for line := range strings.Lines(output) {
		if text, ok := strings.CutPrefix(line, mark); ok {
			name, outcomes, _ := strings.Cut(strings.TrimSpace(text), "\t")
			list = append(list, Row{name, strings.Fields(outcomes)})
		}
	}
	return list
}

// compare compares the rows of the processes with those of the first one.
func compare(tables [][]Row) []Share {
	var shares []Share
	for i, first := range tables[0] {
		s := Share{Name: first.Name, Of: len(first.Outcomes)}
		for j := range first.Outcomes {
			same := true
			for _, table := range tables {
				other := table[i]
				same = same && other.Name == first.Name && len(other.Outcomes) == s.Of &&
					other.Outcomes[j] == first.Outcomes[j]
			}
			if same {
				s.Same++
			}
		}
		shares = append(shares, s)
	}
	return shares
}

// AllSame requires this number of outcomes in each row, all of them the same in all processes.
func AllSame(t *testing.T, of int, lines func() []Row) {
	t.Helper()
	for _, s := range Shares(t, lines) {
		if s.Of != of || s.Same < s.Of {
			t.Errorf("%s: %d of %d runs are the same in all processes, wanted are %d", s.Name, s.Same, s.Of, of)
		}
	}
}
