package raftscenarios

import (
	"cmp"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target"
)

// five are the options of the paper's cluster.
var five = []string{"nodes=5", "election=10", "heartbeat=1", "clients=-1"}

// scenarios are the scenarios that can guide a target of etcd's raft.
var scenarios = []target.Scenario{
	of("Liveness", "4 sees only 2, and 5 only 3: leadership keeps moving", Liveness, five...),
	of("LivenessNoCQ", "the same with the link between 4 and 5", LivenessNoCQ, five...),
	of("NoLiveness", "the leader 4 reaches only 2: no write commits", NoLiveness, append(five, "pre-vote=true")...),
	of("DropHeartbeat", "a node that hears nothing campaigns", DropHeartbeat, five...),
	of("DropVotes", "a node whose requests for votes are lost follows another", DropVotes, five...),
	of("DropFVotes", "f votes for every candidate are lost", DropFVotes, five...),
	of("DropAppend", "the first append is lost, and sent again", DropAppend, five...),
	of("ReVote", "votes of 4 arrive after the election", ReVote, five...),
	of("ManyReVote", "votes of 4 arrive in a later term", ManyReVote, five...),
	of("MultiReVote", "the leader keeps sending to a follower whose acknowledgements are lost", MultiReVote, five...),
	of("ConfChangeBug", "two leaders of different terms change members",
		func(bool) *Scenario { return ConfChangeLibrary() }, "nodes=4", "election=10", "clients=-1",
		"asks=remove 4; remove 3"),
	of(
		"TwoChanges",
		"a leader makes two changes of members at once",
		func(bool) *Scenario { return TwoChanges() },
		changing5...),
	of(
		"PendingChange",
		"a leader makes a change while that of another is pending",
		func(bool) *Scenario { return PendingChange() },
		changing5...),
}

var changing5 = []string{"nodes=5", "election=10", "clients=2", "requests=8", "asks=remove 5; remove 4"}

func of(name, help string, build func(bool) *Scenario, set ...string) target.Scenario {
	return target.Scenario{
		Name:     name,
		Help:     help,
		Set:      set,
		Strategy: measured(name),
		Build:    func() lockstep.Scenario { return build(true) },
	}
}

// measured is the strategy of a scenario: the one that all scenarios are measured with. Its runs are as long as the
// scenario's machine needs.
func measured(name string) string {
	s := Strategy
	s.Steps = usualSteps
	for _, c := range Cases {
		if c.Name == name {
			s.Steps = cmp.Or(c.Steps, usualSteps)
		}
	}
	return s.String()
}

// Guided adds the scenarios of this package to targets of etcd's raft.
func Guided(targets []target.Target) []target.Target {
	var guided []target.Target
	for _, t := range targets {
		guided = append(guided, t.Guided(scenarios...))
	}
	return guided
}
