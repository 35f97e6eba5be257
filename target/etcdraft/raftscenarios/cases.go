package raftscenarios

import (
	pb "go.etcd.io/etcd/raft/v3/raftpb"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/target/etcdraft/v35"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/trace"
)

// Case is one of the eleven scenarios with what was published about it.
type Case struct {
	Name  string
	Build func() *Scenario
	// System is what the scenario is run on, and Spec what that promises.
	System lockstep.System
	Spec   lockstep.Spec
	// Violation says that success is a violation of the spec, not a success state.
	Violation bool
	// Published are the numbers of Table 3.
	Published Size
	// Outcome is the published number of successes in 100 iterations.
	Outcome int
}

// Size is how large a test is.
type Size struct{ Filters, States, Lines int }

// Cases are the eleven scenarios in the order of Table 3.
var Cases = []Case{
	{Name: "Liveness", Build: Liveness, Published: Size{5, 3, 64}, Outcome: 15},
	{Name: "LivenessNoCQ", Build: LivenessNoCQ, Published: Size{5, 3, 64}, Outcome: 100},
	{Name: "NoLiveness", Build: NoLiveness, Published: Size{5, 3, 33}, Outcome: 100},
	{Name: "ConfChangeBug", Build: raft.ConfChange, Published: Size{5, 2, 94}, Outcome: 55,
		System: Hasty, Spec: raft.Agreement, Violation: true},
	{Name: "DropHeartbeat", Build: DropHeartbeat, Published: Size{2, 3, 69}, Outcome: 100},
	{Name: "DropVotes", Build: DropVotes, Published: Size{1, 3, 44}, Outcome: 80},
	{Name: "DropFVotes", Build: DropFVotes, Published: Size{1, 2, 57}, Outcome: 100},
	{Name: "DropAppend", Build: DropAppend, Published: Size{1, 3, 81}, Outcome: 100},
	{Name: "ReVote", Build: ReVote, Published: Size{2, 3, 54}, Outcome: 74},
	{Name: "ManyReVote", Build: ManyReVote, Published: Size{2, 4, 64}, Outcome: 92},
	{Name: "MultiReVote", Build: MultiReVote, Published: Size{2, 4, 60}, Outcome: 81},
}

// Hasty is the Raft of our own with single-server changes as first published: etcd's
// raft does not have the bug of ConfChangeBug.
var Hasty = raft.Cluster{Nodes: 4, Requests: 4, Changes: "remove 4; remove 3", Hasty: true}

// Unhasty is etcd's raft as ConfChangeLibrary needs it.
var Unhasty = with(Cluster, func(c *v35.Cluster) { c.Nodes, c.Asks = 4, "remove 4; remove 3" })

// ConfChangeLibrary is ConfChangeBug on etcd's raft. A change takes effect there when it
// is applied, so that 3 cannot be removed without 3 or 1: the state after that is never
// reached.
func ConfChangeLibrary() *Scenario {
	removed3 := Value(etcdraft.EventApply, "remove 3", func(a *etcdraft.Applied) bool {
		var change pb.ConfChange
		return a.Entry.Kind == raftlib.Change && change.Unmarshal(a.Entry.Data) == nil &&
			change.Type == pb.ConfChangeRemoveNode && change.NodeID == 3
	})
	return raft.ConfChangeOn("MsgVote", "MsgApp", removed3)
}

// Plan is the campaign of a case.
func (c Case) Plan(s lockstep.Strategy, runs int, seed uint64) lockstep.Plan {
	p := lockstep.Plan{System: c.System, Spec: c.Spec, Scenario: c.Build(), Strategy: s, Runs: runs, Seed: seed,
		KeepGoing: true, Keep: 1}
	if p.System == nil {
		p.System, p.Spec = Cluster, etcdraft.Safety
	}
	return p
}

// Successes is the number of runs that showed what the case is about.
func (c Case) Successes(r *lockstep.Result) int {
	if c.Violation {
		return r.Verdicts[trace.Fail]
	}
	return Successes(r)
}

// Strategy is what the scenarios are measured with: the paper's, with its depth. The
// change points lie where most of these runs are decided.
var Strategy lockstep.Strategy = strategy.PCTCP{Depth: 6, Events: 300, Steps: 20_000}
