package raftscenarios

import (
	"context"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target/raft"
)

//go:embed scenarios.go
var source string

// Row is a line of the table: what a campaign of a case showed.
type Row struct {
	Case
	Ours      Size
	Runs      int
	Successes int
	Vacuous   int      // vacuous runs
	Never     []string // parts of the scenario that never took effect
	Findings  int      // runs with a finding that is no success
	Finding   string   // the first of them
	Reasons   map[string]int
	Result    *lockstep.Result
}

// Holds reports whether the case does at least as well as published, with no part of it
// vacuous and nothing found that should not be.
func (r *Row) Holds() bool {
	return r.Successes*100 >= r.Outcome*r.Runs && len(r.Never) == 0 && r.Findings == 0 && len(r.Reasons) == 0
}

// Measure makes the campaign of a case.
func (c Case) Measure(ctx context.Context, s lockstep.Strategy, runs int, seed uint64) (*Row, error) {
	plan := c.Plan(s, runs, seed)
	result, err := lockstep.Explore(ctx, plan)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	if result.Interrupted { // a part of the runs would look like a rate
		return nil, fmt.Errorf("%s: %w", c.Name, ctx.Err())
	}
	r := &Row{Case: c, Runs: result.Runs, Successes: c.Successes(result), Vacuous: result.Verdicts["vacuous"],
		Reasons: result.Reasons, Result: result}
	for _, e := range result.Effects {
		if e.N == 0 && !e.Optional {
			r.Never = append(r.Never, e.Name)
		}
	}
	r.Ours.Filters, r.Ours.States = c.Build().Size()
	r.Ours.Lines = lines(c.Name)
	if !c.Violation {
		r.Findings = result.Verdicts["fail"]
		if f := result.First(); f != nil {
			r.Finding = f.Finding.String()
		}
	}
	return r, nil
}

// lines counts the lines of the function that builds a scenario, with those of the
// helpers that it alone or with few others uses.
func lines(name string) int {
	functions := map[string]string{"ConfChangeBug": "ConfChange ConfChangeOn", "Liveness": "Liveness changes", "LivenessNoCQ": "LivenessNoCQ changes"}
	wanted, ok := functions[name]
	if !ok {
		wanted = name
	}
	n := 0
	for _, text := range []string{source, raft.ScenarioSource} {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, "", text, 0)
		if err != nil { // what is embedded was compiled
			panic(err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && slices.Contains(strings.Fields(wanted), fn.Name.Name) {
				n += set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1
			}
		}
	}
	return n
}

// Table measures all cases and writes a line for each, the published figures beside
// ours. The clock, in seconds, is for the iterations per second alone. It reports whether
// every case holds.
func Table(ctx context.Context, out io.Writer, s lockstep.Strategy, runs int, seed uint64, clock func() float64) (bool, error) {
	fmt.Fprintf(out, "%d iterations each with %s, seed %d\n\n", runs, s, seed)
	fmt.Fprintf(out, "%-14s  %9s  %9s  %7s  %9s  %7s  %9s  %7s  %9s  %8s  %12s\n", "scenario", "success", "published",
		"filters", "published", "states", "published", "lines", "published", "vacuous", "iterations/s")
	all, total := true, 0
	begin := clock()
	for _, c := range Cases {
		start := clock()
		r, err := c.Measure(ctx, s, runs, seed)
		if err != nil {
			return false, err
		}
		total += r.Runs
		fmt.Fprintf(out, "%-14s  %8.1f%%  %8d%%  %7d  %9d  %7d  %9d  %7d  %9d  %8d  %12.0f\n", r.Name,
			100*float64(r.Successes)/float64(r.Runs), r.Outcome, r.Ours.Filters, r.Published.Filters,
			r.Ours.States, r.Published.States, r.Ours.Lines, r.Published.Lines, r.Vacuous, float64(r.Runs)/(clock()-start))
		for _, part := range r.Never {
			fmt.Fprintf(out, "    never: %s\n", part)
		}
		if r.Findings > 0 {
			fmt.Fprintf(out, "    %d findings, the first: %s\n", r.Findings, r.Finding)
		}
		for _, reason := range slices.Sorted(maps.Keys(r.Reasons)) {
			fmt.Fprintf(out, "    %d unknown: %s\n", r.Reasons[reason], reason)
		}
		all = all && r.Holds()
	}
	seconds := clock() - begin
	fmt.Fprintf(out, "\n%d iterations in %.1f s, %.0f iterations/s\n", total, seconds, float64(total)/seconds)
	return all, nil
}

// Ablations tells, for each scenario on etcd's raft, which of its filters the strategy
// could do without, as the paper's Table 4 does. A run has at most the given number of
// steps, so that those without success end.
func Ablations(ctx context.Context, out io.Writer, s lockstep.Strategy, runs, steps int, seed uint64) error {
	for _, c := range Cases {
		if c.Violation {
			continue
		}
		plan := c.Plan(s, runs, seed)
		plan.Steps = steps
		a, err := scenario.Ablate(ctx, plan)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		fmt.Fprintf(out, "%s\n", a)
	}
	return nil
}
