package published

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/exact"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/trace"
)

// Case is a scenario of Table 3 of the Netrix paper with its published results.
type Case struct {
	Name, Help string
	// Starred marks the tests with which the paper reports new bugs.
	Starred bool
	// Build makes the scenario, with the published filters only or with ours.
	Build func(ours bool) *scenario.Scenario
	// Filters, States and Lines are the published size, Published the number of successes in 100 iterations.
	Filters, States, Lines, Published int
	// Distances and Ablated are the entries of Table 4: the distances of the filters, and the successes in 1,000
	// iterations without one. They are empty if that table lacks the scenario.
	Distances, Ablated string
}

// Table measures cases again.
type Table struct {
	// Title says what is measured: the system with its version.
	Title string
	Cases []Case
	// Plan is the campaign of a scenario.
	Plan func(sc *scenario.Scenario, runs int, seed uint64) lockstep.Plan
	// Source is the text of the file with the functions that build the scenarios. The names of the functions are those
	// of the cases. Helpers are further functions, by case, that count as part of it.
	Source  string
	Helpers map[string][]string
}

// Find returns the table with the cases of the given names, in the order of the paper; without names it returns all.
func (t Table) Find(names ...string) (Table, error) {
	if len(names) == 0 {
		return t, nil
	}
	var all, found []string
	var cases []Case
	for _, c := range t.Cases {
		all = append(all, c.Name)
		if slices.Contains(names, c.Name) {
			cases, found = append(cases, c), append(found, c.Name)
		}
	}
	for _, name := range names {
		if !slices.Contains(found, name) {
			return t, fmt.Errorf("unknown scenario %q: one of %s", name, strings.Join(all, ", "))
		}
	}
	t.Cases = cases
	return t, nil
}

// lines counts the lines of the functions that build a case.
func (t Table) lines(name string) (n int) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", t.Source, 0)
	if err != nil { // the source has been compiled
		panic(err)
	}
	wanted := append([]string{name}, t.Helpers[name]...)
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && slices.Contains(wanted, fn.Name.Name) {
			n += set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1
		}
	}
	return n
}

// Outcome is a case with the results of its three campaigns.
type Outcome struct {
	Case
	// Ours, Plain and Control are the successes: with our filters, with the published filters only, and without faults
	// and steering.
	Ours, Plain, Control Share
	OurFilters           int
	OurStates            int
	OurLines             int
	Guided               float64  // share of the scenario's steps among all steps, with our filters
	Vacuous              int      // vacuous runs, with our filters
	Never                []string // parts that never took effect, with our filters
	Reasons              map[string]int
	Finding              string
	NotRepeated          []string // why runs differed when they were repeated
}

// Share is a number of conclusive runs, and the successful ones among them.
type Share struct{ Successes, Runs int }

// String is the percentage with its exact 95 % interval.
func (s Share) String() string {
	low, high := exact.Limits(s.Successes, max(s.Runs, 1), 0.025)
	return fmt.Sprintf("%.0f%% [%.0f-%.0f]", 100*float64(s.Successes)/float64(max(s.Runs, 1)), 100*low, 100*high)
}

// Measure makes the campaigns of a case.
func (t Table) Measure(ctx context.Context, c Case, runs int, seed uint64) (*Outcome, error) {
	o := &Outcome{Case: c, OurLines: t.lines(c.Name), Reasons: map[string]int{}}
	o.OurFilters, o.OurStates = c.Build(true).Size()
	for _, part := range []struct {
		scenario *scenario.Scenario
		to       *Share
	}{{c.Build(true), &o.Ours}, {c.Build(false), &o.Plain}, {c.Build(true).ControlGroup(), &o.Control}} {
		result, err := lockstep.Explore(ctx, t.Plan(part.scenario, runs, seed))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		if result.Interrupted { // an incomplete campaign would look like a rate
			return nil, fmt.Errorf("%s: %w", c.Name, ctx.Err())
		}
		*part.to = Share{scenario.Successes(result), result.Runs - result.Verdicts[trace.Unknown]}
		for _, reason := range slices.Sorted(maps.Keys(result.Reasons)) {
			o.Reasons[reason] += result.Reasons[reason]
		}
		for _, p := range result.RepetitionProblems() {
			o.NotRepeated = append(o.NotRepeated, p.Text)
		}
		if f := result.First(); f != nil && o.Finding == "" {
			o.Finding = f.Finding.String()
		}
		if part.to != &o.Ours {
			continue
		}
		o.Guided, o.Vacuous = scenario.Share(result), result.Verdicts[trace.Vacuous]
		for _, e := range result.Effects {
			if e.N == 0 && !e.Optional {
				o.Never = append(o.Never, e.Name)
			}
		}
	}
	return o, nil
}

// Holds reports whether the case is not known to do worse than published, by the exact 95 % intervals of both rates, no
// part of it is vacuous, no run is inconclusive or differs when it is repeated, and nothing is found.
func (o *Outcome) Holds() bool {
	_, high := exact.Limits(o.Ours.Successes, max(o.Ours.Runs, 1), 0.025)
	low, _ := exact.Limits(o.Published, 100, 0.025)
	return high >= low && len(o.Never) == 0 && len(o.Reasons) == 0 && o.Finding == "" &&
		len(o.NotRepeated) == 0
}

// Write measures all cases, writes a line for each, and reports whether all hold.
func (t Table) Write(ctx context.Context, out io.Writer, runs int, seed uint64) (holds bool, err error) {
	fmt.Fprintf(out, "%s, %d iterations each with %s, seed %d\n\n", t.Title, runs,
		t.Plan(scenario.New("none"), 1, seed).Strategy, seed)
	fmt.Fprintf(out, "%-22s  %9s  %-15s  %-15s  %-15s  %7s  %7s  %7s  %8s  %7s\n", "scenario", "published", "plain",
		"ours", "control", "guided", "filters", "states", "lines", "vacuous")
	holds = true
	for _, c := range t.Cases {
		o, err := t.Measure(ctx, c, runs, seed)
		if err != nil {
			return false, err
		}
		o.write(out)
		holds = holds && o.Holds()
	}
	return holds, nil
}

// write writes the line of a case, followed by its problems.
func (o *Outcome) write(out io.Writer) {
	name := o.Name
	if o.Starred {
		name += "*"
	}
	beside := func(published, ours int) string { return fmt.Sprintf("%d/%d", published, ours) }
	fmt.Fprintf(out, "%-22s  %8d%%  %-15s  %-15s  %-15s  %6.1f%%  %7s  %7s  %8s  %7d\n", name, o.Published, o.Plain,
		o.Ours, o.Control, 100*o.Guided, beside(o.Filters, o.OurFilters), beside(o.States, o.OurStates),
		beside(o.Lines, o.OurLines), o.Vacuous)
	for _, part := range o.Never {
		fmt.Fprintf(out, "    never: %s\n", part)
	}
	for _, reason := range slices.Sorted(maps.Keys(o.Reasons)) {
		fmt.Fprintf(out, "    %d unknown: %s\n", o.Reasons[reason], reason)
	}
	for _, why := range o.NotRepeated {
		fmt.Fprintf(out, "    not repeated: %s\n", why)
	}
	if o.Finding != "" {
		fmt.Fprintf(out, "    found: %s\n", o.Finding)
	}
}

// Ablate shows for each case which of its filters the strategy can do without, below the published line of Table 4.
func (t Table) Ablate(ctx context.Context, out io.Writer, runs int, seed uint64) error {
	for _, c := range t.Cases {
		a, err := scenario.Ablate(ctx, t.Plan(c.Build(true), runs, seed), nil)
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
