package main

import (
	"context"
	"fmt"
	"io"
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

// distalTableCmd makes Table 1 of the sequentialisation paper again.
type distalTableCmd struct {
	Runs int    `default:"20000" placeholder:"N" help:"Most runs of each random search (${default})."`
	Seed uint64 `default:"1" placeholder:"X" help:"Seed of the random searches (${default})."`
	JSON bool   `name:"json" help:"Print one JSON object."`
}

// Help is the longer help.
func (distalTableCmd) Help() string {
	return "Each protocol under the network it needs and under a weaker one: runs and time to the first violation for\n" +
		"asynchronous strategies and for random runs of the sequential program, states and time for the exhaustive search,\n" +
		"and for a correct program the bound to which it is proved.\n\nExample:\n  lockstep paper distal --runs 5000"
}

// protocolCase is a row of the table: an example, one of its tests, and how it can run
// asynchronously without leaving its network assumption.
type protocolCase struct {
	Example, Test, Network string
	async                  asyncNetwork
}

// asyncNetwork says what an asynchronous run may do.
type asyncNetwork int

const (
	anything asyncNetwork = iota // messages get lost, time-outs fire
	lossless                     // only the order of delivery is free
	never                        // message by message the assumption cannot be kept
)

// protocolCases are the protocols of the paper's Table 1 and two more, each with its bug under the
// network it needs, corrected, and under a weaker network where that alone is the bug.
var protocolCases = []protocolCase{
	{"paxos_buggy", "small", "any", anything},
	{"paxos_fixed", "six", "any", anything},
	{"raft_buggy", "split", "any", anything},
	{"raft_fixed", "split", "any", anything},
	{"benor_buggy", "three", "atleast(n - f)", lossless},
	{"benor_fixed", "three", "atleast(n - f)", lossless},
	{"benor_fixed", "weak", "any", anything},
	{"uniformvoting_buggy", "three", "any", anything},
	{"uniformvoting_fixed", "three", "kernel", never},
	{"viewchange_buggy", "both", "any", anything},
	{"viewchange_fixed", "three", "any", anything},
	{"twophase_buggy", "lossy", "any", anything},
	{"twophase_buggy", "lossless", "reliable", lossless},
	{"twophase_fixed", "lossy", "any", anything},
}

// protocolTable is the JSON of the table.
type protocolTable struct {
	Protocols   []protocolRow `json:"protocols"`
	Interrupted bool          `json:"interrupted"`
}

// protocolRow is what the searches of one case came to.
type protocolRow struct {
	Protocol string    `json:"protocol"`
	Test     string    `json:"test"`
	Network  string    `json:"network"`
	Searches []attempt `json:"asynchronous"`
	Sampled  attempt   `json:"sequential_random"`
	States   int64     `json:"states"`
	Millis   float64   `json:"exhaustive_ms"`
	Verdict  string    `json:"verdict"`
	Bound    string    `json:"bound"` // the phase of the violation, or the phases proved
}

// search is an asynchronous search in words, or a dash where it would leave the network
// assumption.
func (r protocolRow) search(i int) string {
	if i >= len(r.Searches) {
		return "-"
	}
	return r.Searches[i].String()
}

// attempt is one random search.
type attempt struct {
	Strategy string  `json:"strategy"`
	Runs     int     `json:"runs"`
	Found    bool    `json:"found"`
	Millis   float64 `json:"ms"`
}

func (a attempt) String() string {
	if !a.Found {
		return fmt.Sprintf("none in %d", a.Runs)
	}
	return fmt.Sprintf("%d (%.0f ms)", a.Runs, a.Millis)
}

// asynchronous are the strategies that run on the programs as they are written, with
// weights that favour delivery: with equal ones hardly any phase succeeds. Where nothing
// may get lost and no time-out fire, only a walk that delivers is left.
func asynchronous(network asyncNetwork, rounds int) ([]lockstep.Strategy, error) {
	switch network {
	case anything:
		pctcp, err := strategy.Parse("pctcp")
		return []lockstep.Strategy{strategy.Walk{Deliver: 10, Drop: 1, Alarm: 1, Steps: 150}, pctcp,
			strategy.Uniform{Period: rounds, Isolations: 5, Rounds: 5 * rounds}}, err
	case lossless:
		return []lockstep.Strategy{strategy.Walk{Deliver: 1, Steps: 150}}, nil
	default:
		return nil, nil
	}
}

// Run makes the table.
func (c *distalTableCmd) Run(e *cli.Env) error {
	if c.Runs < 1 {
		return fmt.Errorf("--runs is %d, allowed is 1 and more", c.Runs)
	}
	var rows []protocolRow
	for _, p := range protocolCases {
		row, err := c.row(e.Ctx, p)
		if e.Interrupted() { // the rows made until then
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.Example, err)
		}
		rows = append(rows, row)
	}
	if c.JSON {
		return e.JSON(protocolTable{rows, e.Interrupted()})
	}
	err := writeProtocols(e.Out, rows)
	if e.Interrupted() {
		fmt.Fprintln(e.Out, "interrupted: these are the protocols searched until then")
	}
	return err
}

func (c *distalTableCmd) row(ctx context.Context, p protocolCase) (protocolRow, error) {
	row := protocolRow{Protocol: p.Example, Test: p.Test, Network: p.Network}
	text, err := examples.Source(p.Example)
	if err != nil {
		return row, err
	}
	program := system.FromSource(text, p.Test)
	info, err := program.Describe()
	if err != nil {
		return row, err
	}
	strategies, err := asynchronous(p.async, len(info.Rounds))
	if err != nil {
		return row, err
	}
	for _, s := range strategies {
		start := time.Now()
		result, err := lockstep.Explore(ctx, lockstep.Plan{System: program, Strategy: s, Spec: system.Properties, Seed: c.Seed, Runs: c.Runs, Steps: 150})
		if err != nil {
			return row, err
		}
		row.Searches = append(row.Searches, attempt{s.String(), result.Runs, result.First() != nil, millis(start)})
	}
	options := distal.Options{Test: p.Test, Network: p.Network}
	for _, deliver := range []float64{0.8, 0.5} { // few losses suit long protocols, many short ones
		start := time.Now()
		sampled, remarks := distal.Explore(text, distal.ExploreOptions{Options: options, Progress: going(ctx),
			Random: &explore.RandomOptions{Runs: c.Runs, Seed: c.Seed, Deliver: deliver}})
		if sampled.Random == nil {
			return row, remarks
		}
		row.Sampled = attempt{fmt.Sprintf("random, delivery %.1f", deliver), sampled.Random.Runs, sampled.Random.Violations > 0, millis(start)}
		if row.Sampled.Found {
			break
		}
	}
	start := time.Now()
	all, remarks := distal.Explore(text, distal.ExploreOptions{Options: options, Progress: going(ctx)})
	if all.Verdict == "" {
		return row, remarks
	}
	row.Millis, row.States, row.Verdict = millis(start), all.States, all.Verdict
	row.Bound = fmt.Sprintf("%d phases proved", all.PhasesComplete)
	if v := all.Violation; v != nil {
		row.Bound = fmt.Sprintf("violated in phase %d, round %d", v.Phase, v.Round)
	}
	return row, nil
}

// going lets a search go on until the context ends.
func going(ctx context.Context) func(explore.Progress) bool {
	return func(explore.Progress) bool { return ctx.Err() == nil }
}

func millis(start time.Time) float64 { return float64(time.Since(start).Microseconds()) / 1000 }

func writeProtocols(w io.Writer, rows []protocolRow) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "protocol\tnetwork\tasync walk\tasync pctcp\tasync uniform\tseq random\tseq all: states\ttime\tresult")
	for _, r := range rows {
		fmt.Fprintf(t, "%s %s\t%s\t%v\t%v\t%v\t%v\t%d\t%.0f ms\t%s\n", r.Protocol, r.Test, r.Network,
			r.search(0), r.search(1), r.search(2), r.Sampled, r.States, r.Millis, r.Bound)
	}
	return t.Flush()
}
