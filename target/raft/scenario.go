package raft

import (
	_ "embed"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	. "github.com/lockstep-go/lockstep/scenario"
)

// ConfChange is the run of Ongaro's report, on four nodes. Node 1 leads and removes 4, and no other node learns of
// it. Node 2 or 4 leads a later term with the votes of the old members. It removes 3, which does not learn of it, and
// commits that with 2 and 4 alone. Then 1 is elected by 1 and 3 and commits a different entry at the same index.
//
// All filters but two are published. Ours adds these: 1 continues once it leads again, and no other node is elected
// in its place.
func ConfChange(ours bool) *Scenario {
	removed3 := Value(raftspec.EventApply, "remove 3",
		func(a *raftspec.Applied) bool { return string(a.Entry.Data) == "remove 3" })
	return ConfChangeOn(Vote, Append, removed3, ours)
}

// ConfChangeOn is the scenario on another Raft with the same types of events. The caller passes its types of
// messages, and the event that means that the removal of 3 is committed.
func ConfChangeOn(vote, appends string, removed3 Condition, ours bool) *Scenario {
	sc := New("ConfChangeBug").Faults(lockstep.Budget{Losses: lockstep.Unlimited}).Reserve()
	m, leads := sc.Machine(), IsEvent(raftspec.BecameLeader)
	m.On(leads.And(At(1)), "one leads").
		On(removed3, "3 removed").
		On(leads.And(At(1)), "one leads again")
	early := m.InState(Start, "one leads")

	sc.If(leads, At(1), early).Named("1 removes 4").Then(Request("remove 4", Here()))
	sc.If(leads, At(2, 4), m.InState("one leads")).Named("2 or 4 removes 3").Once().Then(Request("remove 3", Here()))
	if ours {
		sc.If(leads, At(1), m.InState("one leads again")).Named("1 continues").Then(Request("", Here()))
	}
	sc.If(Type(vote), From(1).Not(), m.InState(Start)).Named("1 is first").Then(Drop())
	sc.If(m.InState("one leads"), Any(From(1), To(1))).Named("isolate 1").Then(Drop())
	sc.If(m.InState("one leads"), Type(vote), From(3)).Named("3 does not lead").Then(Drop())
	sc.If(Type(appends), To(3), early).Named("3 hears nothing").Then(Drop())
	sc.If(Type(appends), To(1)).Named("1 stores nothing").Then(Drop())
	if ours {
		sc.If(Type(vote), From(1).Not(), m.InState("3 removed")).Named("1 is next").Then(Drop())
	}
	return sc
}

// ScenarioSource is the source of this file, for tools that count its lines.
//
//go:embed scenario.go
var ScenarioSource string
