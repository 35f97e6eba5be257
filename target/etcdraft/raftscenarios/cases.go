package raftscenarios

import (
	"cmp"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/trace"
)

// Case is one of the eleven scenarios with its published results.
type Case struct {
	Name string
	// Build makes the scenario, with the published filters only or with ours as well.
	Build func(ours bool) *Scenario
	// Cluster are the options of etcd's raft for the scenario, if they differ from the default ones.
	Cluster etcdraft.Cluster
	// System is the system of the scenario, and Spec its spec; nil means etcd's raft.
	System lockstep.System
	Spec   lockstep.Spec
	// Steps is the maximum length of an iteration that does not succeed; 0 means 3000.
	Steps int
	// Violation reports that success is a violation of the spec, not a success state.
	Violation bool
	// Published are the numbers of Table 3.
	Published Size
	// Outcome is the published number of successes in 100 iterations.
	Outcome int
	// Distances and Ablated are the entries of Table 4: the distances, and the successes in 1000 iterations without
	// the filter. They are empty if the table lacks the scenario.
	Distances, Ablated string
}

// usualSteps is the length of an iteration of most scenarios.
const usualSteps = 3000

// Size is the size of a test.
type Size struct{ Filters, States, Lines int }

// Cases are the eleven scenarios in the order of Table 3.
var Cases = []Case{
	{Name: "Liveness", Build: Liveness, Published: Size{5, 3, 64}, Outcome: 15, Steps: 20_000, Distances: "∞, n², n",
		Ablated: "0, 0, 19"},
	{Name: "LivenessNoCQ", Build: LivenessNoCQ, Published: Size{5, 3, 64}, Outcome: 100, Steps: 20_000,
		Distances: "∞, n², n", Ablated: "0, 0, 19"},
	{Name: "NoLiveness", Build: NoLiveness, Published: Size{5, 3, 33}, Outcome: 100, Cluster: PreVote, Steps: 10_000},
	{Name: "ConfChangeBug", Build: raft.ConfChange, Published: Size{5, 2, 94}, Outcome: 55,
		System: EarlyChanges, Spec: raftspec.StateMachineSafety, Violation: true},
	{Name: "DropHeartbeat", Build: DropHeartbeat, Published: Size{2, 3, 69}, Outcome: 100},
	{Name: "DropVotes", Build: DropVotes, Published: Size{1, 3, 44}, Outcome: 80},
	{Name: "DropFVotes", Build: DropFVotes, Published: Size{1, 2, 57}, Outcome: 100},
	{Name: "DropAppend", Build: DropAppend, Published: Size{1, 3, 81}, Outcome: 100, Distances: "n", Ablated: "21"},
	{Name: "ReVote", Build: ReVote, Published: Size{2, 3, 54}, Outcome: 74, Distances: "n", Ablated: "409"},
	{Name: "ManyReVote", Build: ManyReVote, Published: Size{2, 4, 64}, Outcome: 92, Distances: "2n", Ablated: "14"},
	{Name: "MultiReVote", Build: MultiReVote, Published: Size{2, 4, 60}, Outcome: 81, Distances: "3n", Ablated: "1"},
}

// Version is a version of etcd's raft; package versions lists those that the scenarios run on.
type Version struct {
	Name string
	On   func(etcdraft.Cluster) lockstep.System
}

// Cluster is the system under test: five nodes of etcd's raft.
var Cluster = etcdraft.Cluster{Nodes: 5, Election: 10, Heartbeat: 1, Clients: etcdraft.None}

// PreVote is the same with that option alone, which NoLiveness needs.
var PreVote = with(Cluster, func(c *etcdraft.Cluster) { c.PreVote = true })

// Safe is the same with the two options that prevent the liveness bugs.
var Safe = with(Cluster, func(c *etcdraft.Cluster) { c.PreVote, c.CheckQuorum = true, true })

// LibraryChanges is etcd's raft with the options for ConfChangeLibrary.
var LibraryChanges = with(Cluster, func(c *etcdraft.Cluster) { c.Nodes, c.Asks = 4, "remove 4; remove 3" })

// Changing is etcd's raft with the options for TwoChanges and PendingChange.
var Changing = with(Cluster, func(c *etcdraft.Cluster) { c.Asks, c.Clients, c.Requests = "remove 5; remove 4", 2, 8 })

// EarlyChanges is Lockstep's own Raft with single-server changes as first published. etcd's raft does not have the bug
// of ConfChangeBug.
var EarlyChanges = raft.Cluster{Nodes: 4, Requests: 4, Changes: "remove 4; remove 3", EarlyChanges: true}

func with(c etcdraft.Cluster, change func(*etcdraft.Cluster)) etcdraft.Cluster {
	change(&c)
	return c
}

// Plan is the campaign of a case with our filters, on a version if the case is about etcd's raft.
func (c Case) Plan(v Version, s lockstep.Strategy, runs int, seed uint64) lockstep.Plan {
	p := lockstep.Plan{System: c.System, Spec: c.Spec, Scenario: c.Build(true), Strategy: s, Runs: runs, Seed: seed,
		Steps: cmp.Or(c.Steps, usualSteps), KeepGoing: true, Keep: 1}
	if p.System == nil {
		cluster := c.Cluster
		if cluster == (etcdraft.Cluster{}) {
			cluster = Cluster
		}
		p.System, p.Spec = v.On(cluster), etcdraft.Safety
	}
	return p
}

// Successes is the number of runs that reached the goal of the case.
func (c Case) Successes(r *lockstep.Result) int {
	if c.Violation {
		return r.Verdicts[trace.Fail]
	}
	return Successes(r)
}

// Strategy is the strategy of the measurements: the paper's, with its depth. The change points are where most of
// these runs are decided. Time is fair, since several scenarios check it.
var Strategy = strategy.PCTCP{Depth: 6, Events: 300, Late: 30, Fair: true}
