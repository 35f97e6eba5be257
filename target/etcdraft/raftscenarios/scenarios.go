// Package raftscenarios holds the eleven Raft scenarios of the Netrix paper (its Table 3), re-created by their intent
// on etcd's raft. They run on v3.5.2, the version that the paper tested, and on v3.7, through a view of messages that
// both share. Some of the published tests could not fail, or could not succeed. The comment of each scenario states
// its differences.
//
// A scenario has two forms: with the published filters alone, and with additional filters of ours that steer toward
// its goal. Both use the same machine to check the run.
//
// The cluster has five nodes, as in the paper, with an election timeout of ten ticks and a heartbeat every tick, and
// neither PreVote nor CheckQuorum.
package raftscenarios

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/trace"
)

// f is the number of nodes of five that may fail.
const f = 2

// lossy is the fault model of all scenarios: links lose messages, nodes do not fail.
var lossy = lockstep.Budget{Losses: lockstep.Unlimited}

// leader holds when a node becomes leader.
func leader() Condition { return IsEvent(raftspec.BecameLeader) }

// The virtual time for the first elections of Liveness and LivenessNoCQ, in which leaders change anyway, and the time
// that both scenarios observe after that.
const (
	Begin = 200
	Watch = 1000
)

// changes counts the elections after the initial phase. The machine succeeds after more than four: leadership keeps
// moving, if only from a node to itself in a later term. The published machine was meant to count different leaders,
// and never counted anything.
//
// The scenario needs a strategy whose clocks run at the same speed. The control, in which nothing is lost, shows that
// leadership otherwise moves because some clocks are slow.
func changes(sc *Scenario) *State {
	m := sc.Machine()
	watched := m.On(Since(Begin), "watched")
	watched.On(leader().And(Count("leaders").Ge(4)), "leadership keeps moving").MarkSuccess().EndRun()
	watched.On(m.InStateFor(Watch, "watched"), "leadership is stable").MarkOptional().EndRun()
	sc.If(leader(), m.InState("watched")).
		Named("count an election").
		Then(Count("leaders").Incr(), Count("stale").Reset())
	return watched
}

// Liveness is the partially connected cluster: 4 sees only 2 and 5 sees only 3. Their terms therefore grow and
// disturb the leader of the triangle of 1, 2 and 3. All filters are published.
func Liveness(bool) *Scenario {
	sc := New("Liveness").Faults(lossy)
	changes(sc)
	return sc.Use(BreakLinks([2]lockstep.Node{4, 1}, [2]lockstep.Node{4, 3}, [2]lockstep.Node{4, 5},
		[2]lockstep.Node{5, 1}, [2]lockstep.Node{5, 2}))
}

// LivenessNoCQ is the same with the link between 4 and 5: now every node can win an election, and no node reaches all
// others. Leadership keeps moving, or two nodes lead permanently: without CheckQuorum, a leader that has lost its
// quorum does not step down, and keeps its last follower. All filters that have an effect are published.
func LivenessNoCQ(bool) *Scenario {
	sc := New("LivenessNoCQ").Faults(lossy)
	newest := Variable[uint64]("newest term")
	newer := func(m etcdraft.Message, newest uint64) bool { return m.Term > newest }
	stale := IsSend().And(Type("MsgHeartbeat"), BodyWith(newest, "older than another leader",
		func(m etcdraft.Message, newest uint64) bool { return m.Term < newest }))
	changes(sc).On(stale.And(Count("stale").Ge(200)), "leads without a quorum").MarkSuccess().MarkOptional().EndRun()
	sc.If(IsSend(), Type("MsgApp"), newest.IsSet().Not().Or(BodyWith(newest, "newer", newer))).
		Named("remember the newest leader").
		Auxiliary().
		Then(CaptureBody(newest, "its term", func(m etcdraft.Message) uint64 { return m.Term }), Continue())
	sc.If(stale).Named("count heartbeats of an older leader").Auxiliary().Then(Count("stale").Incr(), Continue())
	return sc.Use(
		BreakLinks([2]lockstep.Node{4, 1}, [2]lockstep.Node{4, 3}, [2]lockstep.Node{5, 1}, [2]lockstep.Node{5, 2}))
}

// Timeout is the virtual time in which NoLiveness expects a commit: fifty times the election timeout.
const Timeout = 500

// NoLiveness cuts the leader 4 off from all but 2, while 5 is down. The majority of 1, 2 and 3 is connected, so a
// write should commit soon. The scenario succeeds, which is the bug, when no write commits for Timeout ticks. The
// published scenario was meant to count changes of leader, and did not.
//
// The bug needs PreVote without CheckQuorum. Node 2 has an entry of 4 that 1 and 3 lack, so they do not get its vote.
// It hears from 4, so it does not campaign itself. Without PreVote the terms of 1 and 3 make it campaign; with
// CheckQuorum 4 steps down.
//
// Our filter lets 2 hear from 4 at once, so that it has that entry.
func NoLiveness(ours bool) *Scenario {
	sc := New("NoLiveness").Faults(lossy)
	m := sc.Machine()
	cut := m.On(leader().And(At(4)), "cut off")
	cut.On(IsEvent(raftspec.EventCommit), "a write commits").MarkOptional().EndRun()
	cut.On(m.InStateFor(Timeout, "cut off"), "no write commits").MarkSuccess().EndRun()
	sc.Use(IsolateWhile(Only(5), All()))
	sc.If(m.InState("cut off"), Any(Link(4, 1), Link(4, 3))).Named("4 reaches only 2").Then(Drop())
	sc.If(m.InState(Start), Type("MsgVote", "MsgPreVote"), From(4).Not()).Named("4 is first").Then(Drop())
	if ours {
		sc.If(m.InState("cut off"), From(4), To(2)).Named("2 hears from 4").Then(Deliver())
	}
	return sc
}

// DropHeartbeat loses all messages from the leader to one node, drawn for each run, until the node starts an
// election. In the published scenario the first edge could never be taken. All filters are published.
func DropHeartbeat(bool) *Scenario {
	sc := New("DropHeartbeat").Faults(lossy)
	p := sc.Pick("p", 1)
	m := sc.Machine()
	m.On(leader(), "elected").
		On(IsEvent(raftspec.BecameCandidate).And(AtGroup(p)), "p campaigns").MarkSuccess().EndRun()
	sc.If(Type("MsgVoteResp"), ToGroup(p)).Named("p never leads").Then(Drop())
	sc.If(m.InState("elected"), Type("MsgHeartbeat", "MsgApp", "MsgSnap"), ToGroup(p)).
		Named("p hears nothing").
		Then(Drop())
	return sc
}

// DropVotes loses a node's requests for votes, so that the node follows another. A received request ends the run
// without success, as the control without the filter shows. Our filter lets 4 campaign first, so that there are
// requests to lose.
func DropVotes(ours bool) *Scenario {
	sc := New("DropVotes").Faults(lossy)
	m := sc.Machine()
	m.On(IsReceive().And(Type("MsgVote"), From(4)), "4 is heard").MarkOptional().EndRun()
	m.On(IsSend().And(Type("MsgApp"), To(4)), "4 follows").MarkSuccess().EndRun()
	if ours {
		others := Only(4).Others()
		sc.If(Did(trace.Start)).Named("the others wait").Then(HoldTimers(others))
		sc.If(IsEvent(raftspec.BecameCandidate), At(4)).Named("until 4 campaigns").Then(ReleaseTimers(others))
	}
	sc.If(Type("MsgVote"), From(4)).Named("no node hears it").Then(Drop())
	return sc
}

// DropFVotes loses f votes for each candidate of each term: the remaining votes suffice. The published filter never
// fired and the published machine never moved. All filters are published.
func DropFVotes(bool) *Scenario {
	sc := New("DropFVotes").Faults(lossy)
	sc.Machine().On(leader(), "elected").MarkSuccess().EndRun()
	election := By("term and candidate", func(m *Moment) uint64 {
		return m.Body().(etcdraft.Message).Term<<8 | uint64(m.Message.To)
	})
	return sc.Use(DropFirst(f, Type("MsgVoteResp"), election))
}

// DropAppend loses the first MsgApp, and the leader resends it. The published scenario lost all later ones as well.
// All filters are published.
func DropAppend(bool) *Scenario {
	sc := New("DropAppend").Faults(lossy)
	index, receiver := Variable[uint64]("index"), Variable[lockstep.Node]("receiver")
	again := BodyWith(index, "from the same index",
		func(m etcdraft.Message, index uint64) bool { return m.Index == index }).
		And(receiver.Is("to the same node", func(m *Moment, n lockstep.Node) bool { return m.Message.To == n }))
	sc.Machine().On(IsSend().And(Type("MsgApp"), again), "sent again").MarkSuccess().EndRun()
	sc.If(Type("MsgApp")).Named("lose the first").Once().Then(
		CaptureBody(index, "its index", func(m etcdraft.Message) uint64 { return m.Index }),
		receiver.Set("its receiver", func(m *Moment) lockstep.Node { return m.Message.To }), Drop())
	return sc
}

// ReVote withholds the votes of 4 until there is a leader, which receives them late. Our filters let requests reach 4
// first, so that there are votes to withhold, and keep 4 from leading.
func ReVote(ours bool) *Scenario {
	sc := New("ReVote").Faults(lossy)
	m := sc.Machine()
	m.On(leader(), "elected").On(IsReceive().And(Type("MsgVoteResp"), From(4)), "late vote").MarkSuccess().EndRun()
	sc.Use(fourVotes(m, ours))
	sc.If(m.InState(Start), Type("MsgVoteResp"), From(4)).Named("withhold").Then(Store("late"))
	sc.If(leader()).Named("release").Then(ReleaseAll("late"))
	return sc
}

// fourVotes lets requests for votes reach 4 first, and keeps it from leading.
func fourVotes(m *Machine, ours bool) Piece {
	return func(sc *Scenario) {
		if ours {
			sc.If(m.InState(Start), Type("MsgVote"), To(4)).Named("4 votes first").Then(Deliver())
			sc.If(Type("MsgVoteResp"), To(4)).Named("4 never leads").Then(Drop())
		}
	}
}

// ManyReVote withholds the votes of 4 until it becomes a follower after the election. The votes arrive in a later
// term than that of their election. The machine ends with their arrival; the published one ended when 4 followed. Our
// filters make 4 vote, and then campaign, as otherwise it already follows.
func ManyReVote(ours bool) *Scenario {
	sc := New("ManyReVote").Faults(lossy)
	m := sc.Machine()
	m.On(leader(), "elected").
		On(IsEvent(raftspec.BecameFollower).And(At(4)), "4 follows").
		On(IsReceive().And(Type("MsgVoteResp"), InSet("withheld")), "late vote").MarkSuccess().EndRun()
	sc.Use(fourVotes(m, ours))
	sc.If(m.InState(Start), Type("MsgVoteResp"), From(4)).Named("withhold").Then(Record("withheld"), Store("late"))
	sc.If(IsEvent(raftspec.BecameFollower), At(4), m.InState("4 follows")).Named("release").Then(ReleaseAll("late"))
	if ours {
		sc.If(m.InState("elected"), Type("MsgHeartbeat", "MsgApp", "MsgSnap"), To(4)).
			Named("4 hears nothing").
			Then(Drop())
	}
	return sc
}

// MultiReVote loses the acknowledgments of 4: the leader keeps sending it heartbeats. A received vote or
// acknowledgment of 4 ends the run without success. The published machine also counted a heartbeat before the first
// lost acknowledgment. Our filters lose the votes of 4, too, and keep it from leading.
func MultiReVote(ours bool) *Scenario {
	sc := New("MultiReVote").Faults(lossy)
	m := sc.Machine()
	m.On(IsReceive().And(Type("MsgVoteResp", "MsgAppResp"), From(4)), "4 is heard").MarkOptional().EndRun()
	m.On(IsSend().And(Type("MsgAppResp"), From(4)), "acknowledged").
		On(IsSend().And(Type("MsgHeartbeat"), To(4)), "heartbeat").MarkSuccess().EndRun()
	m.At("acknowledged").On(IsReceive().And(Type("MsgVoteResp", "MsgAppResp"), From(4)), "4 is heard")
	sc.If(Type("MsgAppResp"), From(4)).Named("no acknowledgement").Then(Drop())
	if ours {
		sc.If(Type("MsgVoteResp"), From(4)).Named("no vote").Then(Drop())
		sc.If(Type("MsgVote"), From(4)).Named("4 never leads").Then(Drop())
	}
	return sc
}
