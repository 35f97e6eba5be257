package bftscenarios

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/tendermint"
	"github.com/lockstep-go/lockstep/trace"
)

// Case is one of the fifteen scenarios with its published results.
type Case struct {
	Name, Help string
	// Build makes the scenario, with the published filters only or with ours.
	Build func(ours bool) *Scenario
	// Filters and States are the published size, Outcome the published number of successes in 100 iterations.
	Filters, States, Outcome int
}

// Cases are the fifteen scenarios in the order of Table 3.
var Cases = []Case{
	{"ExpectUnlock", "a polka for nil unlocks, or not", ExpectUnlock, 3, 5, 41},
	{"Relocked", "a polka for another block lets a validator lock that", Relocked, 4, 5, 53},
	{"LockedCommit", "a bad proposal does not keep a locked block from being decided", LockedCommit, 3, 5, 100},
	{"LaggingReplica", "a validator that is ten rounds behind catches up", LaggingReplica, 3, 4, 100},
	{"ForeverLaggingReplica", "a validator stays two rounds behind for five rounds", ForeverLaggingReplica, 5, 5, 100},
	{"RoundSkip", "prevotes of an old round arrive in round 2", RoundSkip, 3, 4, 90},
	{"BlockVotes", "without 2f+1 prevotes no validator leaves its round", BlockVotes, 2, 3, 33},
	{"PrecommitInvariant", "no validator precommits a block that no validator received", PrecommitInvariant, 1, 3, 100},
	{"CommitAfterRoundSkip", "late votes of round 0 let its block be decided", CommitAfterRoundSkip, 3, 3, 36},
	{"DifferentDecisions", "one validator is to decide another block", DifferentDecisions, 8, 3, 20},
	{"NilPrevotes", "a polka for nil makes a validator precommit nil", NilPrevotes, 2, 3, 99},
	{"ProposalNilPrevote", "without a proposal a validator prevotes nil", ProposalNilPrevote, 1, 3, 56},
	{"NotNilDecide", "no validator decides nil", NotNilDecide, 2, 2, 100},
	{"GarbledMessage", "noise of one validator does no harm", GarbledMessage, 1, 2, 30},
	{"HigherRound", "votes of later rounds do no harm", HigherRound, 1, 3, 37},
}

// Cluster is the system of the scenarios: it loses messages silently.
var Cluster = tendermint.Cluster{Loss: tendermint.Silent}

// Steps is the maximum length of an iteration.
const Steps = 6000

// Strategy is the paper's, with its depth. Time is fair, since several scenarios check it.
var Strategy lockstep.Strategy = strategy.PCTCP{Depth: 6, Events: 300, Late: 30, Fair: true, Steps: Steps}

// Plan is the campaign of a scenario.
func Plan(sc *Scenario, runs int, seed uint64) lockstep.Plan {
	return lockstep.Plan{
		System:    Cluster,
		Spec:      tendermint.Safety,
		Scenario:  sc,
		Strategy:  Strategy,
		Runs:      runs,
		Seed:      seed,
		Steps:     Steps,
		KeepGoing: true,
		Keep:      1,
	}
}

// Row is a line of the table: the results of a case's campaigns.
type Row struct {
	Case
	Runs, Ours, Plain, Control int
	Share                      float64 // of the scenario's steps among all steps, with our filters
	Vacuous                    int     // vacuous runs, with our filters
	Never                      []string
	Reasons                    map[string]int
	Finding                    string
}

// Measure runs the campaigns of a case: with our filters, with the published filters only, and the control.
func (c Case) Measure(ctx context.Context, runs int, seed uint64) (*Row, error) {
	r := &Row{Case: c, Runs: runs, Reasons: map[string]int{}}
	for _, part := range []struct {
		scenario *Scenario
		to       *int
	}{{c.Build(true), &r.Ours}, {c.Build(false), &r.Plain}, {c.Build(true).Control(), &r.Control}} {
		result, err := lockstep.Explore(ctx, Plan(part.scenario, runs, seed))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		*part.to = Successes(result)
		for _, reason := range slices.Sorted(maps.Keys(result.Reasons)) {
			r.Reasons[reason] += result.Reasons[reason]
		}
		if f := result.First(); f != nil && r.Finding == "" {
			r.Finding = f.Finding.String()
		}
		if part.to != &r.Ours {
			continue
		}
		r.Share, r.Vacuous = Share(result), result.Verdicts[trace.Vacuous]
		for _, e := range result.Effects {
			if e.N == 0 && !e.Optional {
				r.Never = append(r.Never, e.Name)
			}
		}
	}
	return r, nil
}

// Write writes the line, followed by its problems.
func (r *Row) Write(out io.Writer) {
	percent := func(n int) string { return fmt.Sprintf("%.0f%%", 100*float64(n)/float64(r.Runs)) }
	filters, states := r.Build(true).Size()
	fmt.Fprintf(
		out,
		"%-22s %8d%% %7s %7s %8s %7.1f%% %6d/%d %6d/%d %7d\n",
		r.Name,
		r.Outcome,
		percent(r.Plain),
		percent(r.Ours),
		percent(r.Control),
		100*r.Share,
		r.Filters,
		filters,
		r.States,
		states,
		r.Vacuous,
	)
	for _, part := range r.Never {
		fmt.Fprintf(out, "    never: %s\n", part)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Reasons)) {
		fmt.Fprintf(out, "    %d unknown: %s\n", r.Reasons[reason], reason)
	}
	if r.Finding != "" {
		fmt.Fprintf(out, "    found: %s\n", r.Finding)
	}
}

// Head is the header of the table.
var Head = fmt.Sprintf(
	"%-22s %9s %7s %7s %8s %8s %8s %8s %7s\n",
	"scenario",
	"published",
	"plain",
	"ours",
	"control",
	"guided",
	"filters",
	"states",
	"vacuous",
)

// Guided adds the scenarios of this package to targets.
func Guided(targets []target.Target) []target.Target {
	var list []target.Scenario
	for _, c := range Cases {
		list = append(
			list,
			target.Scenario{
				Name:  c.Name,
				Help:  c.Help,
				Set:   []string{"loss=silent"},
				Build: func() lockstep.Scenario { return c.Build(true) },
			},
		)
	}
	list = append(list, byzantineNodes...)
	var guided []target.Target
	for _, t := range targets {
		guided = append(guided, t.Guided(list...))
	}
	return guided
}

// byzantineNodes are the random adversaries: with as many Byzantine validators as the protocol tolerates, and with
// one more.
var byzantineNodes = []target.Scenario{
	{Name: "RandomByzantine", Help: "one of four validators, drawn for each run, forges messages at random",
		Build: byzantine(1, 4)},
	{Name: "NilVoters", Help: "one of four validators, drawn for each run, mostly votes nil",
		Build: func() lockstep.Scenario { return tendermint.NilVoters(1) }},
	{Name: "TooManyByzantine", Help: "two of four validators are Byzantine, more than the protocol tolerates",
		Build: byzantine(2, 4)},
	{Name: "ByzantineOfSeven", Help: "two of seven validators, drawn for each run, forge messages at random",
		Set: []string{"nodes=7"}, Build: byzantine(2, 7)},
	{Name: "TooManyByzantineOfSeven", Help: "three of seven validators are Byzantine, more than the protocol tolerates",
		Set: []string{"nodes=7"}, Build: byzantine(3, 7)},
}

func byzantine(k, nodes int) func() lockstep.Scenario {
	return func() lockstep.Scenario { return tendermint.RandomByzantine(k, nodes) }
}
