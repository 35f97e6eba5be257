package bftscenarios

import (
	_ "embed" // the table counts the lines of the scenarios

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/published"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/tendermint"
)

// Cases are the fifteen scenarios of the Netrix paper in the order of its Table 3. The starred ones are those in which
// the paper reports new bugs.
var Cases = []published.Case{
	{Name: "ExpectUnlock", Help: "a polka for nil unlocks, or not", Starred: true, Build: ExpectUnlock,
		Filters: 3, States: 5, Lines: 90, Published: 41},
	{Name: "Relocked", Help: "a polka for another block lets a validator lock that", Starred: true, Build: Relocked,
		Filters: 4, States: 5, Lines: 115, Published: 53},
	{Name: "LockedCommit", Help: "a bad proposal does not keep a locked block from being decided", Starred: true,
		Build: LockedCommit, Filters: 3, States: 5, Lines: 85, Published: 100},
	{Name: "LaggingReplica", Help: "a validator that is ten rounds behind does not catch up at once, or does",
		Starred: true, Build: LaggingReplica, Filters: 3, States: 4, Lines: 71, Published: 100},
	{Name: "ForeverLaggingReplica", Help: "a validator stays two rounds behind for five rounds", Starred: true,
		Build: ForeverLaggingReplica, Filters: 5, States: 5, Lines: 89, Published: 100},
	{Name: "RoundSkip", Help: "prevotes of an old round arrive in round 2", Build: RoundSkip,
		Filters: 3, States: 4, Lines: 74, Published: 90, Distances: "r·n", Ablated: "6"},
	{Name: "BlockVotes", Help: "without 2f+1 prevotes no validator leaves its round", Build: BlockVotes,
		Filters: 2, States: 3, Lines: 55, Published: 33},
	{Name: "PrecommitInvariant", Help: "no validator precommits a block that no validator received",
		Build: PrecommitInvariant, Filters: 1, States: 3, Lines: 68, Published: 100},
	{Name: "CommitAfterRoundSkip", Help: "late votes of round 0 let its block be decided", Build: CommitAfterRoundSkip,
		Filters: 3, States: 3, Lines: 82, Published: 36},
	{Name: "DifferentDecisions", Help: "one validator is to decide another block", Build: DifferentDecisions,
		Filters: 8, States: 3, Lines: 180, Published: 20},
	{Name: "NilPrevotes", Help: "a polka for nil makes a validator precommit nil", Build: NilPrevotes,
		Filters: 2, States: 3, Lines: 61, Published: 99},
	{Name: "ProposalNilPrevote", Help: "without a proposal a validator prevotes nil", Build: ProposalNilPrevote,
		Filters: 1, States: 3, Lines: 56, Published: 56},
	{Name: "NotNilDecide", Help: "no validator decides nil", Build: NotNilDecide,
		Filters: 2, States: 2, Lines: 49, Published: 100},
	{Name: "GarbledMessage", Help: "noise of one validator does no harm", Build: GarbledMessage,
		Filters: 1, States: 2, Lines: 68, Published: 30},
	{Name: "HigherRound", Help: "votes of later rounds do no harm", Build: HigherRound,
		Filters: 1, States: 3, Lines: 91, Published: 37},
}

//go:embed scenarios.go
var source string

// Table measures the scenarios again on the library of this build.
var Table = published.Table{
	Title:  tendermint.Version(),
	Cases:  Cases,
	Plan:   Plan,
	Source: source,
	Helpers: map[string][]string{
		"LaggingReplica":        {"Lagging"},
		"ForeverLaggingReplica": {"lagging"},
		"GarbledMessage":        {"harmless"},
		"HigherRound":           {"harmless"},
	},
}

// Cluster is the system of the scenarios: it loses messages silently.
var Cluster = tendermint.Cluster{Loss: tendermint.Silent}

// Steps is the maximum length of an iteration.
const Steps = 6000

// Strategy is the paper's, with its depth. Time is fair, since several scenarios check it.
var Strategy = strategy.PCTCP{Depth: 6, Events: 300, Late: 30, Fair: true, Steps: Steps}

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
