package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/system"
	examples "github.com/lockstep-go/lockstep/examples/distal"
	"github.com/lockstep-go/lockstep/strategy"
)

// distalTableCmd reproduces Table 1 of the sequentialization paper.
type distalTableCmd struct {
	Seeds int    `default:"10" placeholder:"N" help:"Searches of each kind, with one seed after the other (${default})."`
	Runs  int    `default:"2000" placeholder:"N" help:"Most runs of each random search (${default})."`
	Seed  uint64 `default:"1" placeholder:"X" help:"The first seed (${default})."`
	Only  string `placeholder:"NAME" help:"Only this example."`
	JSON  bool   `name:"json" help:"Print one JSON object."`
}

// Help returns the longer help.
func (distalTableCmd) Help() string {
	return "Each buggy protocol under the network it needs, and each that is right under a weaker one: runs and " +
		"time to\n" +
		"the first violation, message by message under what the paper calls R (messages are reordered), D (delayed\n" +
		"beyond their round), T (nodes time out) and MD (messages are dropped), then in random runs of the sequential\n" +
		"program, and states and time of its exhaustive search. Then each correct protocol with the bound to which\n" +
		"it was searched, and what a proof about asynchronous runs lacks. A figure is the mean over the searches, one " +
		"for each seed: all runs by those that end with a\n" +
		"violation, so that a search that gives up counts, too; how many found it is said if not all did.\n\n" +
		"Example:\n  lockstep paper distal --seeds 100"
}

// environment is the fault model of an asynchronous run, in the letters of the paper.
type environment struct {
	name, letters string
	strategy      func(lockstep.Info) lockstep.Strategy
}

// walk takes steps in any order, which delays messages without bound. With fifty steps for each node, three phases
// succeed if there are no faults.
func walk(deliver, drop, timer int) func(lockstep.Info) lockstep.Strategy {
	return func(info lockstep.Info) lockstep.Strategy {
		return strategy.Walk{Deliver: deliver, Drop: drop, Timer: timer, Steps: 50 * info.Nodes}
	}
}

// lossy passes through five phases round by round: a message arrives in its round or not at all.
func lossy(info lockstep.Info) lockstep.Strategy {
	return strategy.Lossy{Rounds: 5 * len(info.Rounds), Loss: 0.2}
}

// environments are the columns. In the paper's models the network loses every other message, and a timer fires with
// probability 1/2. Under these fair coins hardly any phase succeeds. The other environments favor delivery.
var environments = []environment{
	{"reliable", "R,D", walk(1, 0, 0)},
	{"drops", "R,D,MD", walk(10, 1, 0)},
	{"time-outs", "R,D,T", walk(10, 0, 1)},
	{"both", "R,D,T,MD", walk(10, 1, 1)},
	{"fair coins", "R,D,T,MD", walk(1, 1, 1)},
	{"no delay", "T,MD", lossy},
}

// longRun is the length of a random run of the sequential program in phases. Like a run of the program itself, it is
// longer than the shortest path to a violation.
const longRun = 10

// deliveries are the probabilities that a message arrives in random runs of the sequential program, if the network may
// lose it. The second is that of the paper's models.
var deliveries = []float64{0.8, 0.5}

// protocolCase is a row of the table: an example, one of its tests, and the figures of the paper.
type protocolCase struct {
	Example, Test string
	everything    bool   // every environment keeps the network assumption; otherwise only the reliable one does
	async, seq    string // seconds to the bug in Table 1; † is more than an hour
}

// buggyCases are the rows of the paper's Table 1 in its order, then other protocols.
var buggyCases = []protocolCase{
	{"paxos_buggy", "small", true, "†", "0.53"},
	{"benor_buggy", "three", false, "-", "30.97"},
	{"benor_buggy", "five", false, "15.04", "-"},
	{"benortwoquorums_buggy", "three", false, "-", "9.12"},
	{"raft_buggy", "split", true, "†", "158.44"},
	{"viewchange_buggy", "both", true, "22.02", "0.21"},
	{"benor_fixed", "weak", true, "†", "0.19"},
	{"uniformvoting_buggy", "three", true, "18.22", "33.74"},
	{"twophase_buggy", "lossy", true, "", ""},
	{"threephase_buggy", "crash", false, "", ""},
	{"threephase_fixed", "partition", true, "", ""},
	{"lastvoting_buggy", "three", true, "", ""},
	{"chandratoueg_buggy", "three", true, "", ""},
	{"onethird_buggy", "three", true, "", ""},
	{"fastpaxos_buggy", "three", true, "", ""},
}

// correctCases are searched to a bound. A random search of them would prove nothing.
var correctCases = []protocolCase{
	{
		Example: "paxos_fixed",
		Test:    "six",
	}, {Example: "raft_fixed", Test: "split"}, {Example: "benor_fixed", Test: "three"},
	{
		Example: "benor_fixed",
		Test:    "five",
	}, {Example: "benortwoquorums_fixed", Test: "three"}, {Example: "viewchange_fixed", Test: "three"},
	{
		Example: "uniformvoting_fixed",
		Test:    "three",
	}, {Example: "twophase_fixed", Test: "lossy"}, {Example: "threephase_fixed", Test: "crash"},
	{
		Example: "lastvoting_fixed",
		Test:    "three",
	}, {Example: "chandratoueg_fixed", Test: "three"}, {Example: "onethird_fixed", Test: "four"},
	{Example: "fastpaxos_fixed", Test: "four"},
}

// protocolRow is the result of the searches of one case.
type protocolRow struct {
	Protocol   string    `json:"protocol"`
	Test       string    `json:"test"`
	Network    string    `json:"network"`
	PaperAsync string    `json:"paper_asynchronous_s,omitempty"`
	PaperSeq   string    `json:"paper_sequential_s,omitempty"`
	Async      []attempt `json:"asynchronous,omitempty"`
	Sampled    []attempt `json:"sequential_random,omitempty"`
	States     int64     `json:"states"`
	Millis     float64   `json:"exhaustive_ms"`
	Verdict    string    `json:"verdict"`
	// Bound is the phase of the violation, or the phases searched and whether they are proved.
	Bound string `json:"bound"`
}

// attempt summarizes searches that differ only in their seeds.
type attempt struct {
	Environment string  `json:"environment,omitempty"`
	Strategy    string  `json:"strategy,omitempty"` // "" if it would leave the network assumption
	Searches    int     `json:"searches"`
	Found       int     `json:"found"` // searches that ended with a violation
	Runs        int     `json:"runs"`  // of all searches
	Millis      float64 `json:"ms"`    // of all searches
}

// add counts one search.
func (a *attempt) add(runs int, found bool, start time.Time) {
	a.Searches++
	a.Runs += runs
	a.Millis += millis(start)
	if found {
		a.Found++
	}
}

// String formats the mean. Runs are independent. Therefore the runs of all searches, divided by the violations among
// them, estimate the mean even if some searches gave up.
func (a attempt) String() string {
	switch {
	case a.Searches == 0:
		return "-"
	case a.Found == 0:
		return fmt.Sprintf("none in %d", a.Runs)
	}
	text := fmt.Sprintf("%.0f (%.0f ms)", float64(a.Runs)/float64(a.Found), a.Millis/float64(a.Found))
	if a.Found < a.Searches {
		text += fmt.Sprintf(" %d/%d", a.Found, a.Searches)
	}
	return text
}

// protocolTable is the command's whole result.
type protocolTable struct {
	Seeds       int           `json:"seeds"`
	Runs        int           `json:"runs"`
	Seed        uint64        `json:"seed"`
	Buggy       []protocolRow `json:"buggy"`
	Correct     []protocolRow `json:"correct"`
	Interrupted bool          `json:"interrupted"`
}

// Run prints the table. After an interrupt the table has the protocols searched until then.
func (d *distalTableCmd) Run(e *cli.Env) error {
	if d.Runs < 1 || d.Seeds < 1 {
		return fmt.Errorf("--runs is %d and --seeds is %d, it must be at least 1", d.Runs, d.Seeds)
	}
	if d.Only != "" && !slices.Contains(examples.Names(), d.Only) {
		_, err := examples.Source(d.Only)
		return err
	}
	table := protocolTable{Seeds: d.Seeds, Runs: d.Runs, Seed: d.Seed}
	err := d.fill(e.Ctx, &table)
	if table.Interrupted = e.Interrupted(); err != nil && !table.Interrupted {
		return err
	}
	if d.JSON {
		return e.JSON(table)
	}
	err = table.write(e.Out)
	e.Partial("protocols searched")
	return err
}

// fill makes the rows.
func (d *distalTableCmd) fill(ctx context.Context, table *protocolTable) error {
	for _, p := range buggyCases {
		if err := d.add(ctx, p, &table.Buggy, d.random); err != nil {
			return err
		}
	}
	for _, p := range correctCases {
		if err := d.add(ctx, p, &table.Correct, nil); err != nil {
			return err
		}
	}
	return nil
}

// going lets a search continue until the context ends.
func going(ctx context.Context) func(explore.Progress) bool {
	return func(explore.Progress) bool { return ctx.Err() == nil }
}

// add makes the row of a case: first with the random searches, if any, then with the exhaustive one.
func (d *distalTableCmd) add(ctx context.Context, p protocolCase, rows *[]protocolRow,
	random func(context.Context, protocolCase, string, *protocolRow) error) error {
	if d.Only != "" && d.Only != p.Example {
		return nil
	}
	row := protocolRow{Protocol: p.Example, Test: p.Test, PaperAsync: p.async, PaperSeq: p.seq}
	text, err := examples.Source(p.Example)
	if err == nil && random != nil {
		err = random(ctx, p, text, &row)
	}
	if err == nil {
		err = row.exhaust(ctx, text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.Example, err)
	}
	*rows = append(*rows, row)
	return nil
}

// random makes the searches with a seed.
func (d *distalTableCmd) random(ctx context.Context, p protocolCase, text string, row *protocolRow) error {
	program := system.FromSource(text, p.Test)
	info, err := program.Describe()
	if err != nil {
		return err
	}
	for i, e := range environments {
		a := attempt{Environment: e.name}
		if i == 0 || p.everything {
			s := e.strategy(info)
			a.Strategy = s.String()
			plan := lockstep.Plan{System: program, Strategy: s, Spec: system.Properties, Runs: d.Runs}
			if err := d.asynchronous(ctx, plan, &a); err != nil {
				return err
			}
		}
		row.Async = append(row.Async, a)
	}
	for _, chance := range deliveries {
		a := attempt{Environment: fmt.Sprintf("arrival %.1f", chance)}
		if err := d.sample(ctx, distal.Options{Test: p.Test, Phases: longRun}, text, chance, &a); err != nil {
			return err
		}
		row.Sampled = append(row.Sampled, a)
	}
	return nil
}

func (d *distalTableCmd) asynchronous(ctx context.Context, plan lockstep.Plan, a *attempt) error {
	for i := range d.Seeds {
		plan.Seed = d.Seed + uint64(i)
		start := time.Now()
		result, err := lockstep.Explore(ctx, plan)
		if err != nil {
			return err
		}
		a.add(result.Runs, result.First() != nil, start)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// sample makes random runs of the sequential program, on the network of the exhaustive search: a node's messages to
// itself can get lost like others.
func (d *distalTableCmd) sample(ctx context.Context, options distal.Options, text string, deliver float64,
	a *attempt) error {
	for i := range d.Seeds {
		start := time.Now()
		r, remarks := distal.Explore(text, distal.ExploreOptions{Options: options, Progress: going(ctx),
			Random: &explore.RandomOptions{Runs: d.Runs, Seed: d.Seed + uint64(i), Deliver: deliver}})
		if r.Random == nil {
			return remarks
		}
		a.add(r.Random.Runs, r.Random.Violations > 0, start)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// exhaust searches the whole sequential program.
func (p *protocolRow) exhaust(ctx context.Context, text string) error {
	start := time.Now()
	all, remarks := distal.Explore(text,
		distal.ExploreOptions{Options: distal.Options{Test: p.Test}, Progress: going(ctx)})
	if all.Verdict == "" {
		return remarks
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	p.Network, p.Millis, p.States, p.Verdict = all.Network, millis(start), all.States, all.Verdict
	p.Bound = all.Bound()
	if v := all.Violation; v != nil {
		p.Bound = fmt.Sprintf("phase %d, round %d", v.Phase, v.Round)
	}
	return nil
}

func millis(start time.Time) float64 { return float64(time.Since(start).Microseconds()) / 1000 }

func (p protocolTable) write(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(p.Buggy) > 0 {
		fmt.Fprintf(
			tab,
			"Runs and time to the first violation, means over %d seeds from %d\n\nmessage by message\tnetwork\tpaper, s\t",
			p.Seeds,
			p.Seed,
		)
		for _, e := range environments {
			fmt.Fprintf(tab, "%s %s\t", e.name, e.letters)
		}
		fmt.Fprintln(tab)
		for _, r := range p.Buggy {
			fmt.Fprintf(tab, "%s %s\t%s\t%s\t", r.Protocol, r.Test, r.Network, r.PaperAsync)
			for _, a := range r.Async {
				fmt.Fprintf(tab, "%v\t", a)
			}
			fmt.Fprintln(tab)
		}
		fmt.Fprint(tab, "\nsequential\tnetwork\tpaper, s\t")
		for _, chance := range deliveries {
			fmt.Fprintf(tab, "random, %.1f arrive\t", chance)
		}
		fmt.Fprintln(tab, "all: states\ttime\tviolated in")
		for _, r := range p.Buggy {
			fmt.Fprintf(tab, "%s %s\t%s\t%s\t", r.Protocol, r.Test, r.Network, r.PaperSeq)
			for _, a := range r.Sampled {
				fmt.Fprintf(tab, "%v\t", a)
			}
			fmt.Fprintf(tab, "%d\t%.0f ms\t%s\n", r.States, r.Millis, r.Bound)
		}
	}
	if len(p.Correct) > 0 {
		fmt.Fprintln(tab, "\ncorrect\tnetwork\tall: states\ttime\tresult")
	}
	for _, r := range p.Correct {
		fmt.Fprintf(tab, "%s %s\t%s\t%d\t%.0f ms\t%s\n", r.Protocol, r.Test, r.Network, r.States, r.Millis, r.Bound)
	}
	return tab.Flush()
}
