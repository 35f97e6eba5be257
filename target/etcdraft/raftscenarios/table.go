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
	"github.com/lockstep-go/lockstep/compare"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/trace"
)

//go:embed scenarios.go
var source string

// Row is a line of the table: the results of a case's campaigns.
type Row struct {
	Case
	Ours      Size
	Runs      int
	Successes int      // with our filters
	Plain     int      // successes with the published filters only
	Control   int      // successes without faults and steering
	Share     float64  // of the scenario's steps among all steps, with our filters
	Vacuous   int      // vacuous runs, with our filters
	Never     []string // parts of the scenario that never took effect
	Findings  int      // runs with an unexpected finding, of all three campaigns
	Finding   string   // the first of them
	Reasons   map[string]int
	// NotRepeated says why runs of any of the campaigns differed when they were repeated.
	NotRepeated []string
}

// Holds reports whether the case is not known to do worse than published, no part of it is vacuous, all runs repeat,
// and there are no unexpected findings. Both rates are samples, the published one of 100 iterations. The case does
// worse if its whole exact interval lies below the published one.
func (r *Row) Holds() bool {
	ours, published := compare.Share(r.Successes, r.Runs, 0.95), compare.Share(r.Outcome, 100, 0.95)
	return ours.High >= published.Low && len(r.Never) == 0 && r.Findings == 0 && len(r.Reasons) == 0 &&
		len(r.NotRepeated) == 0
}

// Measure runs the campaigns of a case: with our filters, with the published filters only, and the control.
func (c Case) Measure(ctx context.Context, v Version, s lockstep.Strategy, runs int, seed uint64) (*Row, error) {
	r := &Row{Case: c, Reasons: map[string]int{}}
	result, err := r.explore(ctx, c.Plan(v, s, runs, seed))
	if err != nil {
		return nil, err
	}
	r.Runs, r.Successes, r.Share, r.Vacuous = result.Runs, c.Successes(result), scenario.Share(result),
		result.Verdicts[trace.Vacuous]
	for _, e := range result.Effects {
		if e.N == 0 && !e.Optional {
			r.Never = append(r.Never, e.Name)
		}
	}
	r.Ours.Filters, r.Ours.States = c.Build(true).Size()
	r.Ours.Lines = lines(c.Name)
	for _, other := range []struct {
		scenario *scenario.Scenario
		to       *int
	}{{c.Build(false), &r.Plain}, {c.Build(true).ControlGroup(), &r.Control}} {
		plan := c.Plan(v, s, runs, seed)
		plan.Scenario = other.scenario
		if result, err = r.explore(ctx, plan); err != nil {
			return nil, err
		}
		*other.to = c.Successes(result)
	}
	return r, nil
}

// explore runs one of the campaigns, and records its unexpected findings.
func (r *Row) explore(ctx context.Context, plan lockstep.Plan) (*lockstep.Result, error) {
	result, err := lockstep.Explore(ctx, plan)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	if result.Interrupted { // an incomplete campaign would look like a rate
		return nil, fmt.Errorf("%s: %w", r.Name, ctx.Err())
	}
	for _, reason := range slices.Sorted(maps.Keys(result.Reasons)) {
		r.Reasons[reason] += result.Reasons[reason]
	}
	for _, p := range result.RepetitionProblems() {
		r.NotRepeated = append(r.NotRepeated, p.Text)
	}
	if f := result.First(); f != nil && !r.Violation {
		r.Findings += result.Verdicts[trace.Fail]
		r.Finding = f.Finding.String()
	}
	return result, nil
}

// lines counts the lines of the function that builds a scenario, including those of the helpers that only few
// scenarios use.
func lines(name string) int {
	functions := map[string]string{
		"ConfChangeBug": "ConfChange ConfChangeOn",
		"ReVote":        "ReVote fourVotes",
		"ManyReVote":    "ManyReVote fourVotes",
		"Liveness":      "Liveness changes",
		"LivenessNoCQ":  "LivenessNoCQ changes",
	}
	wanted, ok := functions[name]
	if !ok {
		wanted = name
	}
	n := 0
	for _, text := range []string{source, raft.ScenarioSource} {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, "", text, 0)
		if err != nil { // the embedded source has been compiled
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

// Find returns the cases of these names, in the order of the paper; without names it returns all cases.
func Find(names ...string) ([]Case, error) {
	var all, known []string
	var found []Case
	for _, c := range Cases {
		all = append(all, c.Name)
		if len(names) == 0 || slices.Contains(names, c.Name) {
			found, known = append(found, c), append(known, c.Name)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown scenario %q: one of %s", name, strings.Join(all, ", "))
		}
	}
	return found, nil
}

// Table measures cases on a version and writes a line for each, with the published figures beside ours. The clock, in
// seconds, is used only for the iterations per second. Table reports whether every case holds.
func Table(ctx context.Context, out io.Writer, cases []Case, v Version, s lockstep.Strategy, runs int, seed uint64,
	clock func() float64) (bool, error) {
	fmt.Fprintf(out, "etcd's raft %s, %d iterations each with %s, seed %d\n\n", v.Name, runs, s, seed)
	fmt.Fprintf(out, "%-14s  %9s  %9s  %9s  %7s  %8s  %9s  %9s  %9s  %7s\n", "scenario", "published",
		"plain", "ours", "control", "guided", "filters", "states", "lines", "vacuous")
	all, begin := true, clock()
	for _, c := range cases {
		r, err := c.Measure(ctx, v, s, runs, seed)
		if err != nil {
			return false, err
		}
		r.write(out)
		all = all && r.Holds()
	}
	seconds, total := clock()-begin, 3*runs*len(cases)
	fmt.Fprintf(out, "\n%d iterations in %.1f s, %.0f iterations/s\n", total, seconds, float64(total)/seconds)
	return all, nil
}

// write writes the line, followed by its problems.
func (r *Row) write(out io.Writer) {
	percent := func(n int) string { return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(r.Runs)) }
	beside := func(published, ours int) string { return fmt.Sprintf("%d/%d", published, ours) }
	fmt.Fprintf(out, "%-14s  %8d%%  %9s  %9s  %7s  %7.1f%%  %9s  %9s  %9s  %7d\n", r.Name, r.Outcome, percent(r.Plain),
		percent(r.Successes), percent(r.Control), 100*r.Share, beside(r.Published.Filters, r.Ours.Filters),
		beside(r.Published.States, r.Ours.States), beside(r.Published.Lines, r.Ours.Lines), r.Vacuous)
	for _, part := range r.Never {
		fmt.Fprintf(out, "    never: %s\n", part)
	}
	if r.Findings > 0 {
		fmt.Fprintf(out, "    %d findings, the first: %s\n", r.Findings, r.Finding)
	}
	for _, why := range r.NotRepeated {
		fmt.Fprintf(out, "    not repeated: %s\n", why)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Reasons)) {
		fmt.Fprintf(out, "    %d unknown: %s\n", r.Reasons[reason], reason)
	}
}

// Ablations shows for each scenario which of its filters the strategy can do without, like the paper's Table 4, whose
// line stands above ours.
func Ablations(ctx context.Context, out io.Writer, cases []Case, v Version, s lockstep.Strategy, runs int,
	seed uint64) error {
	for _, c := range cases {
		a, err := scenario.Ablate(ctx, c.Plan(v, s, runs, seed), c.Successes)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		if c.Distances != "" {
			fmt.Fprintf(out, "published: without a filter of distance %s, %s of 1000 succeed\n", c.Distances, c.Ablated)
		}
		fmt.Fprintf(out, "%s\n", a)
	}
	return nil
}

// Minima removes filters of each scenario while nine in ten of its successes remain.
func Minima(ctx context.Context, out io.Writer, cases []Case, v Version, s lockstep.Strategy, runs int,
	seed uint64) error {
	for _, c := range cases {
		m, err := scenario.Minimize(ctx, c.Plan(v, s, runs, seed), 0.9, c.Successes)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		fmt.Fprintln(out, m)
	}
	return nil
}
