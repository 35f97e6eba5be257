package code

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/lockstep-go/lockstep/novelty"
)

// State says which runs executed a block.
type State uint8

// The states of a block.
const (
	// Never means that no run executed the block.
	Never State = iota
	// UnderFaults means that runs executed the block only after their first fault.
	UnderFaults
	// WithoutFaults means that a run executed the block before its first fault, or had none.
	WithoutFaults
)

// String is the state as text.
func (s State) String() string { return [...]string{"never", "only under faults", "without faults"}[s] }

// Count counts statements.
type Count struct {
	// Package is the import path of the package, or empty for all packages together.
	Package string `json:"package,omitempty"`
	// Statements is the number of statements.
	Statements int `json:"statements"`
	// Executed is the number of those that a run executed.
	Executed int `json:"executed"`
	// UnderFaults is the number of those that runs executed only after their first fault: a lost, repeated or forged
	// message, a crash, a cut link, a pause or a jump of a clock.
	UnderFaults int `json:"under_faults"`
}

// add counts a block.
func (c *Count) add(b *Block, s State) {
	c.Statements += b.Statements
	if s != Never {
		c.Executed += b.Statements
	}
	if s == UnderFaults {
		c.UnderFaults += b.Statements
	}
}

// Report is what a campaign executed.
type Report struct {
	// Runs is the number of measured runs.
	Runs int `json:"runs"`
	// Total counts all statements.
	Total Count `json:"total"`
	// Packages counts the statements of each package, in the order of their import paths.
	Packages []Count `json:"packages"`
}

// State is the state of the block with the given number.
func (m *Meter) State(block int) State {
	switch e := &m.sum.Executed; {
	case e.Has(featureOf(block, false)):
		return WithoutFaults
	case e.Has(featureOf(block, true)):
		return UnderFaults
	default:
		return Never
	}
}

// Report summarizes the measurement.
func (m *Meter) Report() *Report {
	r := &Report{Runs: m.sum.Executed.Runs(), Packages: make([]Count, len(m.blocks.Packages))}
	for i, path := range m.blocks.Packages {
		r.Packages[i].Package = path
	}
	for i := range m.blocks.List {
		s := m.State(i)
		r.Packages[m.blocks.of[i]].add(&m.blocks.List[i], s)
		r.Total.add(&m.blocks.List[i], s)
	}
	r.Packages = slices.DeleteFunc(r.Packages, func(c Count) bool { return c.Statements == 0 })
	return r
}

// NextRun estimates the probability that the next run executes a statement that no run executed.
func (m *Meter) NextRun() novelty.Estimate {
	blocks := m.sum.Executed.Mapped(func(feature uint64) uint64 { return feature >> 1 })
	e := blocks.Estimate()
	e.Criterion = "a statement"
	return e
}

// Profile writes the measurement as a cover profile of Go, which go tool cover reads.
func (m *Meter) Profile(w io.Writer) error {
	out := bufio.NewWriter(w)
	_, _ = fmt.Fprintln(out, "mode: set") // Flush reports the error
	for _, i := range m.inOrder() {
		b := &m.blocks.List[i]
		executed := 0
		if m.State(i) != Never {
			executed = 1
		}
		_, _ = fmt.Fprintf(out, "%s:%d.%d,%d.%d %d %d\n",
			b.File, b.StartLine, b.StartColumn, b.EndLine, b.EndColumn, b.Statements, executed)
	}
	return out.Flush()
}

// inOrder lists the numbers of the blocks in the order of files and positions.
func (m *Meter) inOrder() []int {
	order := make([]int, len(m.blocks.List))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := &m.blocks.List[i], &m.blocks.List[j]
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.StartLine, b.StartLine),
			cmp.Compare(a.StartColumn, b.StartColumn), cmp.Compare(a.EndLine, b.EndLine),
			cmp.Compare(a.EndColumn, b.EndColumn))
	})
	return order
}

// File is a source file with the states of its blocks.
type File struct {
	Name   string // import path of its package and its name
	Count  Count
	Blocks []Block // in the order of their positions
	States []State // of the blocks
}

// Files lists the source files by name.
func (m *Meter) Files() []File {
	var files []File
	for _, i := range m.inOrder() {
		b := &m.blocks.List[i]
		if n := len(files); n == 0 || files[n-1].Name != b.File {
			files = append(files, File{Name: b.File, Count: Count{Package: m.blocks.Packages[m.blocks.of[i]]}})
		}
		f, s := &files[len(files)-1], m.State(i)
		f.Blocks, f.States = append(f.Blocks, *b), append(f.States, s)
		f.Count.add(b, s)
	}
	return files
}
