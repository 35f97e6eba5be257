package processes

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Row is what comes out of something, once for each seed.
type Row struct {
	Name     string
	Outcomes []string // without blanks
}

// Share says how many of the outcomes of a row were the same in all processes.
type Share struct {
	Name     string
	Same, Of int
}

// Shares runs the test that calls it in several processes at once, as [Same] does, and counts for each row
// the outcomes that are the same in all of them. It logs a table. In those processes it returns nothing.
func Shares(t *testing.T, tell func() []Row) []Share {
	t.Helper()
	if os.Getenv(child) != "" {
		for _, r := range tell() {
			fmt.Printf("%s%s\t%s\n", mark, r.Name, strings.Join(r.Outcomes, " "))
		}
		return nil
	}
	outputs := run(t)
	tables := make([][]Row, len(outputs))
	for i, out := range outputs {
		if tables[i] = rows(out); len(tables[i]) == 0 || len(tables[i]) != len(tables[0]) {
			t.Fatalf("process %d told %d rows, the first %d:\n%s", i, len(tables[i]), len(tables[0]), out)
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

// rows are those that a process printed.
func rows(output string) (list []Row) {
	for line := range strings.Lines(output) {
		if text, ok := strings.CutPrefix(line, mark); ok {
			name, outcomes, _ := strings.Cut(strings.TrimSpace(text), "\t")
			list = append(list, Row{name, strings.Fields(outcomes)})
		}
	}
	return list
}

// compare compares what processes told with what the first did.
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

// AllSame wants so many outcomes in each row, and all of them to be the same in all processes.
func AllSame(t *testing.T, of int, tell func() []Row) {
	t.Helper()
	for _, s := range Shares(t, tell) {
		if s.Of != of || s.Same < s.Of {
			t.Errorf("%s: %d of %d runs are the same in all processes, wanted are %d", s.Name, s.Same, s.Of, of)
		}
	}
}
