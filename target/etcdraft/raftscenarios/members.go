package raftscenarios

import (
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/trace"
)

// ConfChangeLibrary is ConfChangeBug on etcd's raft. A change takes effect there when a node applies it. Node 3
// therefore cannot be removed without 3 or 1: the scenario never reaches the state after that.
func ConfChangeLibrary() *Scenario {
	removed3 := Value(raftspec.EventApply, "remove 3",
		func(a *raftspec.Applied) bool { members := a.Conf.Members(); return members != 0 && !members.Has(3) })
	return raft.ConfChangeOn("MsgVote", "MsgApp", removed3, true)
}

// TwoChanges targets a library that starts a membership change before the last one is done. A leader of five removes
// 5 and 4 at once, and nodes 1, 2 and 3 commit both changes. Node 3 does not learn of the commit and still uses the
// five members. So 1 and 2 commit a write as two of three. Nodes 3, 4 and 5 elect 3 and commit another entry at the
// same index as three of five.
func TwoChanges() *Scenario {
	sc, m := changing("TwoChanges")
	leads := m.On(leader().And(At(1)), "leads")
	sc.If(leader(), At(1), m.InState("leads")).
		Named("1 removes 5 and 4").
		Then(Request("remove 5", Here()), Request("remove 4", Here()))
	return apart(sc, m, leads, 1)
}

// PendingChange targets a library whose leader does not wait for a change that it found in its log. Node 1 removes 5,
// and loses its leadership to 2 before the change is committed; 2 removes 4. The rest is as in TwoChanges.
func PendingChange() *Scenario {
	sc, m := changing("PendingChange")
	leads := m.On(leader().And(At(1)), "1 leads").On(appended("5").And(At(2)), "pending").
		On(leader().And(At(2)), "leads")
	sc.If(leader(), At(1), m.InState("1 leads")).Named("1 removes 5").Then(Request("remove 5", Here()))
	sc.If(leader(), At(2), m.InState("leads")).Named("2 removes 4").Then(Request("remove 4", Here()))
	sc.If(m.InState("1 leads"), Type("MsgAppResp")).Named("not committed").Then(Drop())
	sc.If(m.InState("1 leads"), Type("MsgVote")).Named("no node campaigns").Then(Drop())
	sc.If(m.InState("pending"), From(1), Type("MsgVoteResp").Not()).Named("1 is not heard").Then(Drop())
	sc.If(m.InState("pending"), Type("MsgVote"), From(2).Not()).Named("2 is next").Then(Drop())
	return apart(sc, m, leads, 2)
}

// changing begins a scenario about membership changes, in which 1 is the first leader.
func changing(name string) (*Scenario, *Machine) {
	sc := New(name).Faults(lossy).Reserve()
	m := sc.Machine()
	sc.If(m.InState(Start), Type("MsgVote"), From(1).Not()).Named("1 is first").Then(Drop())
	return sc, m
}

// appended holds when a node appends a membership change to its log. The text identifies the change.
func appended(text string) Condition {
	return Value(raftspec.EventAppend, "remove "+text, func(a *raftspec.Appended) bool { return firstChange(a) != 0 })
}

// firstChange is the index of the first membership change among the entries, or 0.
func firstChange(a *raftspec.Appended) uint64 {
	for _, e := range a.Entries {
		if e.Kind != 0 {
			return e.Index
		}
	}
	return 0
}

// apart is the part of the scenario after a leader has made its changes. They are committed without 4 and 5, and 3
// does not learn of it. Then a partition separates 1 and 2 from the others, and both sides continue.
func apart(sc *Scenario, m *Machine, leads *State, boss lockstep.Node) *Scenario {
	three := trace.NodesOf(1, 2, 3)
	leads.On(Value(raftspec.EventApply, "4 and 5 are removed",
		func(a *raftspec.Applied) bool { return a.Conf.Members() == three }).And(At(boss)), "apart").
		On(leader().And(At(3)), "two leaders")
	change := Variable[uint64]("change")
	sc.If(appended("5"), change.IsSet().Not()).
		Named("remember the first change").
		Then(CaptureValue(change, "its index", firstChange))
	sc.If(IsEvent(raftspec.EventApply), At(boss), m.InState("apart")).Named("write").Once().
		Then(RequestWhere("a write", isWrite, Only(boss)))
	sc.Use(PartitionWhile(m.InState("apart", "two leaders"), Only(1, 2), Only(3, 4, 5)))
	sc.If(m.InState("leads"), Type("MsgVote")).Named("no other node campaigns").Then(Drop())
	sc.If(m.InState("apart"), Type("MsgVote"), From(3).Not()).Named("3 is next").Then(Drop())
	sc.If(m.InState("two leaders").Not(), Type("MsgApp", "MsgSnap"), To(4, 5)).
		Named("4 and 5 hear nothing").
		Then(Drop())
	sc.If(m.InState("leads"), To(3), BodyWith(
		change,
		"reports that a change is committed",
		func(m etcdraft.Message, change uint64) bool { return m.Commit >= change },
	)).Named("3 does not learn it").Then(Drop())
	return sc
}

func isWrite(p trace.Pending) bool { return strings.Contains(p.Text, " put ") }
